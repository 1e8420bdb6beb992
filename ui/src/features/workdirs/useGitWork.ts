import { useEffect, useRef, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Workdir } from "../../generated/api";
import { type App, useApp } from "../../state/app";
import { openPanel } from "../../state/layout";
import { STOPPED } from "../../state/workdirs";
import { capital, plain } from "../../shared/text";

function listIsSeen(app: App, { project }: Workdir): boolean {
  const layout = app.layouts.of(project);
  return app.view.get().project === project && layout !== null && layout !== undefined && openPanel(layout) === "workdirs";
}

/**
 * Runs git's work from a dialog. The dialog may be closed meanwhile: the work goes on, the list shows it, and how it went is told.
 * `done` says what was done, in a sentence.
 */
export function useGitWork(failed: string) {
  const app = useApp();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);
  const open = useRef(true);
  useEffect(() => {
    open.current = true;
    return () => {
      open.current = false;
    };
  }, []);
  const run = async (call: () => Promise<Workdir>, done: (workdir: Workdir) => string) => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      const workdir = await call();
      const seen = open.current && listIsSeen(app, workdir);
      if (open.current) app.closeDialog();
      const notes = workdir.notes.map((note) => capital(/[.!?]$/.test(note) ? plain(note) : `${plain(note)}.`));
      // Where the list shows it, only what the list does not show needs words.
      if (!seen || notes.length > 0) app.tell([done(workdir), ...notes].join(" "));
    } catch (reason) {
      if (toBackendError(reason).code === STOPPED) {
        if (open.current) app.closeDialog();
        return app.tell(`${failed} ${toBackendError(reason).message}`);
      }
      if (!open.current) return app.report(reason, failed);
      setError(toBackendError(reason));
      setBusy(false);
    }
  };
  return { busy, error, run, forget: () => setError(null) };
}
