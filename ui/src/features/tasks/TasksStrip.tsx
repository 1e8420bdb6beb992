import type { Id } from "../../generated/api";
import { openPanel } from "../../state/layout";
import { useApp } from "../../state/app";
import { useStore } from "../../state/store";
import { useProjectWorkState } from "../../state/work-state";
import { Icon } from "../../shared/Icon";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";

/** In the line under the panes: how many tasks run and wait, and the way to them. */
export function TasksStrip({ project, onPress }: { project: Id; onPress: () => void }) {
  const layout = useStore(useApp().layouts.state)[project];
  const { running, queued } = useProjectWorkState(project);
  const open = layout !== undefined && openPanel(layout) === "tasks";
  const words = [running > 0 ? `${running} running` : "", queued > 0 ? `${queued} queued` : ""].filter(Boolean).join(" · ");
  return (
    <button type="button" className="strip-button" aria-pressed={open} title={withKeys(open ? "Hide the tasks" : "Show the tasks", "tasks")} onClick={onPress} data-testid={ids.tasksOpen}
      data-running={running} data-queued={queued}>
      <Icon name="tasks" />
      Tasks
      <span className={running > 0 ? "strip-live" : ""}>{words === "" ? "none running" : words}</span>
    </button>
  );
}
