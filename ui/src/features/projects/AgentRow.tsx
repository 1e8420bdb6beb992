import type { Agent } from "../../generated/api";
import { paneOfAgent } from "../../state/layout";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import type { AgentWork } from "../../state/work-state";
import { agentState, isLive } from "../../state/words";
import { Badge } from "../../shared/Badge";
import { IconButton } from "../../shared/Button";
import { Dot } from "../../shared/Dot";
import { ids } from "../../shared/testids";
import { plural } from "../../shared/text";

export function AgentRow({ agent, work }: { agent: Agent; work: AgentWork }) {
  const app = useApp();
  const view = useStore(app.view);
  const layout = useStore(app.layouts.state)[agent.project];
  const profile = useQuery(app.profiles).data?.find(({ id }) => id === agent.profile);
  const busy = view.busy[agent.id];
  const { word, tone } = agentState(agent, busy);
  const pane = layout && paneOfAgent(layout, agent.id);
  const current = view.project === agent.project && pane !== undefined && pane.id === layout?.focused;
  // What is new is worth more of a narrow row than what never changes.
  const badges = work.queued + work.ended + agent.queued;
  const start = () => {
    void app.show(agent, true);
    void app.startAgent(agent.id);
  };
  return (
    <li className="row agent-row" data-testid={ids.agent} data-name={agent.name} data-state={agent.state}>
      <button type="button" className="row-main" data-row aria-current={current || undefined} title={`${agent.name}: ${word}\n${agent.workdir}`} onClick={() => void app.show(agent)}>
        <Dot tone={tone} word={word} testid={ids.agentState} />
        <span className="row-name">{agent.name}</span>
        {work.queued > 0 && <Badge icon="clock" word="Queued" count={work.queued} small title={`Queued: ${plural(work.queued, "task")}`} testid={ids.agentQueued} />}
        {work.ended > 0 && <Badge icon="check" word="Task done" count={work.ended} small tone="news" title={`Task done: ${work.ended} since you looked`} testid={ids.agentDone} />}
        {agent.queued > 0 && <span className="badge" title={`${agent.queued} waiting in its inbox`}>{agent.queued}</span>}
        <span className="row-note">{badges === 0 && profile && profile.name !== agent.name ? profile.name : ""}</span>
      </button>
      <div className="row-buttons">
        <IconButton icon="trash" label={`Remove ${agent.name}`} onClick={() => app.open({ kind: "remove_agent", agent: agent.id })} testid={ids.agentRemove} />
        {!pane && <IconButton icon="beside" label={`Open ${agent.name} in a pane of its own`} onClick={() => void app.show(agent, true)} />}
        {isLive(agent.run) || busy === "stopping"
          ? <IconButton icon="stop" label={`Stop ${agent.name}`} busy={busy !== undefined} onClick={() => void app.stopAgent(agent.id)} testid={ids.agentStop} />
          : <IconButton icon="play" label={`Start ${agent.name}`} busy={busy !== undefined} onClick={start} testid={ids.agentStart} />}
      </div>
    </li>
  );
}
