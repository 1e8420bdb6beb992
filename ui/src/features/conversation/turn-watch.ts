// What is seen of a turn while it runs, or of one that is over: read page by page from its beginning. A flood costs no more than a
// trickle, and only the latest steps are kept here: the run's log has all of them.

import { type Backend, type BackendError, toBackendError } from "../../backend/backend";
import type { Id, TurnEvent } from "../../generated/api";
import { Store } from "../../state/store";

export interface Step { key: number; kind: TurnEvent["kind"]; name: string | null; text: string }

export interface Steps {
  steps: readonly Step[];
  /** How many earlier steps are not kept here. */
  dropped: number;
  /** Nothing follows. */
  over: boolean;
  loading: boolean;
  error: BackendError | null;
}

export const STEPS_MAX = 300;
const TEXT_MAX = 100_000;
const WAIT_MS = 20_000;
const PAUSE_MS = 120;
const FAILED_PAUSE_MS = 2_000;

export class TurnWatch {
  readonly state = new Store<Steps>({ steps: [], dropped: 0, over: false, loading: true, error: null });
  #offset = 0;
  #key = 0;
  #stopped = false;
  #wake: (() => void) | null = null;

  constructor(private readonly backend: Pick<Backend, "call">, private readonly turn: Id) {}

  start(): void {
    this.#stopped = false;
    void this.#run();
  }

  stop(): void {
    this.#stopped = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#stopped && !this.state.get().over) {
      try {
        const wait_ms = this.state.get().loading ? 0 : WAIT_MS;
        const page = await this.backend.call("turn_events", { turn: this.turn, offset: this.#offset, wait_ms });
        if (this.#stopped) return;
        this.#offset = page.next_offset;
        this.#take(page.events, page.over);
        await this.#pause(PAUSE_MS);
      } catch (reason) {
        if (this.#stopped) return;
        const error = toBackendError(reason);
        this.state.update((state) => ({ ...state, error, loading: false, over: state.over || error.code === "not_found" }));
        await this.#pause(FAILED_PAUSE_MS);
      }
    }
  }

  #take(events: readonly TurnEvent[], over: boolean): void {
    const { steps, dropped } = this.state.get();
    const all = [...steps];
    for (const event of events) {
      const last = all.at(-1);
      // What an agent writes and thinks comes in pieces, as they are.
      if (last && last.kind === event.kind && (event.kind === "text" || event.kind === "thinking")) {
        all[all.length - 1] = { ...last, text: `${last.text}${event.text}`.slice(-TEXT_MAX) };
      } else {
        this.#key += 1;
        all.push({ key: this.#key, kind: event.kind, name: event.name, text: event.text.slice(0, TEXT_MAX) });
      }
    }
    const kept = all.slice(-STEPS_MAX);
    this.state.set({ steps: kept, dropped: dropped + all.length - kept.length, over, loading: false, error: null });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
