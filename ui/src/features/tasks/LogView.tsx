// A task's log: the end of it at once, what follows while one stands at the end, what came before while one scrolls up. Only the rows
// in sight are in the page.

import { type KeyboardEvent, useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import "./tasks.css";
import type { Task } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { isOver, taskName } from "../../state/words";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { useScheme } from "../../shared/hooks";
import { shortcutOf } from "../../shared/keys";
import { SearchBar } from "../../shared/SearchBar";
import { ids } from "../../shared/testids";
import { byteSize } from "../../shared/text";
import { GapRow, LogRow, ROW_PX } from "./LogRow";
import { type LogState, type Match, TaskLog } from "./task-log";

const OVERSCAN_ROWS = 15;
const EARLIER_WITHIN_ROWS = 40;
/** What is taken for the height of a view that has none yet. */
const HEIGHT_BEFORE_PX = 480;

interface Props { task: Task; focused: boolean; visible: boolean }
interface Search { text: string; matches: Match[]; index: number }

/** A new attempt has a log of its own, and so a view of its own. */
export function LogView(props: Props) {
  return <AttemptLog key={`${props.task.id} ${props.task.attempt}`} {...props} />;
}

function AttemptLog({ task, focused, visible }: Props) {
  const app = useApp();
  const scheme = useScheme(useQuery(app.settings).data?.theme ?? "system");
  const log = useMemo(() => new TaskLog(app.backend, task.id), [app.backend, task.id]);
  const state = useStore(log.state);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: HEIGHT_BEFORE_PX });
  const [follows, setFollows] = useState(true);
  const [search, setSearch] = useState<Search | null>(null);
  const origin = useRef(0);

  useEffect(() => {
    void log.start();
    return () => log.close();
  }, [log]);
  useEffect(() => log.pause(!visible), [log, visible]);

  const measure = useEffectEvent(() => {
    const { scrollTop, clientHeight } = box.current!;
    setView({ top: scrollTop, height: clientHeight || HEIGHT_BEFORE_PX });
    // A first page with few and long lines may leave room above.
    if (clientHeight > 0 && state.rows > 0 && state.rows * ROW_PX <= clientHeight) void log.loadEarlier();
  });
  const stand = (atEnd: boolean) => {
    setFollows(atEnd);
    log.setAtEnd(atEnd);
  };
  const goTo = (top: number) => {
    box.current!.scrollTop = top;
    measure();
  };

  // What is in sight stays where it is when rows come or go before it; at the end, the end stays in sight.
  useLayoutEffect(() => {
    const element = box.current!;
    const shift = state.origin - origin.current;
    origin.current = state.origin;
    if (follows && !state.later) element.scrollTop = element.scrollHeight;
    else if (shift !== 0) element.scrollTop -= shift * ROW_PX;
    measure();
  }, [state.version, state.origin, follows]);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (follows) box.current!.scrollTop = box.current!.scrollHeight;
      measure();
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [follows]);
  useEffect(() => {
    const pane = box.current!.closest("section");
    if (focused && !pane?.contains(document.activeElement) && !document.querySelector('[aria-modal="true"]')) box.current!.focus({ preventScroll: true });
  }, [focused]);

  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    const atBottom = scrollHeight - scrollTop - clientHeight < ROW_PX * 1.5;
    if (scrollTop < EARLIER_WITHIN_ROWS * ROW_PX && !atBottom) void log.loadEarlier();
    if (atBottom) void log.loadLater();
    stand(atBottom && !state.later);
    measure();
  };
  const toEnd = () => {
    setFollows(true);
    void log.toEnd();
    goTo(box.current!.scrollHeight);
    box.current!.focus({ preventScroll: true });
  };
  const toStart = async () => {
    stand(false);
    await log.toStart();
    if (box.current) goTo(0);
  };

  const find = (text: string, back: boolean, typing: boolean) => {
    const matches = log.search(text);
    const first = origin.current + Math.floor(view.top / ROW_PX);
    const last = first + Math.floor(view.height / ROW_PX);
    const before = search?.matches[search.index];
    let index: number;
    if (typing || !before) {
      // The newest match that is in sight or above.
      index = matches.findLastIndex(({ row }) => row <= last);
      if (index < 0) index = matches.length > 0 ? 0 : -1;
    } else {
      const at = matches.findIndex(({ row, from }) => row > before.row || (row === before.row && from >= before.from));
      const here = at >= 0 && matches[at]!.row === before.row && matches[at]!.from === before.from;
      index = back ? (at < 0 ? matches.length : at) - 1 : here ? at + 1 : at;
      index = matches.length === 0 ? -1 : (index + matches.length) % matches.length;
    }
    setSearch({ text, matches, index });
    const match = matches[index];
    if (!match || (match.row >= first && match.row < last)) return;
    stand(false);
    goTo(Math.max(0, (match.row - origin.current) * ROW_PX - view.height / 2));
  };
  const closeSearch = () => {
    setSearch(null);
    box.current?.focus({ preventScroll: true });
  };

  const keyDown = (event: KeyboardEvent) => {
    const shortcut = shortcutOf(event.nativeEvent);
    if (shortcut === "search") setSearch((open) => open ?? { text: "", matches: [], index: -1 });
    else if (shortcut === "copy") void copySelection();
    else if (event.key === "End" && isBare(event)) toEnd();
    else if (event.key === "Home" && isBare(event)) void toStart();
    else return;
    event.preventDefault();
  };
  const copySelection = async () => {
    const text = getSelection()?.toString() ?? "";
    if (text !== "") await app.backend.writeClipboard(text).catch((reason: unknown) => app.report(reason));
  };

  const first = Math.max(0, Math.floor(view.top / ROW_PX) - OVERSCAN_ROWS);
  const last = Math.min(state.rows, Math.ceil((view.top + view.height) / ROW_PX) + OVERSCAN_ROWS);
  const match = search?.matches[search.index];
  const rows = [];
  for (let at = first; at < last; at += 1) {
    const row = log.row(at);
    const number = state.origin + at;
    if (row?.kind === "gap") rows.push(<GapRow key={number} top={at * ROW_PX} bytes={row.bytes} />);
    else if (row) {
      rows.push(
        <LogRow key={number} top={at * ROW_PX} line={row.line} style={row.style} scheme={scheme} wanted={search?.text.toLowerCase() ?? ""}
          current={match?.row === number ? match.from : null} />,
      );
    }
  }

  return (
    <div className="log-view">
      {search && <SearchBar place="the log" found={{ index: search.index, count: search.matches.length }} onFind={find} onClose={closeSearch} />}
      <div className="log-scroll" ref={box} tabIndex={0} role="log" aria-live="off" aria-label={`Output of ${taskName(task)}`} data-testid={ids.log} data-kind={state.kind}
        data-follows={follows} onScroll={scrolled} onKeyDown={keyDown}>
        <div className="log-rows" style={{ height: state.rows * ROW_PX }}>{rows}</div>
      </div>
      {state.error === null && state.rows === 0 && <p className="log-nothing muted">{nothingYet(task, state)}</p>}
      {state.error && <ErrorText error={state.error} />}
      <footer className="log-status muted" data-testid={ids.logStatus}>
        <span className="clip">{statusOf(task, state, follows)}</span>
        {(!follows || state.later) && state.rows > 0 && (
          <Button look="quiet" icon="toEnd" onClick={toEnd} testid={ids.logToEnd} title="Go to the end (End)">To the end</Button>
        )}
      </footer>
    </div>
  );
}

const isBare = (event: KeyboardEvent) => !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;

function nothingYet(task: Task, state: LogState): string {
  if (state.kind === "loading") return "Loading…";
  if (task.state === "awaiting_approval") return "It waits until somebody approves it.";
  if (task.state === "queued") return "It waits for its turn.";
  return isOver(task) ? "Nothing was printed." : "Nothing was printed yet.";
}

function statusOf(task: Task, state: LogState, follows: boolean): string {
  const size = byteSize(Math.max(state.total, isOver(task) ? task.log_bytes : 0));
  const parts = [task.log_truncated ? `${size}, truncated: its middle is not kept` : size];
  if (state.busy === "earlier") parts.push("loading what came before…");
  else if (state.busy === "later") parts.push("loading what follows…");
  else if (task.state === "starting" || task.state === "running") parts.push(follows && !state.later ? "following" : "not following");
  return parts.join(" · ");
}
