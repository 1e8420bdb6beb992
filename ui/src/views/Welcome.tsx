import { useApp } from "../state/app";
import { useQuery } from "../state/query";
import { Button } from "../shared/Button";
import { ErrorText } from "../shared/ErrorText";
import { Keys } from "../shared/Keys";
import { SHORTCUTS } from "../shared/keys";
import { ids } from "../shared/testids";

/** What stands in the window while no project is open. */
export function Welcome() {
  const app = useApp();
  const { error } = useQuery(app.projects);
  return (
    <div className="welcome" data-testid={ids.welcome}>
      <h1>Carillon</h1>
      <p className="muted">Run several coding agents on your repositories, side by side.</p>
      {error ? (
        <>
          <ErrorText error={error} />
          <Button onClick={() => void app.projects.refresh()}>Try again</Button>
        </>
      ) : (
        <Button look="primary" icon="folder" onClick={() => app.open({ kind: "open_project" })}>Open project…</Button>
      )}
      <p className="muted welcome-keys"><Keys chord={SHORTCUTS.palette.chords[0]!} /> all commands</p>
    </div>
  );
}
