import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { plural } from "../../shared/text";
import { ids } from "../../shared/testids";
import { lineCount } from "./clipboard";

const SHOWN_CHARS = 2000;

interface Props { text: string; onAnswer: (text: string | null) => void }

/** Asked before text with line ends goes to a program that would take each of them as Enter. */
export function PasteQuestion({ text, onAnswer }: Props) {
  const lines = lineCount(text);
  const asOne = text.replace(/[\r\n]+$/, "").replace(/\s*[\r\n]+\s*/g, " ");
  return (
    <Dialog title={lines === 1 ? "Paste with the line break?" : `Paste ${plural(lines, "line")}?`} width="medium" alert
      testid={ids.pasteDialog} onClose={() => onAnswer(null)} onSubmit={() => onAnswer(text)}
      footer={<>
        <Button onClick={() => onAnswer(null)}>Cancel</Button>
        <Button onClick={() => onAnswer(asOne)}>{lines === 1 ? "Without the line break" : "As one line"}</Button>
        <Button look="primary" type="submit" data-autofocus testid={ids.pasteConfirm}>Paste</Button>
      </>}>
      <p>The program in this pane takes each line break as Enter, so what you paste runs at once.</p>
      <pre className="paste-text">{text.slice(0, SHOWN_CHARS)}{text.length > SHOWN_CHARS ? "…" : ""}</pre>
    </Dialog>
  );
}
