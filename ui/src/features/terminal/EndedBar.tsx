import type { BackendError } from "../../backend/backend";
import type { Agent, Run } from "../../generated/api";
import { useApp } from "../../state/app";
import { useStore } from "../../state/store";
import { howItEnded } from "../../state/words";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { ago } from "../../shared/text";
import { ids } from "../../shared/testids";

interface Props { agent: Agent; run: Run; gone: BackendError | null; onStart: () => void }

/** Under the last screen of a run that is over: how it ended, when, and the way on. */
export function EndedBar({ agent, run, gone, onStart }: Props) {
  const view = useStore(useApp().view);
  const now = useNow();
  const failure = view.failures[agent.id];
  // A run that the user stopped died of a signal, too, and nothing is wrong with it: the agent's state tells the two apart.
  const bad = run.state === "lost" || agent.state === "failed" || (run.exit_code !== null && run.exit_code !== 0);
  return (
    <div className="ended" data-testid={ids.endedBar}>
      {(failure ?? gone) && <ErrorText error={(failure ?? gone)!} />}
      <div className="ended-bar">
        <p role="status" className={bad ? "bad" : ""}>
          {howItEnded(run)}
          {run.ended_ms !== null && <span className="muted"> · {ago(run.ended_ms, now)}</span>}
        </p>
        <Button look="primary" icon="play" busy={view.busy[agent.id] === "starting"} onClick={onStart} testid={ids.startAgain}>Start again</Button>
      </div>
    </div>
  );
}
