import { memo, useState } from "react";
import type { Agent, Ask, Message, Task, Turn } from "../../generated/api";
import { useApp } from "../../state/app";
import { askOutcome, isAskOver, isTurnOver, messageKind, turnHeading, turnState } from "../../state/ask-words";
import { Button, IconButton } from "../../shared/Button";
import { usageBrief, usageDetails } from "../../state/usage-words";
import { CopyButton } from "../../shared/CopyButton";
import { Elapsed } from "../../shared/Elapsed";
import { Icon, type IconName } from "../../shared/Icon";
import { LongText } from "../../shared/LongText";
import { Markdown } from "../../shared/Markdown";
import { ids } from "../../shared/testids";
import { ago, plain, shortIds } from "../../shared/text";
import { Children } from "./Children";
import { Steps } from "./Steps";

interface Props {
  agent: Agent;
  turn: Turn;
  /** The ask that the turn serves, where it is known. */
  ask: Ask | undefined;
  /** Of the ask's work, what is known better than by the ask. */
  tasks: ReadonlyMap<string, Task>;
  /** The messages that it carries, where they are known. */
  messages: readonly Message[];
  /** The latest turn of its ask, which shows what the ask waits for. */
  lastOfAsk: boolean;
  now: number;
  onAskAgain: (prompt: string) => void;
  onOpenUrl: (url: string) => void;
}

export const TurnItem = memo(function TurnItem({ agent, turn, ask, tasks, messages, lastOfAsk, now, onAskAgain, onOpenUrl }: Props) {
  const app = useApp();
  const { word, tone } = turnState(turn);
  const over = isTurnOver(turn);
  const answer = turn.final ?? "";
  const used = usageBrief(turn.usage);
  return (
    <article className={`turn ${turn.state}`} data-testid={ids.turn} data-turn={turn.id} data-state={turn.state} data-kind={turn.kind} aria-label={turnHeading(turn, ask)}>
      <header className="turn-head">
        <Icon name={iconOf(turn, ask)} />
        <b>{turnHeading(turn, ask)}</b>
        <span className="muted" title={new Date(turn.created_ms).toLocaleString()}>{ago(turn.created_ms, now)}</span>
        <span className="grow" />
        {turn.state !== "final" && <span className={`turn-state ${tone}`}>{word}</span>}
        {turn.started_ms !== null && <span className="muted turn-took"><Elapsed since_ms={turn.started_ms} until_ms={over ? turn.ended_ms ?? turn.started_ms : null} /></span>}
        {ask && <IconButton icon="asks" label="Show the ask" onClick={() => void app.showAsk(ask.project, ask.id)} />}
      </header>
      <Carried turn={turn} messages={messages} agent={agent} />
      {!over && <Steps turn={turn} onOpenUrl={onOpenUrl} />}
      {turn.final !== null && <div className="turn-final" data-testid={ids.turnFinal}><Markdown text={answer} onOpenUrl={onOpenUrl} /></div>}
      {over && turn.state !== "final" && <Ending turn={turn} ask={ask} onAskAgain={onAskAgain} />}
      {over && ask && lastOfAsk && ask.children.length > 0 && <Children ask={ask} tasks={tasks} />}
      {over && lastOfAsk && ask && !isAskOver(ask) && ask.waiting_for === "children" && (
        <p className="turn-waits muted" role="status"><Icon name="hourglass" />{askOutcome(ask)}</p>
      )}
      {over && lastOfAsk && turn.state === "final" && ask && (ask.state === "failed" || ask.state === "timed_out") && <Ending turn={turn} ask={ask} onAskAgain={onAskAgain} />}
      {over && (
        <footer className="turn-foot">
          {turn.run !== null && <PastSteps turn={turn} onOpenUrl={onOpenUrl} />}
          {answer !== "" && <CopyButton look="quiet" label="Copy" title="Copy the answer" copy={() => app.copy(answer)} testid={ids.turnCopy} />}
          {used !== null && <span className="muted turn-usage" title={usageDetails(turn.usage!).join("\n")} data-testid={ids.turnUsage}>{used}</span>}
        </footer>
      )}
    </article>
  );
});

function iconOf(turn: Turn, ask: Ask | undefined): IconName {
  if (turn.kind === "wake") return "bell";
  if (turn.kind === "resume") return "retry";
  return turn.kind === "ask" && ask !== undefined && ask.caller !== null ? "asks" : turn.kind === "follow_up" ? "retry" : "person";
}

/** What the turn was told: its prompt; of a wake, the messages in it. */
function Carried({ turn, messages, agent }: { turn: Turn; messages: readonly Message[]; agent: Agent }) {
  const app = useApp();
  if (turn.kind !== "wake" || messages.length === 0) {
    return turn.prompt.trim() === "" ? null : <LongText text={turn.prompt} className="turn-prompt" testid={ids.turnPrompt} />;
  }
  return (
    <div className="turn-prompt" data-testid={ids.turnMessages}>
      <ul>
        {messages.slice(0, 12).map((message) => {
          const { word, icon } = messageKind(message);
          return (
            <li key={message.id} title={word}>
              <Icon name={icon} />
              <LongText text={shortIds(message.text)} lines={3} chars={240} />
            </li>
          );
        })}
      </ul>
      {messages.length > 12 && <button type="button" className="link" onClick={() => void app.showInbox(agent)}>Show all {messages.length} in the inbox</button>}
      <details>
        <summary className="muted">As it was told</summary>
        <LongText text={turn.prompt} />
      </details>
    </div>
  );
}

/** How a turn ended that gave no answer, and what can be done. */
function Ending({ turn, ask, onAskAgain }: { turn: Turn; ask: Ask | undefined; onAskAgain: (prompt: string) => void }) {
  // What ended the ask is the cause; what that did to the turn follows from it.
  const reason = plain((ask !== undefined && isAskOver(ask) ? ask.reason : null) ?? turn.reason ?? "");
  const bad = turn.state === "failed" || turn.state === "final";
  const prompt = ask?.prompt ?? (turn.kind === "ask" ? turn.prompt : null);
  return (
    <div className={`turn-ending ${bad ? "bad" : ""}`} role={bad ? "alert" : "status"} data-testid={ids.turnReason}>
      <Icon name={bad ? "warn" : "info"} />
      <div className="grow">
        <p>{turn.state === "final" ? `The ask ${ask?.state === "timed_out" ? "timed out" : "failed"}` : HEADS[turn.state] ?? "It ended"}{reason === "" ? "." : `: ${reason}`}</p>
        {turn.state === "limited" && <p className="hint">It goes on by itself when the limit is over.</p>}
      </div>
      {prompt !== null && turn.state !== "limited" && (ask === undefined || isAskOver(ask)) && <Button icon="retry" onClick={() => onAskAgain(prompt)}>Ask again…</Button>}
    </div>
  );
}

const HEADS: Partial<Record<Turn["state"], string>> = {
  failed: "The turn failed", interrupted: "The turn was cut short", limited: "The turn was stopped by a session limit",
};

function PastSteps({ turn, onOpenUrl }: { turn: Turn; onOpenUrl: (url: string) => void }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" icon={open ? "down" : "right"} aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Hide the steps" : "Steps"}</Button>
      {open && <div className="turn-past"><Steps turn={turn} onOpenUrl={onOpenUrl} /></div>}
    </>
  );
}
