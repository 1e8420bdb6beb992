import { type KeyboardEvent, useState } from "react";
import type { Policy } from "../../generated/api";
import { Button, IconButton } from "../../shared/Button";
import { ids } from "../../shared/testids";
import type { Draft } from "./draft";

const POLICIES: readonly { policy: Policy; title: string; note: string }[] = [
  { policy: "ask", title: "Ask me", note: "Each command waits for your word, unless its beginning is allowed." },
  { policy: "allow", title: "Allow", note: "Everything runs at once, whatever the program's own approval mode says." },
  { policy: "never", title: "Never", note: "Background commands are refused." },
];

/** What agents of the profile may run in the background. */
export function PolicyFields({ draft, onChange }: { draft: Draft; onChange: (part: Partial<Draft>) => void }) {
  const [text, setText] = useState("");
  const wanted = text.trim().replace(/\s+/g, " ");
  const add = () => {
    if (wanted === "") return;
    if (!draft.prefixes.includes(wanted)) onChange({ prefixes: [...draft.prefixes, wanted] });
    setText("");
  };
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || wanted === "") return;
    event.preventDefault();
    add();
  };
  return (
    <fieldset className="profile-part">
      <legend>Background commands of its agents</legend>
      <div className="policies">
        {POLICIES.map(({ policy, title, note }) => (
          <label key={policy} className={`policy ${draft.policy === policy ? "picked" : ""}`} data-testid={ids.profilePolicy} data-policy={policy}>
            <input type="radio" name="policy" checked={draft.policy === policy} onChange={() => onChange({ policy })} />
            <span><b>{title}</b> <span className="muted">{note}</span></span>
          </label>
        ))}
      </div>
      {draft.policy === "ask" && (
        <>
          <p className="muted">Commands that begin with these words run without asking:</p>
          {draft.prefixes.length > 0 && (
            <ul className="prefixes">
              {draft.prefixes.map((prefix) => (
                <li key={prefix} data-testid={ids.profilePrefix} data-prefix={prefix}>
                  <code className="mono">{prefix}</code>
                  <IconButton icon="close" label={`Ask again for ${prefix}`} onClick={() => onChange({ prefixes: draft.prefixes.filter((each) => each !== prefix) })} testid={ids.profilePrefixRemove} />
                </li>
              ))}
            </ul>
          )}
          <div className="field-row">
            <input className="input mono" aria-label="Beginning of a command" placeholder="npm test" spellCheck={false} autoComplete="off" value={text} onChange={(event) => setText(event.target.value)} onKeyDown={keyDown} data-testid={ids.profilePrefixText} />
            <Button disabled={wanted === ""} onClick={add} testid={ids.profilePrefixAdd}>Add</Button>
          </div>
        </>
      )}
    </fieldset>
  );
}
