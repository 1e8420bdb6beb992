// What else can be said of a new agent: how one works with it, what it is told to be, and where it works.

import { useState } from "react";
import type { AgentMode } from "../../generated/api";
import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";

export type Where = "root" | "new" | "other";

export interface Fields { role: string; where: Where; workdir: string }

/** As a new agent is asked for: nothing stands for the project's root. */
export function workdirOf({ where, workdir }: Fields): string {
  return where === "root" ? "" : where === "new" ? "new" : workdir.trim();
}

const MODES: { mode: AgentMode; title: string; note: string }[] = [
  { mode: "terminal", title: "Terminal", note: "The program in a pane, as in any terminal." },
  { mode: "headless", title: "Headless", note: "A conversation: you ask, it answers when it is done." },
];

const PLACES: { where: Where; title: string; note: string }[] = [
  { where: "root", title: "Your checkout", note: "The project's root, beside you." },
  { where: "new", title: "New workdir", note: "A branch and a worktree of its own." },
  { where: "other", title: "Another directory", note: "One that you choose." },
];

interface Props {
  name: string;
  mode: AgentMode;
  onMode: (mode: AgentMode) => void;
  fields: Fields;
  onFields: (part: Partial<Fields>) => void;
}

export function AgentFields({ name, mode, onMode, fields, onFields }: Props) {
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
      <fieldset className="modes places">
        <legend className="muted">Where it works</legend>
        {PLACES.map((each) => (
          <label key={each.where} className={`mode ${each.where === fields.where ? "picked" : ""}`} data-testid={ids.addAgentWhere} data-where={each.where}>
            <input type="radio" name="where" checked={each.where === fields.where} onChange={() => onFields({ where: each.where })} />
            <span><b>{each.title}</b> <span className="muted">{each.note}</span></span>
          </label>
        ))}
      </fieldset>
      {fields.where === "new" && <p className="muted place-note">It makes the branch <code className="mono">carillon/{plain(name.trim()) || "…"}</code>, and a worktree for it in Carillon's own directory. Its set-up runs as a task, where the project's <code className="mono">carillon.toml</code> names one.</p>}
      {fields.where === "other" && (
        <label className="field">
          <span>Directory that it works in</span>
          <span className="field-row">
            <input className="input mono" value={fields.workdir} placeholder="/home/you/src/project" spellCheck={false} autoComplete="off" data-testid={ids.addAgentWorkdir}
              onChange={(event) => onFields({ workdir: event.target.value })} />
            <Button icon="folder" busy={picking} onClick={() => void browse()}>Browse…</Button>
          </span>
        </label>
      )}
      <details className="more-fields" data-testid={ids.addAgentMore}>
        <summary>Role{fields.role.trim() === "" && <span className="muted"> · none</span>}</summary>
        <label className="field more-inside">
          <span>What it is told to be</span>
          <textarea className="input" rows={3} value={fields.role} placeholder="You review changes. You say what is wrong and leave the mending to others." data-testid={ids.addAgentRole}
            onChange={(event) => onFields({ role: event.target.value })} />
        </label>
      </details>
    </>
  );
}
