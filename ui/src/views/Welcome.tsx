import { useEffect, useRef } from "react";
import { useApp } from "../state/app";
import { useQuery } from "../state/query";
import { useStore } from "../state/store";
import { Button } from "../shared/Button";
import { ErrorText } from "../shared/ErrorText";
import { Keys } from "../shared/Keys";
import { chordKeys, SHORTCUTS } from "../shared/keys";
import { ids } from "../shared/testids";

/** What stands in the window while no project is open. */
export function Welcome() {
  const app = useApp();
  const { error } = useQuery(app.projects);
  const view = useStore(app.view);
  const behind = view.dialog !== null || view.quit !== null;
  const button = useRef<HTMLButtonElement>(null);
  const failed = error !== null;
  // Enter is enough to begin. A dialog that closes first gives the focus back to where it was.
  useEffect(() => {
    if (behind) return;
    const timer = setTimeout(() => {
      if (document.activeElement === null || document.activeElement === document.body) button.current?.focus({ preventScroll: true });
    }, 0);
    return () => clearTimeout(timer);
  }, [behind, failed]);
  return (
    <div className="welcome" data-testid={ids.welcome}>
      <h1>Carillon</h1>
      <p className="muted">Run several coding agents on your repositories, side by side.</p>
      {error ? (
        <>
          <ErrorText error={error} />
          <Button ref={button} onClick={() => void app.projects.refresh()}>Try again</Button>
        </>
      ) : (
        <Button ref={button} look="primary" icon="folder" onClick={() => app.open({ kind: "open_project" })}>Open project…</Button>
      )}
      <p className="muted welcome-keys"><Keys keys={chordKeys(SHORTCUTS.palette.chords[0]!)} /> all commands</p>
    </div>
  );
}
