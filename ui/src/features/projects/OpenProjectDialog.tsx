import { useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";

export function OpenProjectDialog() {
  const app = useApp();
  const [path, setPath] = useState("");
  const [busy, setBusy] = useState<"opening" | "browsing" | null>(null);
  const [error, setError] = useState<BackendError | null>(null);

  const open = async (chosen: string) => {
    setBusy("opening");
    setError(null);
    try {
      await app.addProject(chosen.trim());
    } catch (reason) {
      setError(toBackendError(reason));
      setBusy(null);
    }
  };
  const browse = async () => {
    setBusy("browsing");
    setError(null);
    try {
      const picked = (await app.backend.call("desktop_pick_folder", {})).path;
      if (picked !== null) {
        setPath(picked);
        await open(picked);
        return;
      }
    } catch (reason) {
      setError(toBackendError(reason));
    }
    setBusy(null);
  };

  return (
    <Dialog title="Open a project" width="medium" onClose={app.closeDialog} onSubmit={() => path.trim() && void open(path)}
      footer={<>
        <Button onClick={app.closeDialog}>Cancel</Button>
        <Button look="primary" type="submit" busy={busy === "opening"} disabled={path.trim() === ""} testid={ids.openProjectSubmit}>Open</Button>
      </>}>
      <label className="field">
        <span>Path of a git repository</span>
        <span className="field-row">
          <input className="input mono" value={path} data-autofocus spellCheck={false} autoComplete="off" placeholder="/home/you/src/project"
            aria-invalid={error !== null} aria-describedby={error ? "open-project-error" : undefined} data-testid={ids.openProjectPath}
            onChange={(event) => { setPath(event.target.value); setError(null); }} />
          <Button icon="folder" busy={busy === "browsing"} onClick={() => void browse()} testid={ids.openProjectBrowse}>Browse…</Button>
        </span>
      </label>
      {error && <ErrorText error={error} id="open-project-error" />}
    </Dialog>
  );
}
