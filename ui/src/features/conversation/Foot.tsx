// What stands under the turns: what the agent waits for, what it needs, and the field to ask it.

import { type Ref, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Agent, Turn } from "../../generated/api";
import { useApp } from "../../state/app";
import { isUp, wakeWords } from "../../state/ask-words";
import { useAwaited } from "../../state/awaited";
import { useStore } from "../../state/store";
import { Button } from "../../shared/Button";
import { Composer } from "../../shared/Composer";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { capital, plain } from "../../shared/text";

interface Props {
  agent: Agent;
  /** The turn that the agent is at. */
  current: Turn | undefined;
  field: Ref<HTMLTextAreaElement>;
  onSent: () => void;
  now: number;
}

export function Foot({ agent, current, field, onSent, now }: Props) {
  const app = useApp();
  useStore(app.conversations.drafts);
  const draft = app.conversations.draft("ask", agent.id);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);
  const view = useStore(app.view);
  const name = plain(agent.name);
  const failure = view.failures[agent.id];
  const starting = view.busy[agent.id] === "starting";

  const send = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await app.ask(agent);
      onSent();
    } catch (reason) {
      setError(toBackendError(reason));
    } finally {
      setBusy(false);
    }
  };
  const start = async () => {
    setError(null);
    await app.startAgent(agent.id);
  };

  return (
    <div className="conversation-foot">
      <Awaits agent={agent} />
      <Notice agent={agent} now={now} />
      {(error ?? failure) && (
        <div className="foot-error">
          <ErrorText error={(error ?? failure)!} />
          {(error?.code === "refused" || failure) && !isUp(agent) && <Button icon="play" busy={starting} onClick={() => void start()} testid={ids.composerStart}>Start {name}</Button>}
        </div>
      )}
      <Composer ref={field} label={`Ask ${name}`} placeholder={current ? `Ask ${name}; it is answered after what it is at` : `Ask ${name}`} value={draft} busy={busy} sendWord="Ask"
        testid={ids.composer} sendTestid={ids.composerSend} onSend={() => void send()}
        onChange={(text) => { app.conversations.setDraft("ask", agent.id, text); setError(null); }}>
        {current && <StopButton agent={agent} turn={current} />}
      </Composer>
    </div>
  );
}

/** Ends what the agent is at: the ask that its turn serves, or, when nobody asked, the agent's turn. */
function StopButton({ agent, turn }: { agent: Agent; turn: Turn }) {
  const app = useApp();
  const asks = useStore(app.asks.state)[agent.project]?.items;
  const cancelling = useStore(app.asks.cancelling);
  const busy = useStore(app.view).busy[agent.id];
  const ask = turn.ask === null ? undefined : asks?.find(({ id }) => id === turn.ask);
  if (ask) {
    return <Button icon="stop" busy={cancelling.has(ask.id)} onClick={() => app.askToCancel(ask)} title="Cancel what it is at" testid={ids.turnStop}>Cancel</Button>;
  }
  return <Button icon="stop" busy={busy === "stopping"} onClick={() => void app.stopAgent(agent.id)} title={`Stop ${plain(agent.name)}; it is not woken until it is started`} testid={ids.turnStop}>Stop</Button>;
}

/** "Waiting for 2 tasks", each with the way to it. */
function Awaits({ agent }: { agent: Agent }) {
  const app = useApp();
  const { words, awaited } = useAwaited(agent);
  if (words === null) return null;
  return (
    <div className="foot-line" role="status" data-testid={ids.conversationAwaits}>
      <Icon name="hourglass" />
      <span className="foot-words">{capital(words)}</span>
      <span className="foot-links">
        {awaited.slice(0, 4).map(({ id, name }) => (
          <button key={id} type="button" className="link clip" data-testid={ids.conversationAwaited} onClick={() => app.showAwaited(agent.project, id)}>{name}</button>
        ))}
        {awaited.length > 4 && <span className="muted">and {awaited.length - 4} more</span>}
      </span>
    </div>
  );
}

/** What the agent needs from somebody. */
function Notice({ agent, now }: { agent: Agent; now: number }) {
  const app = useApp();
  const starting = useStore(app.view).busy[agent.id] === "starting";
  const wake = wakeWords(agent, now);
  if (agent.state === "needs_attention") {
    return (
      <div className="foot-line attention" role="alert">
        <Icon name="warn" />
        <span className="grow">{plain(agent.name)} sits on a prompt of its own, which cannot be answered here. Cancel what it is at, or let its profile allow what it asks for.</span>
      </div>
    );
  }
  if (wake && agent.wake?.given_up) {
    return (
      <div className="foot-line bad" role="alert" data-testid={ids.inboxWake}>
        <Icon name="warn" />
        <span className="grow">{wake.title} <span className="muted">{wake.next}</span></span>
        <Button icon="play" busy={starting} onClick={() => void app.startAgent(agent.id)} testid={ids.inboxStart}>{isUp(agent) ? "Try again" : `Start ${plain(agent.name)}`}</Button>
      </div>
    );
  }
  if (agent.state === "limited") {
    const until = agent.limited_until_ms;
    return (
      <div className="foot-line limited" role="status">
        <Icon name="clock" />
        <span className="grow">A session limit holds{until === null ? "; when it ends is unknown" : ` until ${new Date(until).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`}. What you ask waits, and is not lost.</span>
      </div>
    );
  }
  return null;
}
