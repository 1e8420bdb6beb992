import type { Message } from "../../generated/api";
import { messageKind, messageState } from "../../state/ask-words";
import { Icon } from "../../shared/Icon";
import { LongText } from "../../shared/LongText";
import { ids } from "../../shared/testids";
import { ago, shortIds } from "../../shared/text";

interface Props { message: Message; chosen: boolean; now: number; onChoose: () => void; onOpen: () => void }

export function MessageRow({ message, chosen, now, onChoose, onOpen }: Props) {
  const kind = messageKind(message);
  const state = messageState(message);
  return (
    <div id={`message-${message.id}`} role="option" aria-selected={chosen} className={`message ${message.state}`} data-testid={ids.message} data-kind={message.kind} data-state={message.state} onClick={onChoose}>
      <div className="message-head">
        <span className="mark"><Icon name={kind.icon} /></span>
        <b>{kind.word}</b>
        <span className={`message-state ${state.tone}`} data-testid={ids.messageState}>{state.word}{message.repeated && ", perhaps for the second time"}</span>
        <span className="grow" />
        <span className="muted" title={new Date(message.created_ms).toLocaleString()}>{ago(message.created_ms, now)}</span>
      </div>
      <LongText text={shortIds(message.text)} lines={5} chars={500} className="message-text" />
      {message.about !== null && (
        <button type="button" className="link message-link" tabIndex={-1} onClick={onOpen} title="Enter" data-testid={ids.messageOpen}>{message.kind === "task_ended" ? "Show the task" : "Show the ask"}</button>
      )}
    </div>
  );
}
