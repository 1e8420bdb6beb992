import type { Ask, AskChild, Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { childOutcome, childState, isChildOpen } from "../../state/ask-words";
import { taskName, titleName } from "../../state/words";
import { Elapsed } from "../../shared/Elapsed";
import { Icon } from "../../shared/Icon";
import { duration } from "../../shared/text";

/** What an agent started while it served an ask, each with its outcome and the way to it. */
export function Children({ ask, tasks }: { ask: Ask; tasks: ReadonlyMap<string, Task> }) {
  const app = useApp();
  const open = (child: AskChild) => void (child.kind === "task" ? app.showTask(ask.project, child.id) : app.showAsk(ask.project, child.id));
  return (
    <ul className="turn-children" aria-label="Its work">
      {ask.children.map((child) => {
        const task = tasks.get(child.id);
        const fresh: AskChild = task ? { ...child, state: task.state, exit_code: task.exit_code, signal: task.signal } : child;
        const { word, tone, icon } = childState(fresh.state);
        return (
          <li key={child.id}>
            <button type="button" className="turn-child" onClick={() => open(child)} title={child.kind === "task" ? "Show the task" : "Show the ask"}>
              <span className={`mark ${tone}`} role="img" aria-label={word}><Icon name={icon} /></span>
              <span className="clip mono grow">{task ? taskName(task) : titleName(child.command)}</span>
              <span className={tone === "bad" ? "bad" : "muted"}>{childOutcome(fresh)}</span>
              {isChildOpen(fresh)
                ? task?.started_ms != null && <span className="muted"><Elapsed since_ms={task.started_ms} until_ms={null} /></span>
                : child.duration_ms !== null && <span className="muted">{duration(child.duration_ms)}</span>}
            </button>
          </li>
        );
      })}
    </ul>
  );
}
