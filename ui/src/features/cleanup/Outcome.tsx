import type { Clearing } from "../../state/cleanup";
import { kindWord, outcomeWords } from "../../state/residue-words";
import { IconButton } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { byteSize, plain, shortIds } from "../../shared/text";

const REFUSED_MAX = 100;

/** How the last removal went: what came free as it was measured, and what stayed with its reason. */
export function Outcome({ clearing: { outcome, error, progress }, onRead }: { clearing: Clearing; onRead: () => void }) {
  if (error) return <div className="outcome-box"><ErrorText error={error} /></div>;
  if (!outcome) return null;
  const refused = outcome.filter(({ removed }) => !removed);
  return (
    <div className={`outcome-box ${refused.length > 0 ? "with-refused" : ""}`} role="status" data-testid={ids.cleanupOutcome}>
      <p className="outcome-line"><Icon name={refused.length > 0 ? "info" : "check"} /><span className="grow">{outcomeWords(outcome, progress?.cancelled ?? false)}</span><IconButton icon="close" label="Dismiss" onClick={onRead} /></p>
      {refused.length > 0 && (
        <ul className="refused">
          {refused.slice(0, REFUSED_MAX).map((each) => (
            <li key={each.id} className="breakable" data-testid={ids.cleanupRefused}><strong>{shortIds(plain(each.name))}</strong> <span className="muted">({kindWord(each.kind).toLowerCase()})</span> stays: {plain(each.refused ?? "it is still there")}</li>
          ))}
          {refused.length > REFUSED_MAX && <li className="muted">and {refused.length - REFUSED_MAX} more</li>}
        </ul>
      )}
    </div>
  );
}

/** While it is at work: how far it is. */
export function ProgressLine({ clearing: { progress, cancelling } }: { clearing: Clearing }) {
  const { done = 0, total = 0, freed_bytes = 0 } = progress ?? {};
  return (
    <div className="cleanup-progress" role="status" data-testid={ids.cleanupProgress} data-done={done} data-total={total}>
      <progress value={total === 0 ? undefined : done} max={Math.max(1, total)} aria-label="How far it is" />
      <span>{cancelling ? "Stopping…" : total === 0 ? "Looking once more…" : `${done} of ${total}${freed_bytes > 0 ? `, ${byteSize(freed_bytes)} free` : ""}`}</span>
    </div>
  );
}
