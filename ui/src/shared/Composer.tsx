import { type KeyboardEvent, type ReactNode, type Ref, useLayoutEffect, useRef } from "react";
import "./prose.css";
import { Button } from "./Button";
import type { IconName } from "./Icon";

const HEIGHT_MAX_PX = 220;

interface Props {
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
  onSend: () => void;
  sendWord: string;
  sendIcon?: IconName;
  busy: boolean;
  /** Beside the button that sends. */
  children?: ReactNode;
  testid: string;
  sendTestid: string;
  ref?: Ref<HTMLTextAreaElement>;
}

/** A field for as much text as one likes. Enter sends, with Ctrl, too; Shift+Enter begins a new line. */
export function Composer({ label, placeholder, value, onChange, onSend, sendWord, sendIcon = "send", busy, children, testid, sendTestid, ref }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const element = field.current!;
    element.style.height = "auto";
    // An empty field is one line high; of more text as much is shown as there is room for.
    element.style.height = `${Math.min(HEIGHT_MAX_PX, element.scrollHeight + 2)}px`;
  }, [value]);
  const keyDown = (event: KeyboardEvent) => {
    // While letters are being composed, Enter chooses among them.
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.metaKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat && value.trim() !== "") onSend();
  };
  return (
    <div className="composer">
      <textarea ref={(element) => {
        field.current = element;
        if (typeof ref === "function") ref(element);
        else if (ref) ref.current = element;
      }} className="input" rows={1} aria-label={label} placeholder={placeholder} value={value} data-testid={testid} spellCheck={false}
        onChange={(event) => onChange(event.target.value)} onKeyDown={keyDown} />
      <div className="composer-buttons">
        {children}
        <Button look="primary" icon={sendIcon} busy={busy} disabled={value.trim() === ""} onClick={onSend} title={`${sendWord} (Enter)`} testid={sendTestid}>{sendWord}</Button>
      </div>
    </div>
  );
}
