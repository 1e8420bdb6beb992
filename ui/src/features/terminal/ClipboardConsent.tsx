import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { plural } from "../../shared/text";
import { ids } from "../../shared/testids";
import { preview } from "./clipboard";

interface Props { agent: string; text: string; onDone: () => void }

/** A program wants to put text on the clipboard. Nothing happens to the clipboard until the user says so. */
export function ClipboardConsent({ agent, text, onDone }: Props) {
  const app = useApp();
  const allow = async () => {
    onDone();
    try {
      await app.backend.writeClipboard(text);
    } catch (reason) {
      app.report(reason);
    }
  };
  const always = () => {
    void app.saveSettings({ clipboard_write: "allow" });
    void allow();
  };
  return (
    <div className="consent" role="alertdialog" aria-label="Clipboard" data-testid={ids.clipboardConsent}>
      <p>
        <strong>{agent}</strong> wants to put {plural(text.length, "character")} on the clipboard: <q>{preview(text)}</q>
      </p>
      <div className="consent-buttons">
        <Button look="quiet" onClick={onDone} testid={ids.clipboardDeny}>No</Button>
        <Button onClick={always} testid={ids.clipboardAlways}>Always allow</Button>
        <Button look="primary" onClick={() => void allow()} testid={ids.clipboardAllow}>Copy</Button>
      </div>
    </div>
  );
}
