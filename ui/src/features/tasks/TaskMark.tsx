import type { Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { useStore } from "../../state/store";
import { isOver, type Pending, taskState } from "../../state/words";
import { pendingOf } from "../../state/work";
import { Elapsed } from "../../shared/Elapsed";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";

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
      <Elapsed since_ms={task.started_ms} until_ms={isOver(task) ? task.ended_ms ?? task.started_ms : null} />
    </span>
  );
}
