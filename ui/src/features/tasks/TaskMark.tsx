import type { Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { useStore } from "../../state/store";
import { isOver, type Pending, taskState } from "../../state/words";
import { pendingOf } from "../../state/work";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { duration } from "../../shared/text";

/** A task's state as a sign in a colour; the word is there, too. */
export function TaskMark({ task, pending }: { task: Task; pending: Pending | null }) {
  const { word, tone, icon } = taskState(task, pending);
  return (
    <span className={`task-mark ${tone}`} role="img" aria-label={word} title={word} data-testid={ids.taskState} data-state={task.state}>
      <Icon name={icon} />
    </span>
  );
}

export function usePending(task: Task | undefined): Pending | null {
  const pending = useStore(useApp().work.pending);
  return task ? pendingOf(task, pending) : null;
}

/** How long a task took, or takes up to now; nothing for one that did not begin. */
export function Duration({ task }: { task: Task }) {
  if (task.started_ms === null) return null;
  return (
    <span className="task-duration muted" data-testid={ids.taskDuration}>
      {isOver(task) ? duration((task.ended_ms ?? task.started_ms) - task.started_ms) : <Live since_ms={task.started_ms} />}
    </span>
  );
}

function Live({ since_ms }: { since_ms: number }) {
  const passed = useNow(1000) - since_ms;
  // Tenths that stand still for a second would be a lie.
  return <>{passed < 9_950 ? `${Math.max(0, Math.floor(passed / 1000))} s` : duration(passed)}</>;
}
