// What a pane of the grid needs to show the log of a task: a title, buttons, and the log.

import { useEffect, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Id, Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { useProjectWorkState } from "../../state/work-state";
import { taskName, taskOutcome } from "../../state/words";
import { Duration, TaskMark, usePending } from "./TaskMark";

/** A task by its id: from the list, or, where the list does not reach back so far, by itself. `again` asks once more for it. */
export function useTask(project: Id, id: Id): { task: Task | undefined; error: BackendError | null; again: () => Promise<void> } {
  const app = useApp();
  const { tasks, loaded } = useProjectWorkState(project);
  const listed = tasks.find((task) => task.id === id);
  const [alone, setAlone] = useState<{ task?: Task; error?: BackendError }>({});
  const missing = loaded && !listed;
  const again = async () => {
    await app.backend.call("task_show", { task: id }).then((task) => setAlone({ task }), (reason: unknown) => setAlone({ error: toBackendError(reason) }));
  };
  useEffect(() => {
    if (!missing) return;
    let gone = false;
    app.backend.call("task_show", { task: id }).then(
      (task) => !gone && setAlone({ task }),
      (reason: unknown) => !gone && setAlone({ error: toBackendError(reason) }),
    );
    return () => {
      gone = true;
    };
  }, [app, id, missing]);
  return { task: listed ?? alone.task, error: missing ? alone.error ?? null : null, again };
}

export function TaskTitle({ task }: { task: Task }) {
  const pending = usePending(task);
  return (
    <>
      <TaskMark task={task} pending={pending} />
      <span className="pane-name">{taskName(task)}</span>
      <span className={`pane-state ${!pending && (task.state === "failed" || task.state === "timed_out") ? "bad" : "muted"}`}>{taskOutcome(task, pending)}</span>
      <Duration task={task} />
    </>
  );
}
