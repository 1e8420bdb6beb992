import type { Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { commandLine, isOver } from "../../state/words";
import { IconButton } from "../../shared/Button";
import { CopyButton } from "../../shared/CopyButton";
import { ids } from "../../shared/testids";
import { usePending } from "./TaskMark";

interface Props {
  task: Task;
  /** Buttons in a row of the list are reached by the list's keys, and not by Tab. */
  tabIndex?: number;
  /** The names of the list's keys, where they hold. */
  keys?: boolean;
  /** Where the log is in a pane already there is no button for it. */
  openPane?: boolean;
}

/** What can be done to a task, as buttons. */
export function TaskActions({ task, tabIndex, keys = false, openPane = true }: Props) {
  const app = useApp();
  const pending = usePending(task);
  const named = (label: string, key: string) => (keys ? `${label} (${key})` : label);
  return (
    <>
      {isOver(task)
        ? <IconButton icon="retry" label={named("Retry", "R")} tabIndex={tabIndex} busy={pending !== null} onClick={() => void app.retryTask(task)} testid={ids.taskRetry} />
        : <IconButton icon="stop" label={named("Cancel", "C")} tabIndex={tabIndex} busy={pending !== null} onClick={() => void app.cancelTask(task)} testid={ids.taskCancel} />}
      <CopyButton look="sign" className="spare" label={named("Copy the command", "Y")} tabIndex={tabIndex} copy={() => app.copy(commandLine(task))} testid={ids.taskCopy} />
      {openPane && <IconButton icon="beside" label={named("Open the log in a pane", "O")} tabIndex={tabIndex} onClick={() => void app.showLog(task)} testid={ids.taskOpenPane} />}
    </>
  );
}
