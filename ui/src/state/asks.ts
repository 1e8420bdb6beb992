// The asks of all projects.

import { type Backend, toBackendError } from "../backend/backend";
import type { Ask, Change, Id } from "../generated/api";
import { isAskOver } from "./ask-words";
import { Listed, StaleIds } from "./listed";
import { Store } from "./store";

export class Asks extends Listed<Ask> {
  /** Asks that somebody wants to be cancelled, until their state says so. */
  readonly cancelling = new Store<ReadonlySet<Id>>(new Set());

  constructor(private readonly backend: Pick<Backend, "call">, ended: (asks: Ask[]) => void) {
    super(ended);
  }

  changed(changes: readonly Change[]): void {
    const stale = new StaleIds();
    for (const { tag, id, project } of changes) {
      if (tag === "askChanged") stale.add(project, id);
      // What an ask waits for stands in it, too.
      if (tag === "backgroundTaskChanged" && project !== null) for (const ask of this.#waitingFor(project, id)) stale.add(project, ask);
    }
    this.stale(stale);
  }

  /** Rejects when it was refused. Until the state says so, the ask is shown as being cancelled. */
  async cancel(ask: Ask): Promise<void> {
    if (isAskOver(ask) || this.cancelling.get().has(ask.id)) return;
    this.cancelling.update((all) => new Set(all).add(ask.id));
    try {
      this.put(await this.backend.call("ask_cancel", { ask: ask.id }));
    } catch (reason) {
      this.#forget([ask.id]);
      throw toBackendError(reason);
    }
  }

  protected list(project: Id): Promise<Ask[]> {
    return this.backend.call("asks_list", { project });
  }

  protected show(ask: Id): Promise<Ask> {
    return this.backend.call("ask_show", { ask });
  }

  /** An ask only ever goes forward. */
  protected later(known: Ask, fresh: Ask): Ask {
    return RANK[known.state] > RANK[fresh.state] ? known : fresh;
  }

  protected isNews(before: Ask | undefined, after: Ask, since_ms: number): boolean {
    if (!isAskOver(after)) return false;
    return before ? !isAskOver(before) : (after.ended_ms ?? 0) >= since_ms;
  }

  protected settle(asks: ReadonlyMap<Id, Ask>): void {
    this.#forget([...asks.values()].filter(isAskOver).map(({ id }) => id));
  }

  #waitingFor(project: Id, task: Id): Id[] {
    return this.of(project).items.filter((ask) => !isAskOver(ask) && ask.children.some(({ id }) => id === task)).map(({ id }) => id);
  }

  #forget(over: readonly Id[]): void {
    const settled = over.filter((id) => this.cancelling.get().has(id));
    if (settled.length > 0) this.cancelling.update((all) => new Set([...all].filter((id) => !settled.includes(id))));
  }
}

const RANK: Record<Ask["state"], number> = { open: 0, pending_final: 1, answered: 2, failed: 2, cancelled: 2, timed_out: 2 };
