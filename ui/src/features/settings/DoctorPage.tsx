import { useCallback, useEffect, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Doctor } from "../../generated/api";
import { useApp } from "../../state/app";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { advice, plural } from "../../shared/text";

const WORDS = { ok: "fine", warn: "look at this", fail: "broken" } as const;

function verdict({ ok, checks }: Doctor): string {
  const notes = checks.filter(({ state }) => state === "warn").length;
  if (!ok) return "Something needs a hand.";
  return notes === 0 ? "All is well." : `Works, with ${plural(notes, "note")}.`;
}

/** Checks what Carillon needs of this machine. */
export function DoctorPage() {
  const app = useApp();
  const [found, setFound] = useState<Doctor | null>(null);
  const [error, setError] = useState<BackendError | null>(null);
  const [busy, setBusy] = useState(false);

  const examine = useCallback(async () => {
    setBusy(true);
    setError(null);
    try {
      setFound(await app.backend.call("doctor", {}));
    } catch (reason) {
      setError(toBackendError(reason));
    }
    setBusy(false);
  }, [app]);
  useEffect(() => void examine(), [examine]);

  return (
    <div data-testid={ids.doctor}>
      <div className="doctor-head">
        <p className="grow" role="status">{busy ? "Examining…" : found ? verdict(found) : ""}</p>
        <Button busy={busy} onClick={() => void examine()} testid={ids.doctorRun}>Examine again</Button>
      </div>
      {error && <ErrorText error={error} />}
      <ul className="checks">
        {found?.checks.map((check) => (
          <li key={check.name} className={`check ${check.state}`} data-testid={ids.doctorCheck} data-state={check.state}>
            <span className="check-mark" role="img" aria-label={WORDS[check.state]} title={WORDS[check.state]}><Icon name={check.state === "ok" ? "check" : "warn"} /></span>
            <div>
              <p><strong>{check.name}</strong></p>
              <p className="muted breakable">{check.detail}</p>
              {check.hint && <p className="hint">{advice(check.hint)}</p>}
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}
