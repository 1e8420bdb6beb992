import { useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { AdapterName, Profile } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { Button, IconButton } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { splitArguments } from "./arguments";

const ADAPTERS: [AdapterName, string][] = [
  ["plain", "Any program"], ["claude", "Claude Code"], ["codex", "Codex"], ["gemini", "Gemini CLI"], ["opencode", "OpenCode"], ["acp", "Agent Client Protocol"],
];

export function ProfilesPage() {
  const app = useApp();
  const { data: profiles, error } = useQuery(app.profiles);
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
        {profiles?.map((profile) => (
          <li key={profile.id} className="profile" data-testid={ids.profileRow} data-name={profile.name}>
            <div className="profile-text">
              <p><strong>{profile.name}</strong> <span className="muted">{[profile.adapter === profile.name ? null : profile.adapter, profile.version].filter(Boolean).join(" ")}</span></p>
              <p className="mono muted clip" title={[profile.program, ...profile.args].join(" ")}>{[profile.program, ...profile.args].join(" ")}</p>
            </div>
            {asked === profile.id
              ? <>
                  <Button look="danger" onClick={() => void remove(profile)}>Remove</Button>
                  <Button onClick={() => setAsked(null)}>Keep</Button>
                </>
              : <IconButton icon="trash" label={`Remove ${profile.name}`} onClick={() => setAsked(profile.id)} testid={ids.profileRemove} />}
          </li>
        ))}
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
