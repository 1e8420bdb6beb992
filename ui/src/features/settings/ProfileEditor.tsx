import { type KeyboardEvent, useRef, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Profile, ProfileTested } from "../../generated/api";
import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { Elapsed } from "../../shared/Elapsed";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { plain, readable } from "../../shared/text";
import { ACCOUNTS, changeOf, type Draft, draftOf, problemOf } from "./draft";
import { PolicyFields } from "./PolicyFields";
import { Variables } from "./Variables";

/** Changes one profile. Agents that run already go on as they were begun. */
export function ProfileEditor({ profile, onBack }: { profile: Profile; onBack: () => void }) {
  const app = useApp();
  const [draft, setDraft] = useState<Draft>(() => draftOf(profile));
  const [busy, setBusy] = useState<"saving" | "testing" | null>(null);
  const [said, setSaid] = useState<ProfileTested | null>(null);
  const [since_ms, setSince] = useState(0);
  const [error, setError] = useState<BackendError | null>(null);
  const stopped = useRef(false);
  const account = ACCOUNTS[profile.adapter];
  const change = changeOf(profile, draft);
  const problem = problemOf(profile, draft);

  const edit = (part: Partial<Draft>) => {
    setDraft((old) => ({ ...old, ...part }));
    setSaid(null);
    setError(null);
  };
  const store = async () => {
    if (!change) return;
    const stored = await app.backend.call("profile_set", change);
    await app.profiles.refresh();
    setDraft(draftOf(stored));
  };
  const run = async (work: "saving" | "testing", call: () => Promise<ProfileTested | null>) => {
    if (busy !== null || problem !== null) return;
    setBusy(work);
    setSince(Date.now());
    setError(null);
    setSaid(null);
    try {
      await store();
      setSaid(await call());
    } catch (reason) {
      // Whoever stopped the test knows why it ended.
      if (!stopped.current) setError(toBackendError(reason));
    }
    stopped.current = false;
    setBusy(null);
  };
  const save = () => void run("saving", () => Promise.resolve({ said: "Saved. Agents that run already go on as they were begun.", output: "", is_well: true }));
  const test = () => void run("testing", () => app.backend.call("profile_test", { profile: profile.id }));
  const stop = () => {
    stopped.current = true;
    void app.backend.call("profile_test_stop", { profile: profile.id }).catch((reason: unknown) => {
      stopped.current = false;
      app.report(reason, "The test could not be stopped.");
    });
  };
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.defaultPrevented || !(event.target instanceof HTMLInputElement) || event.target.type === "radio") return;
    event.preventDefault();
    if (change) save();
  };

  return (
    <div className="profile-editor" data-testid={ids.profileEditor} data-name={profile.name} onKeyDown={keyDown}>
      <div className="profile-editor-head">
        <Button look="quiet" icon="left" onClick={onBack} testid={ids.profileBack}>Profiles</Button>
        <p className="grow clip"><strong>{plain(profile.name)}</strong> <span className="muted">{[profile.adapter === profile.name ? null : profile.adapter, profile.version].filter(Boolean).join(" ")}</span></p>
      </div>
      <div className="add-profile-fields">
        <label className="field"><span>Program</span>
          <input className="input mono" value={draft.program} aria-invalid={draft.program.trim() === ""} spellCheck={false} autoComplete="off" onChange={(event) => edit({ program: event.target.value })} data-testid={ids.profileProgram} />
        </label>
        <label className="field"><span>Arguments</span>
          <input className="input mono" value={draft.args} placeholder={'--flag "two words"'} spellCheck={false} autoComplete="off" onChange={(event) => edit({ args: event.target.value })} data-testid={ids.profileArgs} />
        </label>
      </div>
      {account && <Account name={account.name} note={account.note} isSet={profile.env_names.includes(account.name)} draft={draft} onChange={edit} />}
      <Variables names={profile.env_names.filter((name) => name !== account?.name)} draft={{ ...draft, added: draft.added.filter(({ name }) => name !== account?.name) }}
        onChange={(part) => edit(part.added ? { ...part, added: [...draft.added.filter(({ name }) => name === account?.name), ...part.added] } : part)} />
      <label className="field profile-concurrency"><span>Headless turns of its agents at once</span>
        <input className="input" inputMode="numeric" value={draft.concurrency} placeholder="Any number" spellCheck={false} autoComplete="off" onChange={(event) => edit({ concurrency: event.target.value })} data-testid={ids.profileConcurrency} />
      </label>
      <PolicyFields draft={draft} onChange={edit} />
      <div className="profile-editor-foot">
        {error && <ErrorText error={error} />}
        {problem && <p className="bad" role="status">{problem}</p>}
        {busy === "testing" && <p className="muted" role="status" data-testid={ids.profileTesting}>Its program was started; it has a few seconds to say something. <Elapsed since_ms={since_ms} until_ms={null} /></p>}
        {said && <Said {...said} />}
        <div className="profile-editor-buttons">
          {busy === "testing"
            ? <Button icon="stop" autoFocus onClick={stop} testid={ids.profileTestStop}>Stop the test</Button>
            : <Button icon="play" disabled={busy !== null || problem !== null} onClick={test} testid={ids.profileTest} title="Starts its program and shows what it says">{change ? "Save and test" : "Test"}</Button>}
          <span className="grow" />
          {change && <Button disabled={busy !== null} onClick={() => edit(draftOf(profile))}>Undo changes</Button>}
          <Button look="primary" busy={busy === "saving"} disabled={busy !== null || change === null || problem !== null} onClick={save} testid={ids.profileSave}>Save</Button>
        </div>
      </div>
    </div>
  );
}

/** What came of saving or testing, with what the program printed. */
function Said({ said, output, is_well }: ProfileTested) {
  return (
    <div className={`profile-said ${is_well ? "" : "doubtful"}`} role="status" data-testid={ids.profileSaid} data-well={is_well}>
      <Icon name={is_well ? "check" : "warn"} />
      <div className="grow">
        <p className="breakable">{plain(said)}{/[.!?]$/.test(said) ? "" : "."}{!is_well && " Look at what it said, then change what stands above, and test again."}</p>
        {output !== "" && <pre className="profile-output mono" tabIndex={0} aria-label="What the program said" data-testid={ids.profileOutput}>{readable(output)}</pre>}
      </div>
    </div>
  );
}

interface AccountProps { name: string; note: string; isSet: boolean; draft: Draft; onChange: (part: Partial<Draft>) => void }

/** Where the program keeps its log-in: two profiles with two directories are two accounts. */
function Account({ name, note, isSet, draft, onChange }: AccountProps) {
  const app = useApp();
  const [picking, setPicking] = useState(false);
  const value = isSet ? draft.changed[name] : draft.added.find((each) => each.name === name)?.value;
  const put = (text: string) => {
    const { [name]: _, ...rest } = draft.changed;
    const others = draft.added.filter((each) => each.name !== name);
    if (isSet) onChange({ changed: text === "" ? rest : { ...rest, [name]: text } });
    else onChange({ added: text === "" ? others : [{ key: 0, name, value: text }, ...others] });
  };
  const browse = async () => {
    setPicking(true);
    try {
      const { path } = await app.backend.call("desktop_pick_folder", {});
      if (path !== null) put(path);
    } catch (reason) {
      app.report(reason);
    } finally {
      setPicking(false);
    }
  };
  const goes = isSet && value === null;
  return (
    <div className="field">
      <label htmlFor="profile-account" className="muted account-label">Account directory <span className="mono">{name}</span></label>
      <span className="field-row">
        <input id="profile-account" className="input mono" value={goes ? "" : value ?? ""} disabled={goes} placeholder={goes ? "Its usual place, when you save" : isSet ? "Set; it is not shown" : "Its usual place"} spellCheck={false} autoComplete="off" onChange={(event) => put(event.target.value)} data-testid={ids.profileAccount} />
        <Button icon="folder" busy={picking} disabled={goes} onClick={() => void browse()}>Browse…</Button>
        {isSet && <Button onClick={() => (goes ? put("") : onChange({ changed: { ...draft.changed, [name]: null } }))}>{goes ? "Keep it" : "Use the usual"}</Button>}
      </span>
      <span className="muted account-note">{note}</span>
    </div>
  );
}
