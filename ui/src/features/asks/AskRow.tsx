import { memo } from "react";
import type { AskChild, Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { askOutcome, askState, calleeName, callerName, childOutcome, childState, isAskOver, isChildOpen } from "../../state/ask-words";
import { isOver, taskName, titleName } from "../../state/words";
import { IconButton } from "../../shared/Button";
import { Elapsed } from "../../shared/Elapsed";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { clipped, duration, plain } from "../../shared/text";
import type { Row } from "./tree";

const PROMPT_CHARS = 300;

interface Props {
  row: Row;
  /** What is known of the task that the row is about. */
  task: Task | undefined;
  chosen: boolean;
  cancelling: boolean;
  onChoose: (row: Row) => void;
  onOpen: (row: Row) => void;
  onFold: (row: Row) => void;
}

export const AskRow = memo(function AskRow(props: Props) {
  const { row, chosen, onChoose, onOpen, onFold } = props;
  return (
    <div id={`ask-${row.id}`} role="treeitem" aria-level={row.depth + 1} aria-selected={chosen} aria-expanded={row.foldable ? !row.folded : undefined} className="ask-row"
      style={{ paddingLeft: 6 + Math.min(row.depth, 8) * 18 }} data-testid={ids.askRow} data-row={row.id} data-kind={row.ask ? "ask" : row.child!.kind} data-state={row.ask?.state ?? props.task?.state ?? row.child!.state}
      onClick={() => onChoose(row)} onDoubleClick={() => onOpen(row)}>
      {row.foldable
        ? <button type="button" tabIndex={-1} className={`ask-fold ${row.folded ? "" : "open"}`} aria-label={row.folded ? "Unfold" : "Fold"} onClick={(event) => { event.stopPropagation(); onFold(row); }} onDoubleClick={(event) => event.stopPropagation()}><Icon name="right" /></button>
        : <span className="ask-fold" />}
      {row.ask ? <AskLines {...props} /> : <ChildLine {...props} child={row.child!} />}
    </div>
  );
});

function AskLines({ row, cancelling }: Props) {
  const app = useApp();
  const ask = row.ask!;
  const { word, tone, icon } = askState(ask, cancelling);
  const over = isAskOver(ask);
  const callee = calleeName(ask);
  const agent = app.agent(ask.callee);
  return (
    <div className="ask-lines">
      <div className="ask-line">
        <span className={`mark ${tone}`} role="img" aria-label={word} title={word} data-testid={ids.askState}><Icon name={icon} /></span>
        <span className="ask-who">{callerName(ask)} <span className="muted" aria-label="asks">→</span> {callee}</span>
        <span className="muted clip grow">{clipped(plain(ask.prompt), PROMPT_CHARS)}</span>
        <span className="ask-elapsed muted" data-testid={ids.askElapsed}><Elapsed since_ms={ask.created_ms} until_ms={over ? ask.ended_ms ?? ask.created_ms : null} /></span>
        <span className="ask-buttons" onDoubleClick={(event) => event.stopPropagation()}>
          {agent && <IconButton icon="beside" label={`Show ${callee} (O)`} tabIndex={-1} testid={ids.askOpenCallee} onClick={() => void app.show(agent, true)} />}
          {!over && <IconButton icon="stop" label="Cancel (C)" tabIndex={-1} busy={cancelling} testid={ids.askCancel} onClick={() => app.askToCancel(ask)} />}
        </span>
      </div>
      <div className={`ask-facts clip ${tone === "bad" ? "bad" : tone === "attention" ? "attention" : "muted"}`}>{askOutcome(ask, cancelling)}</div>
    </div>
  );
}

function ChildLine({ row, task, child }: Props & { child: AskChild }) {
  const app = useApp();
  const fresh = task ? { ...child, state: task.state, exit_code: task.exit_code, signal: task.signal } : child;
  const { word, tone, icon } = childState(fresh.state);
  const open = isChildOpen(fresh);
  return (
    <div className="ask-lines">
      <div className="ask-line">
        <span className={`mark ${tone}`} role="img" aria-label={word} title={word} data-testid={ids.askState}><Icon name={icon} /></span>
        <span className="mono clip ask-command">{task ? taskName(task) : titleName(child.command)}</span>
        <span className={`ask-child-outcome grow clip ${tone === "bad" ? "bad" : "muted"}`}>{childOutcome(fresh)}</span>
        <span className="ask-elapsed muted">
          {open ? task?.started_ms != null && <Elapsed since_ms={task.started_ms} until_ms={null} /> : child.duration_ms !== null && duration(child.duration_ms)}
        </span>
        <span className="ask-buttons" onDoubleClick={(event) => event.stopPropagation()}>
          {child.kind === "task" && <IconButton icon="beside" label="Open the log in a pane (O)" tabIndex={-1} testid={ids.askOpenLog} onClick={() => void app.showLog({ id: child.id, project: row.parent!.project })} />}
          {task && !isOver(task) && <IconButton icon="stop" label="Cancel the task (C)" tabIndex={-1} testid={ids.askCancel} onClick={() => void app.cancelTask(task)} />}
        </span>
      </div>
    </div>
  );
}
