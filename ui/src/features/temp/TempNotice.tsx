import "./temp.css";
import type { Agent, Task, TempUse } from "../../generated/api";
import { type App, useApp } from "../../state/app";
import { useStore } from "../../state/store";
import { agentTemp, tempWords, type TempSaid } from "../../state/temp-words";
import { isLive, isOver, taskName } from "../../state/words";
import { Button, IconButton } from "../../shared/Button";
import { CopyButton } from "../../shared/CopyButton";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";

/** At the foot of an agent's pane, while its temp directory takes much room. */
export function AgentTempNotice({ agent }: { agent: Agent }) {
  const app = useApp();
  const busy = useStore(app.view).busy[agent.id];
  const said = agentTemp(agent);
  if (!said || !agent.temp) return null;
  const stop = isLive(agent.run) ? { word: `Stop ${plain(agent.name)}`, busy: busy === "stopping", press: () => void app.stopAgent(agent.id) } : null;
  return <Notice said={said} temp={agent.temp} stop={stop} />;
}

/** Where a task is on show, while its temp directory takes much room. */
export function TaskTempNotice({ task }: { task: Task }) {
  const app = useApp();
  const pending = useStore(app.work.pending)[task.id];
  const said = tempWords(taskName(task), "task", task.temp);
  if (!said || !task.temp || isOver(task)) return null;
  return <Notice said={said} temp={task.temp} stop={{ word: "Cancel the task", busy: pending !== undefined, press: () => void app.cancelTask(task) }} />;
}

interface Props { said: TempSaid; temp: TempUse; stop: { word: string; busy: boolean; press: () => void } | null }

function Notice({ said, temp, stop }: Props) {
  const app = useApp();
  const key = `temp ${temp.path} ${temp.level}`;
  const dismissed = useStore(app.view).dismissed.has(key);
  if (dismissed) return null;
  const dismiss = () => app.view.update((view) => ({ ...view, dismissed: new Set([...view.dismissed, key]) }));
  const { path } = temp;
  return (
    <div className={`temp-notice ${said.ending ? "ending" : ""}`} role="status" data-testid={ids.tempNotice} data-level={temp.level}>
      <Icon name="warn" />
      <p className="temp-words"><strong>{said.title}</strong> <span className="muted">{said.next}</span></p>
      <span className="temp-buttons">
        {path !== null && <Button icon="folder" title={path} onClick={() => void openFolder(app, path)} testid={ids.tempOpen}>Open folder</Button>}
        {path !== null && <CopyButton label="Copy path" title={path} copy={() => app.copy(path)} testid={ids.tempCopy} />}
        {stop && !said.ending && <Button icon="stop" busy={stop.busy} onClick={stop.press} testid={ids.tempStop}>{stop.word}</Button>}
      </span>
      <IconButton icon="close" label="Dismiss; it is told again when it becomes too much" onClick={dismiss} testid={ids.tempDismiss} />
    </div>
  );
}

/** Reports its own failure. */
async function openFolder(app: App, path: string): Promise<void> {
  try {
    await app.backend.call("desktop_open_directory", { path, in_file_manager: true });
    app.tell("The temp directory opens in your file manager.");
  } catch (reason) {
    app.report(reason, "The temp directory:");
  }
}
