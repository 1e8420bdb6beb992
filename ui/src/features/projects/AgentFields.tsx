// What else can be said of a new agent: how one works with it, what it is told to be, and where it works.

import { useState } from "react";
import type { AgentMode } from "../../generated/api";
import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { ids } from "../../shared/testids";

export interface Fields { role: string; workdir: string }

const MODES: { mode: AgentMode; title: string; note: string }[] = [
  { mode: "terminal", title: "Terminal", note: "The program in a pane, as in any terminal." },
  { mode: "headless", title: "Headless", note: "A conversation: you ask, it answers when it is done." },
];

interface Props {
  mode: AgentMode;
  onMode: (mode: AgentMode) => void;
  fields: Fields;
  onFields: (part: Partial<Fields>) => void;
}

export function AgentFields({ mode, onMode, fields, onFields }: Props) {
  const app = useApp();
  const [picking, setPicking] = useState(false);
  const browse = async () => {
    setPicking(true);
    try {
      const { path } = await app.backend.call("desktop_pick_folder", {});
      if (path !== null) onFields({ workdir: path });
    } catch (reason) {
      app.report(reason);
    } finally {
      setPicking(false);
    }
  };
  return (
    <>
      <fieldset className="modes">
        <legend className="muted">How you work with it</legend>
        {MODES.map((each) => (
          <label key={each.mode} className={`mode ${each.mode === mode ? "picked" : ""}`} data-testid={ids.addAgentMode} data-mode={each.mode}>
            <input type="radio" name="mode" checked={each.mode === mode} onChange={() => onMode(each.mode)} />
            <span><b>{each.title}</b> <span className="muted">{each.note}</span></span>
          </label>
        ))}
      </fieldset>
      <details className="more-fields" data-testid={ids.addAgentMore}>
        <summary>Role and directory{fields.role.trim() !== "" || fields.workdir.trim() !== "" ? "" : <span className="muted"> · none, the project's root</span>}</summary>
        <div className="more-inside">
          <label className="field">
            <span>Role: what it is told to be</span>
            <textarea className="input" rows={3} value={fields.role} placeholder="You review changes. You say what is wrong and leave the mending to others." data-testid={ids.addAgentRole}
              onChange={(event) => onFields({ role: event.target.value })} />
          </label>
          <label className="field">
            <span>Directory that it works in</span>
            <span className="field-row">
              <input className="input mono" value={fields.workdir} placeholder="The project's root" spellCheck={false} autoComplete="off" data-testid={ids.addAgentWorkdir}
                onChange={(event) => onFields({ workdir: event.target.value })} />
              <Button icon="folder" busy={picking} onClick={() => void browse()}>Browse…</Button>
            </span>
          </label>
        </div>
      </details>
    </>
  );
}
