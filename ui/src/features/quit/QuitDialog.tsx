import { useState } from "react";
import { type BackendError, type QuitRequest, toBackendError } from "../../backend/backend";
import { useApp } from "../../state/app";
import { titleName } from "../../state/words";
import "./quit.css";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { plain, plural } from "../../shared/text";

const NAMES_SHOWN = 8;

/** The one question of a window that closes while agents or tasks run. Cancel has the focus: a key that was meant for a terminal must end nothing. */
export function QuitDialog({ request }: { request: QuitRequest }) {
  const app = useApp();
  const [remember, setRemember] = useState(false);
  const [busy, setBusy] = useState<"stop" | "keep" | null>(null);
  const [error, setError] = useState<BackendError | null>(null);
  const { running, unknown = null } = request;

  const quit = async (choice: "stop" | "keep") => {
    setBusy(choice);
    setError(null);
    try {
      await app.quit(choice, remember);
    } catch (reason) {
      setError(toBackendError(reason));
      setBusy(null);
    }
  };

  return (
    <Dialog title={unknown === null ? whatRuns(running) : "Something may be running"} width="medium" alert testid={ids.quitDialog} onClose={app.cancelQuit}
      footer={<>
        <label className="check-field grow">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} data-testid={ids.quitRemember} />
          Remember
        </label>
        <Button onClick={app.cancelQuit} testid={ids.quitCancel} data-autofocus>Cancel</Button>
        <Button look="danger" busy={busy === "stop"} disabled={busy !== null} onClick={() => void quit("stop")} testid={ids.quitStop}>Stop them and quit</Button>
        <Button look="primary" busy={busy === "keep"} disabled={busy !== null} onClick={() => void quit("keep")} testid={ids.quitKeep}>Keep them running and quit</Button>
      </>}>
      {unknown !== null && <p data-testid={ids.quitUnknown}>What runs could not be read: {plain(unknown)}. Agents and tasks may be at work.</p>}
      <ul className="quit-names">
        {running.slice(0, NAMES_SHOWN).map(({ agent, project, kind }, index) => (
          <li key={index} className="clip">
            <span className="quit-kind muted"><Icon name={kind === "task" ? "tasks" : "terminal"} />{kind === "task" ? "task" : "agent"}</span>
            <strong>{kind === "task" ? titleName(agent) : plain(agent)}</strong> <span className="muted">in {project}</span>
          </li>
        ))}
        {running.length > NAMES_SHOWN && <li className="muted">and {running.length - NAMES_SHOWN} more</li>}
      </ul>
      <p className="muted">What keeps running is found again when Carillon starts the next time: agents with their screens, tasks with their output.</p>
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}

/** "2 agents and 3 tasks are running". */
function whatRuns(running: QuitRequest["running"]): string {
  const tasks = running.filter(({ kind }) => kind === "task").length;
  const agents = running.length - tasks;
  const parts = [agents > 0 || tasks === 0 ? plural(agents, "agent") : "", tasks > 0 ? plural(tasks, "task") : ""].filter(Boolean);
  return `${parts.join(" and ")} ${running.length === 1 ? "is" : "are"} running`;
}
