import { useState } from "react";
import "./limits.css";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Limit } from "../../generated/api";
import { useApp } from "../../state/app";
import { limitNext, limitWaiting } from "../../state/limit-words";
import { useQuery } from "../../state/query";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { ago, plain } from "../../shared/text";
import { LimitActions } from "./LimitActions";

/** All limits that hold, with who waits and what can be done. */
export function LimitsDialog() {
  const app = useApp();
  const { data: limits, error, loading } = useQuery(app.limits.all);
  return (
    <Dialog title="Session limits" width="medium" testid={ids.limitsDialog} onClose={app.closeDialog}>
      <p className="muted">A limit belongs to a profile: all its agents wait together, and others go on. Nothing is discarded; when it is over, they go on by themselves, one after the other.</p>
      {error && <div className="limits-error"><ErrorText error={error} /><Button busy={loading} onClick={() => void app.limits.all.refresh()}>Try again</Button></div>}
      {!limits && !error && <p className="muted" role="status">Loading…</p>}
      {limits?.length === 0 && !error && <p data-testid={ids.limitsEmpty} className="limits-none"><Icon name="check" /> No profile is at a limit.</p>}
      <ul className="limits">{limits?.map((limit) => <LimitItem key={limit.profile} limit={limit} />)}</ul>
    </Dialog>
  );
}

function LimitItem({ limit }: { limit: Limit }) {
  const now = useNow(1_000);
  const [refused, setRefused] = useState<BackendError | null>(null);
  return (
    <li className="limit" data-testid={ids.limitRow} data-name={limit.profile_name} data-held={limit.held} data-trying={limit.trying}>
      <p className="limit-head"><span className="mark limited"><Icon name="clock" /></span><strong className="grow">{plain(limit.profile_name)}</strong><span className="muted">since {ago(limit.since_ms, now)}</span></p>
      <p className="limit-next" data-testid={ids.limitNext}>{limitNext(limit, now)}</p>
      <p className="muted">{limitWaiting(limit)}</p>
      {plain(limit.reason) !== "" && <p className="muted breakable">It said: “{plain(limit.reason)}”</p>}
      {refused && <ErrorText error={refused} />}
      <LimitActions limit={limit} onError={(reason) => setRefused(toBackendError(reason))} />
    </li>
  );
}
