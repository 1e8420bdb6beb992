// The conversation with a headless agent, where a terminal would be: its turns, what it is at, what waits for it, and a field to ask it.

import { type KeyboardEvent, useCallback, useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import "./conversation.css";
import type { Agent, Ask, Message, Task, Turn } from "../../generated/api";
import { useApp } from "../../state/app";
import { isTurnOver } from "../../state/ask-words";
import { nothing } from "../../state/listed";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { usageBrief } from "../../state/usage-words";
import { useWatched } from "../../state/watched";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { Foot } from "./Foot";
import { Queue } from "./Queue";
import { TurnItem } from "./TurnItem";

const AT_END_PX = 40;
const NO_TURNS: readonly Turn[] = [];
const NO_MESSAGES: readonly Message[] = [];
const NO_TASKS: readonly Task[] = [];

interface Props { agent: Agent; focused: boolean; visible: boolean }

export function ConversationView({ agent, focused, visible }: Props) {
  const app = useApp();
  const { conversations } = app;
  const { data, error, loading } = useWatched(conversations.turns, agent.id);
  const inbox = useWatched(conversations.inboxes, agent.id).data ?? NO_MESSAGES;
  const asks = (useStore(app.asks.state)[agent.project] ?? nothing<Ask>()).items;
  const tasks = useStore(app.work.state)[agent.project]?.items ?? NO_TASKS;
  const now = useNow();
  const used = usageBrief(agent.usage);
  const field = useRef<HTMLTextAreaElement>(null);

  const turns = useMemo(() => [...(data ?? NO_TURNS)].reverse(), [data]);
  const queued = turns.filter(({ state }) => state === "queued");
  const shown = turns.filter(({ state }) => state !== "queued");
  const askOf = useMemo(() => new Map(asks.map((ask) => [ask.id, ask])), [asks]);
  const taskOf = useMemo(() => new Map(tasks.map((task) => [task.id, task])), [tasks]);
  const messageOf = useMemo(() => new Map(inbox.map((message) => [message.id, message])), [inbox]);
  const lastOfAsk = useMemo(() => new Map(turns.flatMap((turn) => (turn.ask === null ? [] : [[turn.ask, turn.id] as const]))), [turns]);
  const scroll = useStaysAtEnd(`${shown[0]?.id} ${shown.at(-1)?.id} ${queued.length}`, visible);

  useEffect(() => {
    const pane = field.current?.closest("section.pane");
    if (focused && !pane?.contains(document.activeElement) && !document.querySelector('[aria-modal="true"]')) field.current?.focus({ preventScroll: true });
  }, [focused]);

  const openUrl = useCallback((url: string) => void app.openUrl(url), [app]);
  const askAgain = useCallback((prompt: string) => {
    conversations.setDraft("ask", agent.id, prompt);
    field.current?.focus();
  }, [conversations, agent.id]);
  const keyDown = (event: KeyboardEvent) => {
    const page = event.key === "PageUp" ? -1 : event.key === "PageDown" ? 1 : 0;
    if (page === 0 || event.ctrlKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    scroll.by(page * 0.85);
  };

  const first = turns.length >= conversations.mostTurns(agent.id);
  return (
    <div className="conversation" data-testid={ids.conversation} data-agent={agent.name} onKeyDown={keyDown}>
      <div className="conversation-scroll" ref={scroll.box} onScroll={scroll.scrolled} tabIndex={0} role="log" aria-live="off" aria-label={`Conversation with ${plain(agent.name)}`}>
        <div className="conversation-turns" ref={scroll.inside}>
          {first && (
            <Button look="quiet" icon="up" className="conversation-earlier" busy={loading} testid={ids.conversationEarlier}
              onClick={() => { scroll.keepPlace(); void conversations.loadEarlier(agent.id); }}>Earlier turns</Button>
          )}
          {shown.map((turn) => (
            <TurnItem key={turn.id} agent={agent} turn={turn} ask={turn.ask === null ? undefined : askOf.get(turn.ask)} tasks={taskOf} lastOfAsk={turn.ask !== null && lastOfAsk.get(turn.ask) === turn.id}
              messages={messagesOf(turn, messageOf)} now={isTurnOver(turn) ? Math.floor(now / 60_000) * 60_000 + 59_999 : now} onAskAgain={askAgain} onOpenUrl={openUrl} />
          ))}
          {used !== null && turns.length > 0 && (
            <p className="muted conversation-usage"><button type="button" className="link" title="What the agents of the project have used" onClick={() => app.open({ kind: "usage", project: agent.project })} data-testid={ids.conversationUsage}>{plain(agent.name)} has used {used}</button></p>
          )}
          {data && turns.length === 0 && <Beginning agent={agent} />}
          {!data && !error && <p className="muted conversation-loading" role="status">Loading…</p>}
          {error && (
            <div className="conversation-error">
              <ErrorText error={error} />
              <Button onClick={() => void conversations.turns.of(agent.id).refresh()} busy={loading}>Try again</Button>
            </div>
          )}
          {queued.length > 0 && <Queue turns={queued} asks={askOf} now={now} />}
        </div>
      </div>
      {!scroll.atEnd && turns.length > 0 && (
        <Button className="conversation-to-end" icon="toEnd" onClick={scroll.toEnd} testid={ids.conversationToEnd}>To the end</Button>
      )}
      <Foot agent={agent} current={shown.find((turn) => !isTurnOver(turn))} field={field} onSent={scroll.toEnd} now={now} />
    </div>
  );
}

const messageCache = new WeakMap<Turn, { known: ReadonlyMap<string, Message>; messages: readonly Message[] }>();

/** The same list for the same turn and the same inbox, so that a turn is drawn anew only when something of it changed. */
function messagesOf(turn: Turn, known: ReadonlyMap<string, Message>): readonly Message[] {
  if (turn.messages.length === 0) return NO_MESSAGES;
  const cached = messageCache.get(turn);
  if (cached?.known === known) return cached.messages;
  const messages = turn.messages.flatMap((id) => known.get(id) ?? []);
  messageCache.set(turn, { known, messages });
  return messages;
}

function Beginning({ agent }: { agent: Agent }) {
  const profile = useQuery(useApp().profiles).data?.find(({ id }) => id === agent.profile)?.name;
  return (
    <div className="conversation-empty muted" data-testid={ids.conversationEmpty}>
      <p>{plain(agent.name)} has not been asked anything yet.</p>
      <p>Write below what it should do. {profile ? `It works with ${plain(profile)} in ` : "It works in "}<span className="mono breakable">{agent.workdir}</span>, without a terminal, and each question is answered once.</p>
    </div>
  );
}

/** Keeps the end in sight while one stands there, and what one reads in its place otherwise. */
function useStaysAtEnd(content: string, visible: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const inside = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const fromEnd = useRef<number | null>(null);
  const settle = useEffectEvent(() => {
    const element = box.current!;
    if (fromEnd.current !== null) {
      element.scrollTop = element.scrollHeight - fromEnd.current;
      fromEnd.current = null;
    } else if (atEnd) element.scrollTop = element.scrollHeight;
  });
  useLayoutEffect(() => settle(), [content, visible]);
  useEffect(() => {
    const observer = new ResizeObserver(() => settle());
    observer.observe(inside.current!);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return {
    box, inside, atEnd,
    scrolled: () => {
      const { scrollTop, scrollHeight, clientHeight } = box.current!;
      setAtEnd(scrollHeight - scrollTop - clientHeight < AT_END_PX);
    },
    keepPlace: () => {
      fromEnd.current = box.current!.scrollHeight - box.current!.scrollTop;
    },
    toEnd: () => {
      setAtEnd(true);
      box.current!.scrollTop = box.current!.scrollHeight;
    },
    by: (pages: number) => {
      box.current!.scrollTop += pages * box.current!.clientHeight;
    },
  };
}
