import type { ReactNode } from "react";
import type { Id, Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { commandLine, isTitled, taskName, taskOutcome } from "../../state/words";
import { IconButton } from "../../shared/Button";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { LogView } from "./LogView";
import { TaskActions } from "./TaskActions";
import { Duration, TaskMark, usePending } from "./TaskMark";

interface Props { project: Id; task: Task; owner: string; root: string; notice: ReactNode; onClose: () => void }

/** One task of the list: what it is, how it stands, what can be done, and its log. */
export function TaskDetail({ project, task, owner, root, notice, onClose }: Props) {
  const app = useApp();
  const pending = usePending(task);
  const command = plain(commandLine(task));
  const name = taskName(task);
  const inside = task.cwd === root ? null : task.cwd.startsWith(`${root}/`) ? task.cwd.slice(root.length + 1) : task.cwd;
  const facts = [owner, task.attempt > 1 ? `attempt ${task.attempt}` : null, inside === null ? null : `in ${plain(inside)}`, task.tty ? "in a terminal" : null, task.joined_ask ? "joined to an ask" : null];
  return (
    <section className="task-detail" aria-label={`Task: ${name}`} data-testid={ids.taskDetail} data-task={task.id} data-project={project}>
      <header className="task-detail-head">
        <div className="task-line">
          <TaskMark task={task} pending={pending} />
          <span className={`grow clip outcome ${!pending && (task.state === "failed" || task.state === "timed_out") ? "bad" : ""}`}>{taskOutcome(task, pending)}</span>
          <Duration task={task} />
          <span className="task-detail-buttons">
            <TaskActions task={task} keys />
            <IconButton icon="close" label="Back to the list (Esc)" onClick={onClose} testid={ids.taskDetailClose} />
          </span>
        </div>
        {isTitled(task) && name !== command && <p className="task-title">{name}</p>}
        <p className="task-command mono">{command}</p>
        {task.output_held && <p className="task-facts-line">A process that it started still held its output when it ended; what that printed later is not here.</p>}
        {task.left_over.length > 0 && <p className="task-facts-line">Still running: {plain(task.left_over.join(", "))}</p>}
        <p className="muted task-facts-line">{facts.filter((fact) => fact !== null).join(" · ")}</p>
        {notice}
      </header>
      <div className="task-detail-log"><LogView task={task} focused={app.chosenTask(project).detail} visible /></div>
    </section>
  );
}
