import "./limits.css";
import type { Limit } from "../../generated/api";
import { useApp } from "../../state/app";
import { limitNext, limitWaiting } from "../../state/limit-words";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { Button, IconButton } from "../../shared/Button";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";
import { plain, plural } from "../../shared/text";
import { LimitActions } from "./LimitActions";

/** A limit that holds is said above the panes until it is over, or until the user has read it. */
export function LimitBanner() {
  const app = useApp();
  const limits = useQuery(app.limits.all).data;
  const { dismissed } = useStore(app.view);
  const shown = limits?.filter((limit) => !dismissed.has(keyOf(limit))) ?? [];
  if (shown.length === 0) return null;
  const dismiss = () => app.view.update((view) => ({ ...view, dismissed: new Set([...view.dismissed, ...shown.map(keyOf)]) }));
  const [only] = shown;
  return (
    <div className="banner limit-banner" role="status" data-testid={ids.limitBanner} data-count={shown.length}>
      <Icon name="clock" />
      {shown.length === 1 ? <One limit={only!} /> : (
        <>
          <p className="grow">{plural(shown.length, "profile")} are at their session limit: {shown.map(({ profile_name }) => plain(profile_name)).join(", ")}. Nothing is lost; their agents wait.</p>
          <Button onClick={() => app.open({ kind: "limits" })} title={withKeys("Session limits", "limits")} testid={ids.limitsShow}>Show</Button>
        </>
      )}
      <IconButton icon="close" label="Dismiss; the limit stays" onClick={dismiss} />
    </div>
  );
}

function One({ limit }: { limit: Limit }) {
  const now = useNow(1_000);
  return (
    <>
      <div className="grow limit-words">
        <p><strong>{plain(limit.profile_name)}</strong> is at its session limit. <span data-testid={ids.limitNext}>{limitNext(limit, now)}</span> {limitWaiting(limit)}</p>
      </div>
      <LimitActions limit={limit} />
    </>
  );
}

/** One that begins anew, or is held now, wants to be read again. */
const keyOf = ({ profile, since_ms, held }: Limit) => `limit ${profile} ${since_ms} ${held}`;
