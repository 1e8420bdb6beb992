import type { Agent } from "../generated/api";
import { useApp } from "../state/app";
import { wakeWords } from "../state/ask-words";
import { useAwaited } from "../state/awaited";
import { useStore } from "../state/store";
import type { AgentWork } from "../state/work-state";
import { agentState } from "../state/words";
import { Badge, Flag } from "../shared/Badge";
import { Dot } from "../shared/Dot";
import { Elapsed } from "../shared/Elapsed";
import { ids } from "../shared/testids";
import { plural, shortPath } from "../shared/text";

/** What the header of an agent's pane says: its name, how it stands, what it waits for, and what waits for it. */
export function AgentTitle({ agent, work }: { agent: Agent; work: AgentWork }) {
  const app = useApp();
  const busy = useStore(app.view).busy[agent.id];
  const { word, tone } = agentState(agent, busy);
  const { words: waiting, awaited } = useAwaited(agent);
  const attention = agent.state === "needs_attention" && busy === undefined;
  const wake = agent.wake?.given_up ? wakeWords(agent, 0) : null;
  const since_ms = agent.turn?.started_ms ?? null;
  return (
    <>
      <Dot tone={tone} word={word} />
      <span className="pane-name">{agent.name}</span>
      {attention
        ? <Flag icon="warn" word="Needs attention" tone="attention" title={`${agent.name} sits on a prompt of its own`} testid={ids.paneAttention} />
        : <span className="pane-state muted" data-testid={ids.paneState}>{word}{agent.state === "working" && since_ms !== null && <span className="pane-since"> · <Elapsed since_ms={since_ms} until_ms={null} /></span>}</span>}
      {wake && (
        <button type="button" className="tag-button" onClick={() => void app.showInbox(agent)}>
          <Flag icon="bell" word="Not woken" tone="bad" title={`${wake.title}\n${wake.next}`} testid={ids.paneWake} />
        </button>
      )}
      {waiting && (
        <button type="button" className="link pane-waiting" title={awaited.map(({ name }) => name).join("\n")} onClick={() => app.showAwaited(agent.project, awaited[0]!.id)} data-testid={ids.paneWaiting}>{waiting}</button>
      )}
      {agent.queued > 0 && (
        <button type="button" className="tag-button" onClick={() => void app.showInbox(agent)}>
          <Badge icon="inbox" word="Queued" count={agent.queued} title={`Queued ${agent.queued}: turns and messages that wait for ${agent.name}`} testid={ids.paneQueued} />
        </button>
      )}
      {work.queued > 0 && <Badge icon="clock" word="Task queued" count={work.queued} title={`${plural(work.queued, "task")} of ${agent.name} in line`} testid={ids.paneTaskQueued} />}
      {work.ended > 0 && <Badge icon="check" word="Task done" count={work.ended} title={`${plural(work.ended, "task")} of ${agent.name} ended since you looked`} testid={ids.paneDone} tone="news" />}
      <span className="pane-path muted" title={agent.workdir}>{shortPath(agent.workdir)}</span>
    </>
  );
}
