// The asks of a project as a tree of who waits for whom and for what. One element has the keyboard and says which row is meant.

import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import "./asks.css";
import type { Ask, Id } from "../../generated/api";
import { useApp } from "../../state/app";
import { isAskOver } from "../../state/ask-words";
import { nothing } from "../../state/listed";
import { openPanel } from "../../state/layout";
import { useStore } from "../../state/store";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";
import { plural } from "../../shared/text";
import { AskDetail } from "./AskDetail";
import { AskRow } from "./AskRow";
import { type Row, treeOf, type Which } from "./tree";

/** Trees that are drawn at once; of a longer list the rest comes when it is asked for. */
const ROOTS_STEP = 100;
const NOTHING: ReadonlySet<Id> = new Set();

interface Props {
  project: Id;
  /** Gives the keyboard back to the panes. */
  onLeave: () => void;
}

export function AsksPanel({ project, onLeave }: Props) {
  const app = useApp();
  const { items: asks, loaded, error } = useStore(app.asks.state)[project] ?? nothing<Ask>();
  const tasks = useStore(app.work.state)[project]?.items;
  const cancelling = useStore(app.asks.cancelling);
  const choice = useStore(app.view).chosenAsks[project];
  const [which, setWhich] = useState<Which>("open");
  const [folded, setFolded] = useState(NOTHING);
  const [most, setMost] = useState(ROOTS_STEP);
  const list = useRef<HTMLDivElement>(null);

  const open = useMemo(() => asks.filter((ask) => !isAskOver(ask)).length, [asks]);
  const taskOf = useMemo(() => new Map(tasks?.map((task) => [task.id, task])), [tasks]);
  const picked = choice?.row ?? null;
  const detail = choice?.detail ? asks.find(({ id }) => id === picked) : undefined;
  const tree = useMemo(() => treeOf(asks, which, folded), [asks, which, folded]);
  const rows = useMemo(() => tree.rows.slice(0, most).flat(), [tree, most]);
  const at = rows.findIndex(({ id }) => id === picked);
  const row = rows[at];

  // An ask that somebody was led to is shown, also when it is over.
  const hidden = detail !== undefined && at < 0 && which === "open";
  useEffect(() => {
    if (hidden) setWhich("all");
  }, [hidden]);
  // Whoever opens an ask by the keyboard goes on reading there.
  useEffect(() => {
    if (detail && document.activeElement === list.current) list.current?.closest(".asks-body")?.querySelector<HTMLElement>(".ask-detail-body")?.focus({ preventScroll: true });
  }, [detail?.id]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView?.({ block: "nearest" });
  }, [picked, detail === undefined]);

  const choose = useCallback((to: Row) => app.chooseAsk(project, { row: to.id }), [app, project]);
  const openRow = useCallback((to: Row) => {
    if (to.ask) app.chooseAsk(project, { row: to.id, detail: true });
    else if (to.child?.kind === "task") void app.showLog({ id: to.id, project });
  }, [app, project]);
  const fold = useCallback((to: Row) => setFolded((old) => {
    const fresh = new Set(old);
    if (!fresh.delete(to.id)) fresh.add(to.id);
    return fresh;
  }), []);
  const closeDetail = () => {
    app.chooseAsk(project, { detail: false });
    list.current?.focus();
  };
  const showBeside = (to: Row) => {
    const agent = to.ask && app.agent(to.ask.callee);
    if (agent) void app.show(agent, true);
    else if (to.child?.kind === "task") void app.showLog({ id: to.id, project });
  };
  const cancel = (to: Row) => {
    const task = taskOf.get(to.id);
    if (to.ask && !isAskOver(to.ask)) app.askToCancel(to.ask);
    else if (task) void app.cancelTask(task);
  };
  const ask = () => app.open({ kind: "ask_agent", project, agent: null });

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target as Element;
    const key = event.key.toLowerCase();
    if (event.key === "Escape") {
      if (detail && (target === list.current || target.closest(".ask-detail"))) closeDetail();
      else if (target !== list.current) list.current?.focus();
      else onLeave();
    } else if (key === "n") ask();
    else if (key === "a") setWhich(which === "open" ? "all" : "open");
    else if (key === "c" && row) cancel(row);
    else if (key === "o" && row) showBeside(row);
    else return;
    event.preventDefault();
  };
  const move = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.target !== event.currentTarget) return;
    const to = moved(event.key, rows, at);
    if (to !== null) {
      if (rows[to]) choose(rows[to]);
    } else if (event.key === "Enter" && row) openRow(row);
    else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && row?.foldable && row.folded === (event.key === "ArrowRight")) fold(row);
    else return;
    event.preventDefault();
  };

  return (
    <div className="asks-body" data-testid={ids.asksPanel} onKeyDown={keyDown}>
      <div className="asks-left">
        <div className="asks-filter" role="group" aria-label="Which asks">
          {(["open", "all"] as const).map((each) => (
            <button key={each} type="button" className="chip" aria-pressed={which === each} onClick={() => setWhich(each)} data-testid={ids.asksFilter} data-which={each}>
              {each === "open" ? "Open" : "All"}<span className="chip-count">{each === "open" ? open : asks.length}</span>
            </button>
          ))}
        </div>
        {error && <div className="asks-error"><ErrorText error={error} /><Button onClick={() => void app.asks.load(project)}>Try again</Button></div>}
        <div className="asks-room">
          <div className="asks-scroll">
            <div ref={list} className="asks-list" data-panel-list role="tree" tabIndex={0} aria-label="Asks" aria-activedescendant={row ? `ask-${row.id}` : undefined} data-testid={ids.asksList}
              onKeyDown={move} onFocus={(event) => event.target === event.currentTarget && at < 0 && rows[0] && choose(rows[0])}>
              {rows.map((each) => (
                <AskRow key={each.id} row={each} task={taskOf.get(each.id)} chosen={each.id === picked} cancelling={cancelling.has(each.id)} onChoose={choose} onOpen={openRow} onFold={fold} />
              ))}
            </div>
            {tree.roots > most && <Button look="quiet" icon="down" className="asks-more" onClick={() => setMost(most + ROOTS_STEP)} testid={ids.asksMore}>Show {Math.min(ROOTS_STEP, tree.roots - most)} more of {plural(tree.roots - most, "ask")}</Button>}
          </div>
          {rows.length === 0 && !error && <Empty loaded={loaded} any={asks.length > 0} onAll={() => setWhich("all")} onAsk={ask} />}
        </div>
        {rows.length > 0 && !detail && <p className="asks-hint muted clip">Enter or a double click opens an ask, or the log of a task.</p>}
      </div>
      {detail && <AskDetail key={detail.id} ask={detail} cancelling={cancelling.has(detail.id)} onClose={closeDetail} />}
    </div>
  );
}

/** The row that a key leads to; null when the key leads to none. */
function moved(key: string, rows: readonly Row[], at: number): number | null {
  const row = rows[at];
  switch (key) {
    case "ArrowDown": return Math.min(rows.length - 1, at + 1);
    case "ArrowUp": return Math.max(0, at - 1);
    case "Home": return 0;
    case "End": return rows.length - 1;
    case "ArrowRight": return row?.foldable && !row.folded ? at + 1 : null;
    case "ArrowLeft": return row && (!row.foldable || row.folded) && row.depth > 0 ? rows.findLastIndex((each, index) => index < at && each.depth < row.depth) : null;
    default: return null;
  }
}

function Empty({ loaded, any, onAll, onAsk }: { loaded: boolean; any: boolean; onAll: () => void; onAsk: () => void }) {
  if (!loaded) return <div className="asks-empty muted"><p role="status">Loading…</p></div>;
  return (
    <div className="asks-empty muted" data-testid={ids.asksEmpty}>
      {any ? (
        <>
          <p>Nobody waits for an answer.</p>
          <Button look="quiet" onClick={onAll} title="Show all (A)">Show all</Button>
        </>
      ) : (
        <>
          <p>An ask is a question that waits for one answer: yours to an agent, or an agent's to another. Whoever asks waits until the answer is there, and so is the work that it took.</p>
          <Button icon="asks" onClick={onAsk}>Ask an agent…</Button>
        </>
      )}
    </div>
  );
}

/** For the head of the panel. */
export function NewAskButton({ project }: { project: Id }) {
  const app = useApp();
  return <Button look="quiet" icon="plus" onClick={() => app.open({ kind: "ask_agent", project, agent: null })} title="Ask an agent (N)" testid={ids.askNew}>Ask…</Button>;
}

/** In the line under the panes: how many asks are open, and the way to them. */
export function AsksStrip({ project, onPress }: { project: Id; onPress: () => void }) {
  const app = useApp();
  const layout = useStore(app.layouts.state)[project];
  const { items: asks } = useStore(app.asks.state)[project] ?? nothing<Ask>();
  const count = asks.filter((ask) => !isAskOver(ask)).length;
  const open = layout !== undefined && openPanel(layout) === "asks";
  return (
    <button type="button" className="strip-button" aria-pressed={open} title={withKeys(open ? "Hide the asks" : "Show the asks", "asks")} onClick={onPress} data-testid={ids.asksOpen} data-open={count}>
      <Icon name="asks" />
      Asks
      <span className={count > 0 ? "strip-live" : ""}>{count === 0 ? "none open" : `${count} open`}</span>
    </button>
  );
}
