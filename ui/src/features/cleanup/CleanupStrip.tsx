import { useApp } from "../../state/app";
import { useStore } from "../../state/store";
import { Icon } from "../../shared/Icon";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";

/** In the line under the panes: the way to what is left behind, and how far a removal is that goes on. */
export function CleanupStrip() {
  const app = useApp();
  const { running, progress } = useStore(app.cleanup.clearing);
  return (
    <button type="button" className="strip-button strip-end" title={withKeys("Clean up…", "cleanup")} onClick={() => app.open({ kind: "cleanup" })} data-testid={ids.cleanupOpen} data-running={running}>
      {running ? <span className="spinner" aria-hidden="true" /> : <Icon name="broom" />}
      {running ? <span className="strip-live">Clearing up{progress && progress.total > 0 ? ` ${progress.done} of ${progress.total}` : ""}</span> : <span className="strip-word">Clean up</span>}
    </button>
  );
}
