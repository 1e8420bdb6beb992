import { useEffect, useRef, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Workdir } from "../../generated/api";
import { useApp } from "../../state/app";
import { capital, plain } from "../../shared/text";

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
      if (open.current) app.closeDialog();
      const notes = workdir.notes.map((note) => capital(/[.!?]$/.test(note) ? plain(note) : `${plain(note)}.`));
      app.tell([done(workdir), ...notes].join(" "));
    } catch (reason) {
      if (!open.current) return app.report(reason, failed);
      setError(toBackendError(reason));
      setBusy(false);
    }
  };
  return { busy, error, run, forget: () => setError(null) };
}
