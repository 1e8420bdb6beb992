import type { Limit } from "../../generated/api";
import { useApp } from "../../state/app";
import type { LimitWish } from "../../state/limits";
import { useStore } from "../../state/store";
import { Button } from "../../shared/Button";
import { ids } from "../../shared/testids";

/** What the user can want of a limit. `onError` is told what was refused; without it the window's messages tell it. */
export function LimitActions({ limit, onError }: { limit: Limit; onError?: (reason: unknown) => void }) {
  const app = useApp();
  const busy = useStore(app.limits.busy)[limit.profile];
  const want = (wish: LimitWish) => {
    app.limits.want(limit.profile, wish).catch((reason: unknown) => (onError ? onError(reason) : app.report(reason, `The limit of ${limit.profile_name} could not be changed.`)));
  };
  const one = (wish: LimitWish) => ({ busy: busy === wish, disabled: busy !== undefined, onClick: () => want(wish) });
  return (
    <span className="limit-actions">
      {!limit.trying && <Button {...one("resume")} icon="play" title="One agent tries; the others go on when it gets through" testid={ids.limitResume}>Try now</Button>}
      {!limit.held && <Button {...one("hold")} icon="stop" title="All agents of this profile wait until you say otherwise" testid={ids.limitHold}>Stay stopped</Button>}
      <Button {...one("clear")} look="quiet" title="There is no limit any more: all go on, one after the other" testid={ids.limitClear}>Clear</Button>
    </span>
  );
}
