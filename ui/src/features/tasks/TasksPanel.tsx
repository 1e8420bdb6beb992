// The tasks of a project, in the panel beside its panes: what runs, what waits, what ended, and what can be done about it.

import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import "./tasks.css";
import type { Id, Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { useProjectWorkState } from "../../state/work-state";
import { Button } from "../../shared/Button";
import { Retry } from "../../shared/Retry";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { type Chip, CHIPS, filtered, type Filter, NO_FILTER } from "./filter";
import { TaskDetail } from "./TaskDetail";
import { TaskList } from "./TaskList";
import { OPEN_HINT } from "./TaskRow";

interface Props {
  project: Id;
  /** Gives the keyboard back to the panes. */
  onLeave: () => void;
  /** What else is to be said of a task that is looked at. */
  noticeOf: (task: Task) => ReactNode;
}

export function TasksPanel({ project, onLeave, noticeOf }: Props) {
  const app = useApp();
  const choice = useStore(app.view).chosenTasks[project];
  const work = useProjectWorkState(project);
  const agents = useQuery(app.agents).data;
  const root = useQuery(app.projects).data?.find(({ id }) => id === project)?.root ?? "";
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const list = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);

  const ownerOf = useCallback((owner: Id | null) => {
    return owner === null ? "you" : plain(agents?.find(({ id }) => id === owner)?.name ?? "an agent that is gone");
  }, [agents]);
  const tasks = useMemo(() => filtered(work, filter, ownerOf), [work, filter, ownerOf]);
  const chosen = tasks.find(({ id }) => id === choice?.task);
  const detail = choice?.detail ? chosen : undefined;

  const closeDetail = () => {
    app.chooseTask(project, { detail: false });
    list.current?.focus();
  };
  const newTask = () => app.open({ kind: "new_task", project });

  const escape = (target: Element) => {
    if (target === search.current && filter.text !== "") setFilter({ ...filter, text: "" });
    else if (target.closest(".task-detail")) closeDetail();
    else if (target !== list.current && !target.closest(".task-list")) list.current?.focus();
    else onLeave();
  };
  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target as Element;
    const typing = target.tagName === "INPUT";
    const key = event.key.toLowerCase();
    if (event.key === "Escape") escape(target);
    else if (typing && event.key === "ArrowDown") list.current?.focus();
    else if (typing) return;
    else if (key === "/") search.current?.focus();
    else if (key === "n") newTask();
    else if (key === "c" && chosen) void app.cancelTask(chosen);
    else if (key === "r" && chosen) void app.retryTask(chosen);
    else if (key === "y" && chosen) void app.copyCommand(chosen);
    else if (key === "o" && chosen) void app.showLog(chosen);
    else return;
    event.preventDefault();
  };
  const flip = (chip: Chip) => {
    const chips = new Set(filter.chips);
    if (!chips.delete(chip)) chips.add(chip);
    setFilter({ ...filter, chips });
  };

  return (
    <div className="tasks-body" data-testid={ids.tasksPanel} onKeyDown={keyDown}>
      <div className="tasks-left">
        <div className="tasks-filter">
          <input ref={search} className="input" type="text" placeholder="Filter ( / )" aria-label="Filter the tasks" value={filter.text} spellCheck={false} autoComplete="off"
            data-testid={ids.tasksFilter} onChange={(event) => setFilter({ ...filter, text: event.target.value })} />
          <div className="chips" role="group" aria-label="States">
            {CHIPS.map(({ chip, label, states }) => {
              const count = states.reduce((sum, state) => sum + work.byState[state].length, 0);
              return (
                <button key={chip} type="button" className="chip" aria-pressed={filter.chips.has(chip)} onClick={() => flip(chip)} data-testid={ids.tasksChip} data-chip={chip}>
                  {label}{count > 0 && <span className="chip-count">{count}</span>}
                </button>
              );
            })}
          </div>
        </div>
        {work.error && <div className="tasks-error"><Retry error={work.error} again={() => app.work.load(project)} /></div>}
        <div className="tasks-room">
          <TaskList ref={list} project={project} tasks={tasks} places={work.places} ownerOf={ownerOf} />
          {tasks.length === 0 && !work.error && (
            <div className="tasks-empty muted" data-testid={ids.tasksEmpty}>
              {!work.loaded ? <p role="status">Loading…</p> : work.tasks.length > 0 ? (
                <>
                  <p>No task fits the filter.</p>
                  <Button look="quiet" onClick={() => setFilter(NO_FILTER)}>Show all</Button>
                </>
              ) : (
                <>
                  <p>A command that runs in the background is shown here: yours, and those that agents start.</p>
                  <Button icon="plus" onClick={newTask}>New task…</Button>
                </>
              )}
            </div>
          )}
        </div>
        {tasks.length > 0 && !detail && <p className="tasks-hint muted clip">{OPEN_HINT}</p>}
      </div>
      {detail && <TaskDetail key={detail.id} project={project} task={detail} owner={ownerOf(detail.owner)} root={root} notice={noticeOf(detail)} onClose={closeDetail} />}
    </div>
  );
}

/** For the head of the panel. */
export function NewTaskButton({ project }: { project: Id }) {
  const app = useApp();
  return <Button look="quiet" icon="plus" onClick={() => app.open({ kind: "new_task", project })} title="New task (N)" testid={ids.taskNew}>New task…</Button>;
}
