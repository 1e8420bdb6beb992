// The list of tasks. One element has the keyboard and says which row is meant; only the rows in sight are in the page.

import { type KeyboardEvent, type Ref, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Id, Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { useStore } from "../../state/store";
import { ids } from "../../shared/testids";
import { hasTail, ROW_PX, TAIL_PX, TaskRow } from "./TaskRow";

const OVERSCAN_PX = 300;
/** What is taken for the height of a list that has none yet. */
const HEIGHT_BEFORE_PX = 600;

interface Props {
  project: Id;
  tasks: readonly Task[];
  places: ReadonlyMap<Id, number>;
  ownerOf: (owner: Id | null) => string;
  ref?: Ref<HTMLDivElement>;
}

export function TaskList({ project, tasks, places, ownerOf, ref }: Props) {
  const app = useApp();
  const chosen = useStore(app.view).chosenTasks[project]?.task ?? null;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: HEIGHT_BEFORE_PX });
  const tops = useMemo(() => topsOf(tasks, chosen), [tasks, chosen]);
  const at = tasks.findIndex(({ id }) => id === chosen);

  const choose = useCallback((task: Task) => app.chooseTask(project, { task: task.id }), [app, project]);
  const open = useCallback((task: Task) => app.chooseTask(project, { task: task.id, detail: true }), [app, project]);
  const measure = () => setView({ top: box.current!.scrollTop, height: box.current!.clientHeight || HEIGHT_BEFORE_PX });

  useEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  // The chosen row comes into sight when it is chosen, and stays there when its log opens below the list.
  useEffect(() => {
    const element = box.current!;
    if (at < 0) return;
    if (tops[at]! < element.scrollTop) element.scrollTop = tops[at]!;
    else if (tops[at + 1]! > element.scrollTop + element.clientHeight) element.scrollTop = tops[at + 1]! - element.clientHeight;
  }, [chosen, view.height]);

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor(view.height / ROW_PX) - 1);
    const to =
      event.key === "ArrowDown" ? at + 1
      : event.key === "ArrowUp" ? (at < 0 ? 0 : at - 1)
      : event.key === "PageDown" ? at + page
      : event.key === "PageUp" ? at - page
      : event.key === "Home" ? 0
      : event.key === "End" ? tasks.length - 1 : null;
    if (to !== null) {
      const task = tasks[Math.min(tasks.length - 1, Math.max(0, to))];
      if (task) choose(task);
    } else if (event.key === "Enter" && tasks[at]) {
      open(tasks[at]);
    } else {
      return;
    }
    event.preventDefault();
  };

  const first = Math.max(0, tops.findLastIndex((top) => top <= view.top - OVERSCAN_PX));
  const end = tops.findIndex((top) => top >= view.top + view.height + OVERSCAN_PX);
  const shown = tasks.slice(first, end < 0 ? tasks.length : end);
  return (
    <div ref={(element) => {
      box.current = element;
      if (typeof ref === "function") ref(element);
      else if (ref) ref.current = element;
    }} className="task-list" data-panel-list role="grid" tabIndex={0} aria-label="Tasks" aria-activedescendant={at >= 0 ? `task-${chosen}` : undefined}
      data-testid={ids.tasksList} onScroll={measure} onKeyDown={keyDown}
      onFocus={(event) => event.target === event.currentTarget && at < 0 && tasks[0] && choose(tasks[0])}>
      <div className="task-rows" style={{ height: tops.at(-1) ?? 0 }}>
        {shown.map((task, index) => (
          <TaskRow key={task.id} task={task} top={tops[first + index]!} chosen={task.id === chosen} owner={ownerOf(task.owner)}
            place={placeOf(places.get(task.id), places.size)} onChoose={choose} onOpen={open} />
        ))}
      </div>
    </div>
  );
}

/** Where each row begins, and where the last one ends. */
function topsOf(tasks: readonly Task[], chosen: Id | null): number[] {
  const tops = [0];
  for (const task of tasks) tops.push(tops.at(-1)! + ROW_PX + (hasTail(task, task.id === chosen) ? TAIL_PX : 0));
  return tops;
}

function placeOf(place: number | undefined, waiting: number): string | null {
  if (place === undefined) return null;
  return place === 1 ? "next in line" : `${place} of ${waiting} in line`;
}
