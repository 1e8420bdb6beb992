// Three clicks: the button that opened this, a profile, Start. Or Enter: the first profile that can be started is picked already.

import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { AgentMode, Id } from "../../generated/api";
import { freeName, useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { AgentFields, type Fields, workdirOf } from "./AgentFields";
import { type Choice, choicesOf } from "./choices";

interface Props { project: Id; beside: boolean }

export function AddAgentDialog({ project, beside }: Props) {
  const app = useApp();
  const profiles = useQuery(app.profiles);
  const detected = useQuery(app.detected);
  const agents = useQuery(app.agents).data;
  const projectName = useQuery(app.projects).data?.find(({ id }) => id === project)?.name;
  const [picked, setPicked] = useState<string | null>(null);
  const [typedName, setTypedName] = useState<string | null>(null);
  const [mode, setMode] = useState<AgentMode>("terminal");
  const [fields, setFields] = useState<Fields>({ role: "", where: "root", workdir: "" });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);

  useEffect(() => void app.detected.refresh(), [app]);
  const open = useRef(true);
  useEffect(() => {
    open.current = true;
    return () => {
      open.current = false;
    };
  }, []);

  const choices = useMemo(() => choicesOf(profiles.data ?? [], detected.data ?? null), [profiles.data, detected.data]);
  const usable = choices.filter(({ problem }) => problem === null);
  const choice = usable.find(({ key }) => key === picked) ?? usable[0];
  const taken = useMemo(() => new Set(agents?.filter((agent) => agent.project === project).map(({ name }) => name)), [agents, project]);
  const name = typedName ?? (choice ? freeName(choice.stem, taken) : "");

  const complete = name.trim() !== "" && (fields.where !== "other" || fields.workdir.trim() !== "");

  const pick = (each: Choice) => {
    if (each.key !== choice?.key) setTypedName(null);
    setPicked(each.key);
    setError(null);
  };
  const start = async () => {
    if (!choice?.source || !complete || busy) return;
    setBusy(true);
    setError(null);
    try {
      await app.addAgent({ project, name: name.trim(), profile: choice.source, mode, role: fields.role.trim(), workdir: workdirOf(fields), beside });
    } catch (reason) {
      // Making a worktree may take long enough for the dialog to be closed meanwhile.
      if (!open.current) return app.report(reason, `${name.trim()} could not be added.`);
      setError(toBackendError(reason));
      setBusy(false);
    }
  };

  return (
    <Dialog title={projectName ? `Add an agent to ${projectName}` : "Add an agent"} width="medium" testid={ids.addAgentDialog} onClose={app.closeDialog} onSubmit={() => void start()}
      footer={<>
        <label className="inline-field grow">
          <span>Name</span>
          <input className="input" value={name} disabled={!choice} spellCheck={false} autoComplete="off" data-testid={ids.addAgentName}
            onChange={(event) => { setTypedName(event.target.value); setError(null); }} />
        </label>
        <Button onClick={app.closeDialog}>Cancel</Button>
        <Button look="primary" icon={mode === "terminal" ? "play" : "plus"} type="submit" busy={busy} disabled={!choice || !complete} testid={ids.addAgentStart}>{mode === "terminal" ? "Start" : "Add"}</Button>
      </>}>
      <div className="choices" role="radiogroup" aria-label="What to start" onKeyDown={moveBetweenChoices}>
        {choices.map((each) => (
          <ChoiceItem key={each.key} choice={each} picked={each.key === choice?.key} onPick={() => pick(each)} onStart={() => void start()} />
        ))}
        {detected.loading && <p className="muted looking" role="status"><span className="spinner" aria-hidden="true" /> Looking for agent programs…</p>}
      </div>
      {!detected.loading && detected.error && <ErrorText error={detected.error} />}
      {!detected.loading && choices.every(({ problem }) => problem !== null) && (
        <p className="muted">
          None of the known agent programs was found. Install one of them, or{" "}
          <button type="button" className="link" onClick={() => app.open({ kind: "settings", page: "profiles" })}>add a profile</button> for a program of your own.
        </p>
      )}
      <AgentFields name={name} mode={mode} onMode={setMode} fields={fields} onFields={(part) => { setFields({ ...fields, ...part }); setError(null); }} />
      {busy && fields.where === "new" && <p className="muted" role="status">Making the worktree. It goes on when you close this.</p>}
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}

function ChoiceItem({ choice, picked, onPick, onStart }: { choice: Choice; picked: boolean; onPick: () => void; onStart: () => void }) {
  // A picked choice has nothing left for Enter to do but to start it.
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !picked) return;
    event.preventDefault();
    if (!event.repeat) onStart();
  };
  return (
    <button type="button" role="radio" aria-checked={picked} aria-disabled={choice.problem !== null || undefined} className={`choice ${picked ? "picked" : ""}`}
      data-testid={ids.addAgentChoice} data-name={choice.stem} data-autofocus={picked || undefined} onKeyDown={keyDown} onClick={() => choice.problem === null && onPick()}>
      <span className={`adapter ${choice.adapter}`} aria-hidden="true">{choice.title.slice(0, 1)}</span>
      <span className="choice-text">
        <span className="choice-title">
          {choice.title}
          {choice.version && <span className="muted version">{choice.version}</span>}
        </span>
        <span className="choice-note" title={choice.note}>{choice.note}</span>
        {choice.problem !== null && <span className="choice-problem">{choice.problem}</span>}
        {choice.install && <code className="choice-install">{choice.install}</code>}
      </span>
    </button>
  );
}

/** As in any group of radio buttons, the arrow keys go on to the next choice and pick it. */
function moveBetweenChoices(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="radio"]')];
  const next = all[all.indexOf(document.activeElement as HTMLElement) + step];
  event.preventDefault();
  next?.focus();
  next?.click();
}
