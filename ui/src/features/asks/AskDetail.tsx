import type { Ask } from "../../generated/api";
import { useApp } from "../../state/app";
import { askOutcome, askState, calleeName, callerName, childOutcome, childState, isAskOver } from "../../state/ask-words";
import { titleName } from "../../state/words";
import { useNow } from "../../shared/hooks";
import { Button, IconButton } from "../../shared/Button";
import { Elapsed } from "../../shared/Elapsed";
import { Icon } from "../../shared/Icon";
import { LongText } from "../../shared/LongText";
import { Markdown } from "../../shared/Markdown";
import { ids } from "../../shared/testids";
import { ago, duration, plain, readable } from "../../shared/text";

/** One ask: the question, how it stands, the answer, and what became of its work. */
export function AskDetail({ ask, cancelling, onClose }: { ask: Ask; cancelling: boolean; onClose: () => void }) {
  const app = useApp();
  const now = useNow();
  const { word, tone, icon } = askState(ask, cancelling);
  const over = isAskOver(ask);
  const agent = app.agent(ask.callee);
  const facts = [
    `asked ${ago(ask.created_ms, now)}`,
    ask.deadline_ms !== null && !over ? `times out ${ask.deadline_ms > now ? `in ${duration(ask.deadline_ms - now)}` : "now"}` : null,
    ask.after_children === "follow_up" ? "asked once more when its work is over" : null,
    ask.key !== null ? `key ${plain(ask.key)}` : null,
    ask.delivered === "call" ? "the caller has it" : ask.delivered === "inbox" ? "the caller has it by its inbox" : over && ask.caller !== null ? "not delivered yet" : null,
  ];
  return (
    <section className="ask-detail" aria-label={`Ask to ${calleeName(ask)}`} data-testid={ids.askDetail} data-ask={ask.id} tabIndex={-1}>
      <header className="ask-detail-head">
        <div className="ask-line">
          <span className={`mark ${tone}`} role="img" aria-label={word}><Icon name={icon} /></span>
          <b className="clip">{callerName(ask)} → {calleeName(ask)}</b>
          <span className="muted ask-elapsed"><Elapsed since_ms={ask.created_ms} until_ms={over ? ask.ended_ms ?? ask.created_ms : null} /></span>
          <span className="grow" />
          {agent && <IconButton icon="beside" label={`Show ${calleeName(ask)} (O)`} onClick={() => void app.show(agent, true)} />}
          {!over && <Button look="quiet" icon="stop" busy={cancelling} onClick={() => app.askToCancel(ask)}>Cancel</Button>}
          <IconButton icon="close" label="Back to the list (Esc)" onClick={onClose} testid={ids.askDetailClose} />
        </div>
        <p className={tone === "bad" ? "bad breakable" : "breakable"} role="status">{askOutcome(ask, cancelling)}</p>
        <p className="muted ask-detail-facts">{facts.filter((fact) => fact !== null).join(" · ")}</p>
      </header>
      <div className="ask-detail-body" tabIndex={0} aria-label="Question and answer">
        <h3>Question</h3>
        <LongText text={ask.prompt} lines={12} chars={1_200} />
        {ask.final !== null && (
          <>
            <h3>{ask.state === "answered" ? "Answer" : over ? "What it had answered" : "Answer so far"}</h3>
            <Markdown text={ask.final} onOpenUrl={(url) => void app.openUrl(url)} />
          </>
        )}
        {ask.children.length > 0 && <h3>Its work</h3>}
        {ask.children.map((child) => {
          const said = childState(child.state);
          return (
            <div key={child.id} className="ask-child">
              <button type="button" className="ask-line ask-child-open" onClick={() => void (child.kind === "task" ? app.showLog({ id: child.id, project: ask.project }) : app.showAsk(ask.project, child.id))}
                title={child.kind === "task" ? "Open the log in a pane" : "Show the ask"}>
                <span className={`mark ${said.tone}`} role="img" aria-label={said.word}><Icon name={said.icon} /></span>
                <span className="mono clip">{titleName(child.command)}</span>
                <span className={said.tone === "bad" ? "bad" : "muted"}>{childOutcome(child)}</span>
                {child.duration_ms !== null && <span className="muted ask-elapsed">{duration(child.duration_ms)}</span>}
              </button>
              {child.tail !== null && child.tail.trim() !== "" && <pre className="mono ask-tail">{readable(child.tail).trimEnd()}</pre>}
            </div>
          );
        })}
      </div>
    </section>
  );
}
