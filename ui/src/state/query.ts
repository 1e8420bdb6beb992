// One answer of the engine, kept until a change says that it is stale. At most one fetch runs and at most one more is due:
// a burst of changes therefore costs two calls, and the last answer shown was asked for after the last change.

import { type BackendError, toBackendError } from "../backend/backend";
import { Store, useStore } from "./store";

export interface Loaded<T> {
  data: T | undefined;
  error: BackendError | null;
  loading: boolean;
}

export class Query<T> {
  readonly state = new Store<Loaded<T>>({ data: undefined, error: null, loading: false });
  readonly #fetch: () => Promise<T>;
  #running: Promise<void> | null = null;
  #due = false;
  #writes = 0;

  constructor(fetch: () => Promise<T>) {
    this.#fetch = fetch;
  }

  get data(): T | undefined {
    return this.state.get().data;
  }

  /** Resolves when an answer that was asked for after this call stands in `state`; it never rejects. */
  refresh(): Promise<void> {
    if (this.#running) {
      this.#due = true;
      return this.#running;
    }
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Puts an answer in place that a write just gave. A fetch that was already under way is older, so it is asked again. */
  put(data: T): void {
    this.#writes += 1;
    this.state.set({ data, error: null, loading: this.#running !== null });
    if (this.#running) this.#due = true;
  }

  async #run(): Promise<void> {
    this.state.update((state) => ({ ...state, loading: true }));
    do {
      this.#due = false;
      const writes = this.#writes;
      try {
        const data = await this.#fetch();
        const fresh = writes === this.#writes ? data : this.data;
        this.state.set({ data: fresh, error: null, loading: this.#due });
      } catch (reason) {
        const error = toBackendError(reason);
        this.state.update((state) => ({ ...state, error, loading: this.#due }));
      }
    } while (this.#due);
  }
}

export function useQuery<T>(query: Query<T>): Loaded<T> {
  return useStore(query.state);
}
