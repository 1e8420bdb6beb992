// What waits for an agent and what it was told: its messages, newest first, and a field to leave it a note.

import { type KeyboardEvent, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import "./inbox.css";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Agent, Id, Message } from "../../generated/api";
import { useApp } from "../../state/app";
import { isUp, wakeWords } from "../../state/ask-words";
import { openPanel, panesOf } from "../../state/layout";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { useWatched } from "../../state/watched";
import { Button } from "../../shared/Button";
import { Composer } from "../../shared/Composer";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { useNow } from "../../shared/hooks";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { MessageRow } from "./MessageRow";

/** Messages that are drawn at once; of a longer inbox the rest comes when it is asked for. */
const STEP = 100;

interface Props {
  project: Id;
  /** Gives the keyboard back to the panes. */
  onLeave: () => void;
}

/** The agent whose inbox is on show: the chosen one, else that of the pane with the focus, else one for which something waits. */
function useShownAgent(project: Id): { agents: Agent[]; agent: Agent | undefined } {
  const app = useApp();
  const agents = useQuery(app.agents).data?.filter((agent) => agent.project === project) ?? [];
  const chosen = useStore(app.view).chosenInbox[project];
  const layout = useStore(app.layouts.state)[project];
  const inPane = layout && panesOf(layout.root).find(({ id }) => id === layout.focused)?.agent;
  const agent = agents.find(({ id }) => id === chosen) ?? agents.find(({ id }) => id === inPane) ?? agents.find(({ queued }) => queued > 0) ?? agents[0];
  return { agents, agent };
}

export function InboxPanel({ project, onLeave }: Props) {
  const app = useApp();
  const { agents, agent } = useShownAgent(project);
  const box = useRef<HTMLDivElement>(null);
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    const list = box.current?.querySelector<HTMLElement>("[data-panel-list]");
    if (list && !(event.target as Element).closest(".messages")) list.focus();
    else onLeave();
  };
  // The choice stays when the focus goes to another pane.
  useEffect(() => {
    if (agent) app.chooseInbox(project, agent.id);
  }, [app, project, agent?.id]);
  if (!agent) {
    return (
      <div className="inbox" ref={box} data-testid={ids.inboxPanel} onKeyDown={keyDown}>
        <div className="inbox-empty muted" data-panel-list tabIndex={-1}>
          <p>Each agent has an inbox. This project has no agent yet.</p>
          <Button icon="plus" onClick={() => app.open({ kind: "add_agent", project, beside: true })}>Add agent</Button>
        </div>
      </div>
    );
  }
  return (
    <div className="inbox" ref={box} data-testid={ids.inboxPanel} data-agent={agent.name} onKeyDown={keyDown}>
      <div className="inbox-head">
        <label className="inline-field grow">
          <span>Inbox of</span>
          <select className="input grow" value={agent.id} onChange={(event) => app.chooseInbox(project, event.target.value)} data-testid={ids.inboxAgent}>
            {agents.map((each) => <option key={each.id} value={each.id}>{plain(each.name)}{each.queued > 0 ? ` (${each.queued} queued)` : ""}</option>)}
          </select>
        </label>
      </div>
      <Inbox key={agent.id} agent={agent} />
    </div>
  );
}

function Inbox({ agent }: { agent: Agent }) {
  const app = useApp();
  const { data, error, loading } = useWatched(app.conversations.inboxes, agent.id);
  const [most, setMost] = useState(STEP);
  const list = useRef<HTMLDivElement>(null);
  const now = useNow(5_000);
  const messages = useMemo(() => [...(data ?? [])].sort((a, b) => b.created_ms - a.created_ms || (a.id < b.id ? 1 : -1)), [data]);
  const [at, setAt] = useState<Id | null>(null);
  const index = messages.findIndex(({ id }) => id === at);
  const open = useEffectEvent((message: Message) => {
    if (message.about === null) return;
    if (message.kind === "task_ended") void app.showTask(agent.project, message.about);
    else void app.showAsk(agent.project, message.about);
  });
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView?.({ block: "nearest" });
  }, [at]);
  const keyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = Math.min(most, messages.length) - 1;
    const to = event.key === "ArrowDown" ? Math.min(last, index + 1) : event.key === "ArrowUp" ? Math.max(0, index - 1) : event.key === "Home" ? 0 : event.key === "End" ? last : null;
    if (to !== null) setAt(messages[to]?.id ?? null);
    else if (event.key === "Enter" && messages[index]) open(messages[index]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <WakeNotice agent={agent} now={now} />
      {error && <div className="inbox-error"><ErrorText error={error} /><Button busy={loading} onClick={() => void app.conversations.inboxes.of(agent.id).refresh()}>Try again</Button></div>}
      <div className="inbox-room">
        <div className="messages-scroll">
          <div ref={list} className="messages" data-panel-list role="listbox" tabIndex={0} aria-label={`Messages of ${plain(agent.name)}`} aria-activedescendant={index >= 0 ? `message-${at}` : undefined}
            data-testid={ids.inboxList} onKeyDown={keyDown} onFocus={(event) => event.target === event.currentTarget && index < 0 && messages[0] && setAt(messages[0].id)}>
            {messages.slice(0, most).map((message) => (
              <MessageRow key={message.id} message={message} chosen={message.id === at} now={now} onChoose={() => setAt(message.id)} onOpen={() => open(message)} />
            ))}
          </div>
          {messages.length > most && <Button look="quiet" icon="down" className="messages-more" onClick={() => setMost(most + STEP)} testid={ids.inboxMore}>Show {Math.min(STEP, messages.length - most)} more</Button>}
        </div>
        {data?.length === 0 && (
          <div className="inbox-empty muted" data-testid={ids.inboxEmpty}>
            <p>Nothing has come for {plain(agent.name)}. Ends of its tasks, answers to its asks and notes arrive here, and wake it when it is idle.</p>
          </div>
        )}
        {!data && !error && <p className="inbox-empty muted" role="status">Loading…</p>}
      </div>
      <NoteField agent={agent} />
    </>
  );
}

/** A wake that does not work, and what can be done. */
function WakeNotice({ agent, now }: { agent: Agent; now: number }) {
  const app = useApp();
  const busy = useStore(app.view).busy[agent.id];
  const failure = useStore(app.view).failures[agent.id];
  const wake = wakeWords(agent, now);
  if (!wake) return null;
  const { given_up } = agent.wake!;
  return (
    <div className={`wake ${given_up ? "given-up" : ""}`} role={given_up ? "alert" : "status"} data-testid={ids.inboxWake} data-given-up={given_up}>
      <Icon name={given_up ? "warn" : "bell"} />
      <div className="grow">
        <p>{wake.title}</p>
        <p className="muted">{wake.next}</p>
        {failure && <ErrorText error={failure} />}
      </div>
      {given_up && <Button icon={isUp(agent) ? "retry" : "play"} busy={busy === "starting"} onClick={() => void app.startAgent(agent.id)} testid={ids.inboxStart}>{isUp(agent) ? "Try again" : "Start agent"}</Button>}
    </div>
  );
}

function NoteField({ agent }: { agent: Agent }) {
  const app = useApp();
  useStore(app.conversations.drafts);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);
  const send = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await app.conversations.note(agent.id);
    } catch (reason) {
      setError(toBackendError(reason));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="inbox-foot">
      {error && <div className="inbox-error"><ErrorText error={error} /></div>}
      <Composer label={`Note to ${plain(agent.name)}`} placeholder={`Leave ${plain(agent.name)} a note; no answer is waited for`} value={app.conversations.draft("note", agent.id)} busy={busy} sendWord="Send"
        testid={ids.noteText} sendTestid={ids.noteSend} onSend={() => void send()}
        onChange={(text) => { app.conversations.setDraft("note", agent.id, text); setError(null); }} />
    </div>
  );
}

/** In the line under the panes: how much waits for the agents of the project, and the way to it. */
export function InboxStrip({ project, onPress }: { project: Id; onPress: () => void }) {
  const app = useApp();
  const layout = useStore(app.layouts.state)[project];
  const agents = useQuery(app.agents).data?.filter((agent) => agent.project === project) ?? [];
  const queued = agents.reduce((sum, agent) => sum + agent.queued, 0);
  const stuck = agents.some(({ wake }) => wake?.given_up);
  const open = layout !== undefined && openPanel(layout) === "inbox";
  return (
    <button type="button" className="strip-button" aria-pressed={open} title={withKeys(open ? "Hide the inbox" : "Show the inbox", "inbox")} onClick={onPress} data-testid={ids.inboxOpen} data-queued={queued}>
      <Icon name="inbox" />
      Inbox
      <span className={stuck ? "bad" : queued > 0 ? "strip-live" : ""}>{stuck ? "needs a hand" : queued === 0 ? "nothing waits" : `${queued} queued`}</span>
    </button>
  );
}
