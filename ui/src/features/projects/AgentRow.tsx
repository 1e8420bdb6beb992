import type { Agent } from "../../generated/api";
import { paneOfAgent } from "../../state/layout";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { isUp, wakeWords } from "../../state/ask-words";
import { useAwaited } from "../../state/awaited";
import { agentTemp } from "../../state/temp-words";
import { usageBrief } from "../../state/usage-words";
import type { AgentWork } from "../../state/work-state";
import { agentState } from "../../state/words";
import { Badge } from "../../shared/Badge";
import { IconButton } from "../../shared/Button";
import { Dot } from "../../shared/Dot";
import { Flag } from "../../shared/Badge";
import { ids } from "../../shared/testids";
import { capital, plain, plural } from "../../shared/text";

export function AgentRow({ agent, work }: { agent: Agent; work: AgentWork }) {
  const app = useApp();
  const view = useStore(app.view);
  const layout = useStore(app.layouts.state)[agent.project];
  const profile = useQuery(app.profiles).data?.find(({ id }) => id === agent.profile);
  const busy = view.busy[agent.id];
  const { word, tone } = agentState(agent, busy);
  const pane = layout && paneOfAgent(layout, agent.id);
  const current = view.project === agent.project && pane !== undefined && pane.id === layout?.focused;
  const { words: waiting } = useAwaited(agent);
  const attention = agent.state === "needs_attention" && busy === undefined;
  const wake = agent.wake?.given_up ? wakeWords(agent, 0) : null;
  const temp = agentTemp(agent);
  // What is new is worth more of a narrow row than what never changes, and somebody who is needed more than any count.
  const flagged = attention || wake !== null || temp !== null;
  const used = usageBrief(agent.usage);
  const badges = work.queued + work.ended + agent.queued + (flagged ? 1 : 0);
  const note = waiting ?? (badges === 0 && profile && profile.name !== agent.name ? profile.name : "");
  const start = () => {
    void app.show(agent, true);
    void app.startAgent(agent.id);
  };
  return (
    <li className="row agent-row" data-testid={ids.agent} data-name={agent.name} data-state={agent.state}>
      <button type="button" className="row-main" data-row aria-current={current || undefined} title={[`${agent.name}: ${word}${waiting ? `, ${waiting}` : ""}`, agent.workdir, agent.held_back ? capital(plain(agent.held_back)) : "", used === null ? "" : `Used: ${used}`].filter(Boolean).join("\n")} onClick={() => void app.show(agent)}>
        <Dot tone={tone} word={word} testid={ids.agentState} />
        <span className="row-name">{agent.name}</span>
        {attention && <Flag icon="warn" word="Needs attention" tone="attention" title={`${agent.name} sits on a prompt of its own`} testid={ids.agentAttention} />}
        {wake && <Flag icon="bell" word="Not woken" tone="bad" title={`${wake.title}\n${wake.next}`} testid={ids.agentWake} />}
        {temp && !attention && !wake && <Flag icon="folder" word="Temp" tone={temp.ending ? "bad" : "attention"} title={`${temp.title} ${temp.next}`} testid={ids.agentTemp} />}
        {agent.queued > 0 && <Badge icon="inbox" word="Queued" count={agent.queued} small title={`Queued ${agent.queued}: turns and messages that wait for ${agent.name}`} testid={ids.agentQueued} />}
        {!flagged && work.queued > 0 && <Badge icon="clock" word="Task queued" count={work.queued} small title={`${plural(work.queued, "task")} of ${agent.name} in line`} testid={ids.agentTaskQueued} />}
        {!flagged && work.ended > 0 && <Badge icon="check" word="Task done" count={work.ended} small tone="news" title={`Task done: ${work.ended} since you looked`} testid={ids.agentDone} />}
        {!flagged && <span className="row-note" data-testid={waiting ? ids.agentWaiting : undefined}>{note}</span>}
      </button>
      <div className="row-buttons">
        <IconButton icon="trash" label={`Remove ${agent.name}`} onClick={() => app.open({ kind: "remove_agent", agent: agent.id })} testid={ids.agentRemove} />
        {!pane && <IconButton icon="beside" label={`Open ${agent.name} in a pane of its own`} onClick={() => void app.show(agent, true)} />}
        {isUp(agent) || busy === "stopping"
          ? <IconButton icon="stop" label={`Stop ${agent.name}`} busy={busy !== undefined} onClick={() => void app.stopAgent(agent.id)} testid={ids.agentStop} />
          : <IconButton icon="play" label={`Start ${agent.name}`} busy={busy !== undefined} onClick={start} testid={ids.agentStart} />}
      </div>
    </li>
  );
}
