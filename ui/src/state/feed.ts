// The change feed: one long poll that says what went stale. It carries no data. A gap in the sequence, a reset and the end of an
// outage are treated alike: everything is fetched again.

import { type Backend, type BackendError, toBackendError } from "../backend/backend";
import type { Change, Changes } from "../generated/api";
import { Store } from "./store";

export interface FeedState {
  /** Set while the engine does not answer. */
  error: BackendError | null;
}

const WAIT_MS = 25_000;
const BACKOFF_MS = [500, 1_000, 2_000, 5_000];

export class ChangeFeed {
  readonly state = new Store<FeedState>({ error: null });
  #after: number | null = null;
  #running = false;
  #failures = 0;
  #wake: (() => void) | null = null;

  constructor(
    private readonly backend: Backend,
    private readonly listener: { everythingStale(): void; changed(changes: Change[]): void },
  ) {}

  start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  stop(): void {
    this.#running = false;
    this.#wake?.();
  }

  /** Ends the pause between two attempts. */
  retryNow(): void {
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (this.#running) {
      try {
        // After an outage the answer is wanted at once, even if nothing changed: it is what takes the warning away.
        const answer = await this.backend.call("changes_wait", { after: this.#after, wait_ms: this.#failures > 0 ? 0 : WAIT_MS });
        if (!this.#running) return;
        this.#take(answer);
      } catch (reason) {
        if (!this.#running) return;
        this.state.set({ error: toBackendError(reason) });
        await this.#pause(BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)]!);
        this.#failures += 1;
      }
    }
  }

  #take(answer: Changes): void {
    const recovered = this.#failures > 0;
    const stale = this.#after === null || answer.reset || recovered || hasGap(this.#after, answer);
    this.#after = answer.seq;
    this.#failures = 0;
    if (recovered) this.state.set({ error: null });
    if (stale) this.listener.everythingStale();
    else if (answer.changes.length > 0) this.listener.changed(answer.changes);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      const self = this;
      function done() {
        clearTimeout(timer);
        self.#wake = null;
        resolve();
      }
      this.#wake = done;
    });
  }
}

/** True when the numbers do not follow one another without a hole from `after` to the answer's own. */
export function hasGap(after: number, answer: Changes): boolean {
  let expected = after + 1;
  for (const change of answer.changes) {
    if (change.seq !== expected) return true;
    expected += 1;
  }
  return answer.seq !== expected - 1;
}
