import { type KeyboardEvent, useState } from "react";
import type { Profile } from "../../generated/api";
import { Button } from "../../shared/Button";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { isBroad } from "./beginnings";

interface Props {
  beginnings: { choices: string[]; usual: number };
  profile: Profile;
  busy: boolean;
  onAllow: (prefix: string) => void;
  onClose: () => void;
}

/** Says beforehand what is allowed for good, to whom, and how it is taken back. */
export function AlwaysAllow({ beginnings: { choices, usual }, profile, busy, onAllow, onClose }: Props) {
  const [at, setAt] = useState(usual);
  const prefix = choices[at]!;
  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : event.key === "ArrowLeft" || event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Escape") onClose();
    else if (step !== 0) setAt(Math.min(choices.length - 1, Math.max(0, at + step)));
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement && !event.repeat && !busy) onAllow(prefix);
    else {
      // The keys of the list decide about a command; here none of them is meant.
      if (event.key.length === 1) event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <fieldset className="always-allow" onKeyDown={keyDown} onClick={(event) => event.stopPropagation()}>
      <legend>Always allow commands that begin with</legend>
      <div className="always-choices">
        {choices.map((choice, index) => (
          <label key={choice} className={`always-choice mono ${index === at ? "picked" : ""}`} data-testid={ids.approvalPrefix} data-prefix={choice}>
            <input type="radio" name="beginning" checked={index === at} autoFocus={index === usual} onChange={() => setAt(index)} />
            <span>{choice}</span>
          </label>
        ))}
      </div>
      <p className="muted">For all agents of the profile {plain(profile.name)}, without asking, in any directory. Lines with signs of the shell are asked for all the same. You take it back in the settings of the profile.</p>
      {isBroad(prefix) && <p className="approval-warn">With this an agent can run anything: {prefix.split(" ")[0]} runs whatever it is given.</p>}
      <div className="approval-buttons">
        <Button look="primary" icon="check" busy={busy} onClick={() => onAllow(prefix)} testid={ids.approvalAlwaysYes}>Always allow, and run</Button>
        <Button disabled={busy} onClick={onClose}>Back</Button>
      </div>
    </fieldset>
  );
}
