// What is left behind, as a report, and clearing it up. A removal goes on when nobody looks at it, so it is kept here.

import { type Backend, type BackendError, toBackendError } from "../backend/backend";
import type { Change, Id, Residue, ResidueApplied, ResidueProgress } from "../generated/api";
import { Query } from "./query";
import { Store } from "./store";

export interface ClearOrder {
  /** What goes: the things that the user saw to be safe, and those that he consents to. */
  only: readonly Id[];
  /** What he consents to of them, thing by thing. */
  consent: readonly Id[];
}

export interface Clearing {
  running: boolean;
  cancelling: boolean;
  progress: ResidueProgress | null;
  /** What came of those things that were to go. */
  outcome: ResidueApplied[] | null;
  error: BackendError | null;
}

const IDLE: Clearing = { running: false, cancelling: false, progress: null, outcome: null, error: null };

export class Cleanup {
  readonly report: Query<Residue[]>;
  readonly clearing = new Store<Clearing>(IDLE);
  #watchers = 0;

  constructor(
    private readonly backend: Pick<Backend, "call">,
    /** A removal is over, and nobody looks. */
    private readonly ended: (clearing: Clearing) => void,
  ) {
    this.report = new Query(() => backend.call("residue_list", {}));
  }

  /** Looks, and looks again whenever that goes stale, until the function that this answers is called. */
  watch(): () => void {
    this.#watchers += 1;
    if (this.#watchers === 1 && !this.clearing.get().running) void this.report.refresh();
    return () => {
      this.#watchers -= 1;
    };
  }

  changed(changes: readonly Change[]): void {
    if (!changes.some(({ tag }) => tag === "residueChanged")) return;
    // While a removal is at work its progress is worth a call, and a whole report is not.
    if (this.clearing.get().running) void this.#look();
    else if (this.#watchers > 0) void this.report.refresh();
  }

  everythingStale(): void {
    if (this.#watchers > 0 && !this.clearing.get().running) void this.report.refresh();
  }

  /**
   * Takes away just these, as far as they may still go. What became safe since the user looked stays until he has seen it. It never
   * rejects: what went wrong stands in `clearing`.
   */
  async apply(order: ClearOrder): Promise<void> {
    if (this.clearing.get().running) return;
    this.clearing.set({ ...IDLE, running: true });
    let outcome: ResidueApplied[] | null = null;
    let error: BackendError | null = null;
    try {
      outcome = await this.backend.call("residue_apply", { only: [...order.only], consent: [...order.consent] });
    } catch (reason) {
      error = toBackendError(reason);
    }
    this.clearing.update(({ progress }) => ({ ...IDLE, progress, outcome, error }));
    if (this.#watchers > 0) await this.report.refresh();
    else this.ended(this.clearing.get());
  }

  /** Breaks off the removal. What is gone is gone. Rejects when that was refused. */
  async cancel(): Promise<void> {
    if (!this.clearing.get().running) return;
    this.clearing.update((clearing) => ({ ...clearing, cancelling: true }));
    try {
      this.#put(await this.backend.call("residue_cancel", {}));
    } catch (reason) {
      this.clearing.update((clearing) => ({ ...clearing, cancelling: false }));
      throw toBackendError(reason);
    }
  }

  /** What came of the last removal was read. */
  forget(): void {
    if (!this.clearing.get().running) this.clearing.set(IDLE);
  }

  async #look(): Promise<void> {
    // Without an answer the figures of before stay; the end is told by the removal itself.
    const progress = await this.backend.call("residue_progress", {}).catch(() => null);
    if (progress) this.#put(progress);
  }

  #put(progress: ResidueProgress): void {
    if (this.clearing.get().running && progress.running) this.clearing.update((clearing) => ({ ...clearing, progress }));
  }
}
