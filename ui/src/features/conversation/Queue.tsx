import type { Ask, Turn } from "../../generated/api";
import { useApp } from "../../state/app";
import { turnHeading } from "../../state/ask-words";
import { useStore } from "../../state/store";
import { IconButton } from "../../shared/Button";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { ago, clipped, plain } from "../../shared/text";

const SHOWN = 6;

/** The turns that wait for the agent, the next one on top. */
export function Queue({ turns, asks, now }: { turns: readonly Turn[]; asks: ReadonlyMap<string, Ask>; now: number }) {
  const app = useApp();
  const cancelling = useStore(app.asks.cancelling);
  return (
    <section className="queue" aria-label="In line">
      <p className="queue-head muted">In line</p>
      <ol>
        {turns.slice(0, SHOWN).map((turn) => {
          const ask = turn.ask === null ? undefined : asks.get(turn.ask);
          return (
            <li key={turn.id} className="queue-row" data-testid={ids.turn} data-turn={turn.id} data-state={turn.state} data-kind={turn.kind}>
              <Icon name="clock" />
              <span className="queue-who">{turnHeading(turn, ask)}</span>
              <span className="muted clip grow">{clipped(plain(turn.prompt), 200)}</span>
              <span className="muted queue-ago">{ago(turn.created_ms, now)}</span>
              {ask && (
                <IconButton icon="close" label="Cancel this ask" busy={cancelling.has(ask.id)} testid={ids.turnStop}
                  onClick={() => app.askToCancel(ask)} />
              )}
            </li>
          );
        })}
      </ol>
      {turns.length > SHOWN && <p className="muted queue-more">and {turns.length - SHOWN} more</p>}
    </section>
  );
}
