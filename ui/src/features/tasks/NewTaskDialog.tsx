import { useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Project } from "../../generated/api";
import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";

export function NewTaskDialog({ project }: { project: Project }) {
  const app = useApp();
  const [line, setLine] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);
  const start = async () => {
    if (line.trim() === "" || busy) return;
    setBusy(true);
    setError(null);
    try {
      await app.addTask(project.id, line.trim());
    } catch (reason) {
      setError(toBackendError(reason));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`New task in ${project.name}`} width="medium" testid={ids.taskNewDialog} onClose={app.closeDialog} onSubmit={() => void start()}
      footer={<>
        <Button onClick={app.closeDialog}>Cancel</Button>
        <Button look="primary" icon="play" type="submit" busy={busy} disabled={line.trim() === ""} testid={ids.taskNewStart}>Run</Button>
      </>}>
      <label className="field">
        <span>Command, for the shell, in {project.root}</span>
        <input className="input mono" value={line} data-autofocus spellCheck={false} autoComplete="off" placeholder="npm test" data-testid={ids.taskNewCommand}
          aria-invalid={error !== null} onChange={(event) => { setLine(event.target.value); setError(null); }} />
      </label>
      <p className="muted">It runs in the background. When the window closes, you choose whether it goes on.</p>
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}
