// A pane's terminal with what belongs to it: the search bar, questions about the clipboard, and the bar of an ended run.

import { useEffect, useEffectEvent, useRef, useState } from "react";
import "@xterm/xterm/css/xterm.css";
import "./terminal.css";
import type { BackendError } from "../../backend/backend";
import type { Agent, Run, Settings } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { isLive } from "../../state/words";
import { useScheme } from "../../shared/hooks";
import { SearchBar } from "../../shared/SearchBar";
import { ids } from "../../shared/testids";
import { ClipboardConsent } from "./ClipboardConsent";
import { EndedBar } from "./EndedBar";
import { PasteQuestion } from "./PasteQuestion";
import type { PullState } from "./pull";
import { TerminalSession } from "./session";

/** An Enter that was meant for the program must not start it again at once. */
const ENTER_AFTER_MS = 800;

export const SETTINGS_BEFORE_LOADED: Settings = { theme: "system", font_size: 13, at_exit: "ask", scrollback: 5000, clipboard_write: "ask" };

interface Props { agent: Agent; run: Run; focused: boolean; visible: boolean }

export function TerminalView({ agent, run, focused, visible }: Props) {
  const app = useApp();
  const settings = useQuery(app.settings).data ?? SETTINGS_BEFORE_LOADED;
  const scheme = useScheme(settings.theme);
  const element = useRef<HTMLDivElement>(null);
  const session = useRef<TerminalSession | null>(null);
  const endedAt = useRef(0);
  const [pull, setPull] = useState<PullState>({ kind: "attaching" });
  const [search, setSearch] = useState<{ index: number; count: number } | null>(null);
  const [url, setUrl] = useState<string | null>(null);
  const [paste, setPaste] = useState<string | null>(null);
  const [copies, setCopies] = useState<string | null>(null);

  const startAgain = () => void app.startAgent(agent.id, app.lastSize);
  const pulled = useEffectEvent((state: PullState) => {
    if (state.kind === "ended") {
      endedAt.current = performance.now();
      // How it ended stands in the agent's run, and that may be known here before the feed says so.
      void app.agents.refresh();
    }
    setPull(state);
  });
  const programCopies = useEffectEvent((text: string) => {
    if (settings.clipboard_write === "deny") return;
    if (settings.clipboard_write === "ask") setCopies(text);
    // Without a user's gesture the web view may refuse; then the question gives it one.
    else app.backend.writeClipboard(text).catch(() => setCopies(text));
  });
  const failed = useEffectEvent((error: BackendError | string) => app.report(error, typeof error === "string" ? undefined : `${agent.name}:`));
  const sized = useEffectEvent((size: { cols: number; rows: number }) => {
    if (focused) app.lastSize = size;
  });
  const enterAfterEnd = useEffectEvent(() => {
    if (performance.now() - endedAt.current > ENTER_AFTER_MS) startAgain();
  });

  useEffect(() => {
    const opened = new TerminalSession(app.backend, run.id, isLive(run), { font_size: settings.font_size, scrollback: settings.scrollback, scheme }, {
      pulled, failed, programCopies, sized, enterAfterEnd,
      askPaste: setPaste,
      openSearch: () => setSearch((open) => open ?? { index: -1, count: 0 }),
      openUrl: (link) => void app.openUrl(link),
      hoverUrl: setUrl,
      searched: (found) => setSearch((open) => open && found),
    });
    session.current = opened;
    opened.open(element.current!);
    if (focused) opened.focus();
    return () => {
      session.current = null;
      opened.close();
    };
    // One session per run; what else changes is handed to it below.
  }, [app, run.id]);

  useEffect(() => {
    session.current?.setLook({ font_size: settings.font_size, scrollback: settings.scrollback, scheme });
  }, [settings.font_size, settings.scrollback, scheme]);
  useEffect(() => session.current?.setVisible(visible), [visible]);
  useEffect(() => {
    if (!focused) return;
    session.current?.focus();
    const size = session.current?.terminal;
    if (size) app.lastSize = { cols: size.cols, rows: size.rows };
  }, [focused, app]);

  const closeSearch = () => {
    session.current?.endSearch();
    setSearch(null);
    session.current?.focus();
  };
  const answerPaste = (text: string | null) => {
    setPaste(null);
    if (text !== null) session.current?.pasteAnyway(text);
    session.current?.focus();
  };
  const ended = pull.kind === "gone" || !isLive(run);

  return (
    <div className="terminal-view">
      {search && <SearchBar place="the terminal" found={search} onFind={(text, back, typing) => session.current?.find(text, back, typing)} onClose={closeSearch} />}
      <div className="terminal-box">
        <div className="terminal-host" ref={element} data-testid={ids.terminal} data-pull={pull.kind} role="group" aria-label={`Terminal of ${agent.name}`} />
        {pull.kind === "attaching" && <p className="terminal-status" data-testid={ids.terminalStatus}>Attaching…</p>}
        {pull.kind === "retrying" && (
          <p className="terminal-status warn" role="status" data-testid={ids.terminalStatus}>The terminal does not answer; trying again. {pull.error.message}</p>
        )}
        {url && <p className="terminal-url">Ctrl+click opens {url}</p>}
      </div>
      {copies !== null && <ClipboardConsent agent={agent.name} text={copies} onDone={() => { setCopies(null); session.current?.focus(); }} />}
      {ended && <EndedBar agent={agent} run={run} gone={pull.kind === "gone" ? pull.error : null} onStart={startAgain} />}
      {paste !== null && <PasteQuestion text={paste} onAnswer={answerPaste} />}
    </div>
  );
}
