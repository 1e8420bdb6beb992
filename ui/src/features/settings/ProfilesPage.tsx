import { useEffect, useRef, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { AdapterName, Id, Profile } from "../../generated/api";
import { useApp } from "../../state/app";
import { limitBadge } from "../../state/limit-words";
import { useQuery } from "../../state/query";
import { Button, IconButton } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { splitArguments } from "./arguments";
import { ProfileEditor } from "./ProfileEditor";

const ADAPTERS: [AdapterName, string][] = [
  ["plain", "Any program"], ["claude", "Claude Code"], ["codex", "Codex"], ["gemini", "Gemini CLI"], ["opencode", "OpenCode"], ["acp", "Agent Client Protocol"],
];

export function ProfilesPage({ edited }: { edited: Id | null }) {
  const app = useApp();
  const profile = useQuery(app.profiles).data?.find(({ id }) => id === edited);
  const before = useRef<Id | null>(null);
  const open = (id: Id | null) => app.open({ kind: "settings", page: "profiles", ...(id === null ? {} : { profile: id }) });
  // Whoever comes back from a profile goes on at its row.
  useEffect(() => {
    if (edited === null && before.current !== null) document.querySelector<HTMLElement>(`[data-profile="${before.current}"] [data-edit]`)?.focus();
    before.current = edited;
  }, [edited]);
  return profile ? <ProfileEditor key={profile.id} profile={profile} onBack={() => open(null)} /> : <Profiles onEdit={open} />;
}

function Profiles({ onEdit }: { onEdit: (profile: Id) => void }) {
  const app = useApp();
  const { data: profiles, error } = useQuery(app.profiles);
  const limits = useQuery(app.limits.all).data;
  const now = useNow();
  const [refused, setRefused] = useState<BackendError | null>(null);
  const [asked, setAsked] = useState<string | null>(null);

  const remove = async (profile: Profile) => {
    setAsked(null);
    setRefused(null);
    try {
      await app.backend.call("profile_remove", { profile: profile.id });
      await app.profiles.refresh();
    } catch (reason) {
      setRefused(toBackendError(reason));
    }
  };

  return (
    <>
      <p className="muted">A profile says how one kind of agent is started.</p>
      {error && <ErrorText error={error} />}
      <ul className="profiles">
        {profiles?.map((profile) => {
          const limit = limits?.find((each) => each.profile === profile.id);
          return (
          <li key={profile.id} className="profile" data-testid={ids.profileRow} data-name={profile.name} data-profile={profile.id}>
            <div className="profile-text">
              <p className="profile-title">
                <strong>{profile.name}</strong> <span className="muted">{[profile.adapter === profile.name ? null : profile.adapter, profile.version].filter(Boolean).join(" ")}</span>
                {limit && <button type="button" className="tag-button" onClick={() => app.open({ kind: "limits" })} title="Show the session limits"><span className="tag limited-tag" data-testid={ids.profileLimited}><Icon name="clock" />{limitBadge(limit, now)}</span></button>}
              </p>
              <p className="mono muted clip" title={[profile.program, ...profile.args].join(" ")}>{[profile.program, ...profile.args].join(" ")}</p>
            </div>
            {asked === profile.id
              ? <>
                  <Button look="danger" onClick={() => void remove(profile)}>Remove</Button>
                  <Button onClick={() => setAsked(null)}>Keep</Button>
                </>
              : <>
                  <Button data-edit onClick={() => onEdit(profile.id)} aria-label={`Edit ${profile.name}`} testid={ids.profileEdit}>Edit…</Button>
                  <IconButton icon="trash" label={`Remove ${profile.name}`} onClick={() => setAsked(profile.id)} testid={ids.profileRemove} />
                </>}
          </li>
          );
        })}
        {profiles?.length === 0 && <li className="muted">There is none yet. Adding an agent from a detected program makes one.</li>}
      </ul>
      {refused && <ErrorText error={refused} />}
      <AddProfile />
    </>
  );
}

function AddProfile() {
  const app = useApp();
  const [name, setName] = useState("");
  const [adapter, setAdapter] = useState<AdapterName>("plain");
  const [program, setProgram] = useState("");
  const [args, setArgs] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);
  const complete = name.trim() !== "" && program.trim() !== "";

  const add = async () => {
    if (!complete || busy) return;
    setBusy(true);
    setError(null);
    try {
      await app.backend.call("profile_add", { name: name.trim(), adapter, program: program.trim(), args: splitArguments(args) });
      await app.profiles.refresh();
      setName("");
      setProgram("");
      setArgs("");
    } catch (reason) {
      setError(toBackendError(reason));
    }
    setBusy(false);
  };

  return (
    <fieldset className="add-profile" onKeyDown={(event) => {
      if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
      event.preventDefault();
      void add();
    }}>
      <legend>Add a profile</legend>
      <div className="add-profile-fields">
        <label className="field"><span>Name</span>
          <input className="input" value={name} onChange={(event) => setName(event.target.value)} data-testid={ids.profileName} spellCheck={false} />
        </label>
        <label className="field"><span>Kind</span>
          <select className="input" value={adapter} onChange={(event) => setAdapter(event.target.value as AdapterName)} data-testid={ids.profileAdapter}>
            {ADAPTERS.map(([key, word]) => <option key={key} value={key}>{word}</option>)}
          </select>
        </label>
        <label className="field"><span>Program</span>
          <input className="input mono" value={program} placeholder="name or path" onChange={(event) => setProgram(event.target.value)} data-testid={ids.profileProgram} spellCheck={false} />
        </label>
        <label className="field"><span>Arguments</span>
          <input className="input mono" value={args} placeholder={'--flag "two words"'} onChange={(event) => setArgs(event.target.value)} data-testid={ids.profileArgs} spellCheck={false} />
        </label>
      </div>
      {error && <ErrorText error={error} />}
      <Button icon="plus" busy={busy} disabled={!complete} onClick={() => void add()} testid={ids.profileAdd}>Add profile</Button>
    </fieldset>
  );
}
