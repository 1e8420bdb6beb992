// What the desktop shell keeps, not the engine: starting with the session, and updates. No change of it is told, so it is read when the
// page opens and after each write.

import { useCallback, useEffect, useState } from "react";
import { type Answer, type BackendError, type Method, type Params, toBackendError, type Updates } from "../../backend/backend";
import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { Row, Switch } from "./Row";

/** What `read` answers, and calls that answer the same. A call that failed leaves what was there, with its reason. */
function useDesktop<M extends Method>(read: M) {
  const app = useApp();
  const [data, setData] = useState<Answer<M> | null>(null);
  const [error, setError] = useState<BackendError | null>(null);
  const [busy, setBusy] = useState<Method | null>(null);
  const call = useCallback(async <C extends Method>(method: C, params: Params<C>) => {
    setBusy(method);
    setError(null);
    try {
      setData((await app.backend.call(method, params)) as unknown as Answer<M>);
    } catch (reason) {
      setError(toBackendError(reason));
    }
    setBusy(null);
  }, [app]);
  useEffect(() => void call(read, {} as Params<M>), [call, read]);
  return { data, error, busy, call };
}

export function AutostartRow() {
  const { data, error, call } = useDesktop("desktop_autostart");
  return (
    <>
      <Row title="Start with the session" note="Carillon opens when you log in.">
        {data && <Switch on={data.on} label="Start with the session" testid={ids.settingsAutostart} onChange={(on) => void call("desktop_set_autostart", { on })} />}
      </Row>
      {error && <ErrorText error={error} />}
    </>
  );
}

export function UpdateRows() {
  const { data, error, busy, call } = useDesktop("desktop_updates");
  const set = (change: Params<"desktop_set_updates">) => void call("desktop_set_updates", change);
  return (
    <div data-testid={ids.settingsUpdates}>
      <Row title="Look for updates" note="Off, nobody is asked. On, the address below is asked once a day.">
        {data && <Switch on={data.on} label="Look for updates" testid={ids.settingsUpdatesOn} onChange={(on) => set({ on })} />}
      </Row>
      {data?.on && (
        <div className="updates">
          <TextField value={data.address} label="Address of the list of versions" hint="https://…/latest.json" testid={ids.settingsUpdatesAddress} onChange={(address) => set({ address })} />
          {!data.has_key && <TextField value={data.key} label="Public key that updates are signed with" hint="RW…" testid={ids.settingsUpdatesKey} onChange={(key) => set({ key })} />}
          <div className="updates-now">
            <Button testid={ids.settingsUpdatesCheck} busy={busy === "desktop_check_updates"} disabled={!isComplete(data) || busy !== null} onClick={() => void call("desktop_check_updates", {})}>Look now</Button>
            {data.found && data.can_install && (
              <Button look="primary" testid={ids.settingsUpdatesInstall} busy={busy === "desktop_install_update"} disabled={busy !== null} onClick={() => void call("desktop_install_update", {})}>
                Install {data.found.version}
              </Button>
            )}
            <p className="muted" role="status" data-testid={ids.settingsUpdatesState}>{busy === "desktop_install_update" ? "Downloading…" : state(data)}</p>
          </div>
          {data.found?.notes && <p className="updates-notes">{data.found.notes}</p>}
        </div>
      )}
      {error && <ErrorText error={error} />}
    </div>
  );
}

const isComplete = ({ address, key }: Updates) => address !== "" && key !== "";

/** What is known, in a sentence. */
function state(updates: Updates): string {
  const { found, installed, checked_ms, can_install, error } = updates;
  if (!isComplete(updates)) return "Say where to look and by which key updates are known.";
  if (found) return can_install ? `Version ${found.version} is there.` : `Version ${found.version} is there. Update Carillon the way it was installed.`;
  if (installed) return `Version ${installed} is in place. It begins with the next start; what runs goes on.`;
  if (error) return `The last look failed: ${error}.`;
  return checked_ms === null ? "Not looked yet." : `No newer version, as of ${new Date(checked_ms).toLocaleString()}.`;
}

interface TextProps { value: string; label: string; hint: string; testid: string; onChange: (value: string) => void }

/** Takes what is typed when the field is left or Enter is pressed. */
function TextField({ value, label, hint, testid, onChange }: TextProps) {
  const take = (input: HTMLInputElement) => {
    const next = input.value.trim();
    if (next !== value) onChange(next);
  };
  return (
    <label className="updates-field">
      <span>{label}</span>
      <input key={value} className="input mono" type="text" defaultValue={value} placeholder={hint} spellCheck={false} autoComplete="off" data-testid={testid}
        onBlur={(event) => take(event.currentTarget)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          take(event.currentTarget);
        }} />
    </label>
  );
}
