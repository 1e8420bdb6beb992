import { memo } from "react";
import type { Task } from "../../generated/api";
import { commandLine, isOver, taskName, taskOutcome } from "../../state/words";
import { ids } from "../../shared/testids";
import { byteSize, plain } from "../../shared/text";
import { useTail } from "./tail";
import { TaskActions } from "./TaskActions";
import { Duration, TaskMark, usePending } from "./TaskMark";

export const ROW_PX = 46;
export const TAIL_PX = 18;
export const OPEN_HINT = "Enter or a double click opens the log.";

/** Rows of running tasks, and the chosen one, show the last line of the output. */
export function hasTail(task: Task, chosen: boolean): boolean {
  return task.state === "running" || (chosen && isOver(task) && task.log_bytes > 0);
}

interface Props {
  task: Task;
  top: number;
  chosen: boolean;
  owner: string;
  /** Its place among those that wait, and how many do. */
  place: string | null;
  onChoose: (task: Task) => void;
  onOpen: (task: Task) => void;
}

export const TaskRow = memo(function TaskRow({ task, top, chosen, owner, place, onChoose, onOpen }: Props) {
  const pending = usePending(task);
  const withTail = hasTail(task, chosen);
  const tail = useTail(task.id, task.attempt, !isOver(task), withTail);
  const size = Math.max(task.log_bytes, isOver(task) ? 0 : tail?.total ?? 0);
  const outcome = taskOutcome(task, pending);
  const bad = !pending && (task.state === "failed" || task.state === "timed_out");
  return (
    <div id={`task-${task.id}`} role="row" aria-selected={chosen} className="task-row" style={{ top, height: ROW_PX + (withTail ? TAIL_PX : 0) }}
      data-testid={ids.taskRow} data-task={task.id} data-state={task.state} title={`${plain(commandLine(task))}\n${OPEN_HINT}`} onClick={() => onChoose(task)} onDoubleClick={() => onOpen(task)}>
      <div role="gridcell">
        <div className="task-line">
          <TaskMark task={task} pending={pending} />
          <span className="task-name clip">{taskName(task)}</span>
          <Duration task={task} />
          <span className="task-buttons" onDoubleClick={(event) => event.stopPropagation()}><TaskActions task={task} tabIndex={-1} keys /></span>
        </div>
        <div className="task-line task-facts muted">
          <span className={`clip ${bad ? "bad" : ""}`}>{place && !pending ? `${outcome}, ${place}` : outcome}</span>
          {task.attempt > 1 && <span className="fact">attempt {task.attempt}</span>}
          <span className="fact clip">{owner}</span>
          {size > 0 && <span className="fact" data-testid={ids.taskSize}>{byteSize(size)}{task.log_truncated && ", truncated"}</span>}
        </div>
        {withTail && <div className="task-tail mono clip" data-testid={ids.taskTail}>{tail?.line ?? ""}</div>}
      </div>
    </div>
  );
});
