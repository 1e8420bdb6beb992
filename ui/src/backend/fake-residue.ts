// What is left behind, of the fake engine. In tests a removal waits at each thing for `step`; in a browser it goes on by itself.

import type { Change, Id, Residue, ResidueApplied, ResidueProgress } from "../generated/api";
import { BackendError, type Params } from "./backend";

export interface ResidueHost {
  newId(): Id;
  changed(tag: Change["tag"], id: Id, project: Id | null): void;
}

const STEP_MS = 350;

export class FakeResidue {
  items: Residue[] = [];
  /** Things that are refused when their turn comes, with git's reason. */
  readonly refusals = new Map<Id, string>();
  progress: ResidueProgress = { running: false, total: 0, done: 0, removed: 0, freed_bytes: 0, cancelled: false };
  /** A removal does not wait for `step`. */
  hurry = true;
  #step: (() => void) | null = null;

  constructor(private readonly host: ResidueHost, private readonly live: boolean) {}

  add(part: Pick<Residue, "kind" | "name"> & Partial<Residue>): Residue {
    const item: Residue = {
      id: this.host.newId(), path: `/home/dev/.cache/carillon/t/${part.name}`, project: null, owner: null, run: null, bytes: 4096, counted: true, age_ms: 3_600_000, verdict: "safe",
      reasons: ["its run is over"], ...part,
    };
    this.items = [...this.items, item];
    this.#changed();
    return item;
  }

  /** Lets a removal go on with the next thing. */
  step(): void {
    this.#step?.();
  }

  list({ kind, project }: Params<"residue_list">): Residue[] {
    return this.items.filter((item) => (kind === undefined || item.kind === kind) && (project === undefined || item.project === project));
  }

  async apply({ only, consent = [], kinds = [], project }: Params<"residue_apply">): Promise<ResidueApplied[]> {
    const items = this.list({ project }).filter((item) => (kinds.length === 0 || kinds.includes(item.kind)) && (only === undefined || only.includes(item.id)));
    // One that was chosen and is not there went meanwhile.
    for (const id of consent.filter((id) => !only?.includes(id))) if (!items.some((item) => item.id === id)) throw new BackendError("not_found", `there is no residue "${id}"`, "`carillon clean` shows what there is; nothing was removed");
    const goes = (item: Residue) => item.verdict === "safe" || (item.verdict === "needs_consent" && consent.includes(item.id));
    this.progress = { running: true, total: items.filter(goes).length, done: 0, removed: 0, freed_bytes: 0, cancelled: false };
    this.#changed();
    const applied: ResidueApplied[] = [];
    for (const item of items) {
      if (!goes(item)) {
        applied.push({ ...item, removed: false, freed_bytes: 0, refused: item.verdict === "needs_consent" ? `it needs your consent: ${item.reasons.join("; ")}` : item.reasons.join("; ") });
        continue;
      }
      if (!this.hurry && !this.progress.cancelled) await this.#turn();
      applied.push(this.#take(item));
    }
    this.progress = { ...this.progress, running: false };
    this.#changed();
    return applied;
  }

  cancel(): ResidueProgress {
    this.progress = { ...this.progress, cancelled: this.progress.running };
    this.#step?.();
    return this.progress;
  }

  #take(item: Residue): ResidueApplied {
    const refused = this.progress.cancelled ? "it was broken off before" : this.refusals.get(item.id) ?? null;
    const freed_bytes = refused === null ? item.bytes : 0;
    this.progress = { ...this.progress, done: this.progress.done + 1, removed: this.progress.removed + (refused === null ? 1 : 0), freed_bytes: this.progress.freed_bytes + freed_bytes };
    if (refused === null) this.items = this.items.filter(({ id }) => id !== item.id);
    this.#changed();
    return { ...item, removed: refused === null, refused, freed_bytes };
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#step = () => {
        this.#step = null;
        resolve();
      };
      if (this.live) setTimeout(() => this.#step?.(), STEP_MS);
    });
  }

  #changed(): void {
    this.host.changed("residueChanged", "residue", null);
  }
}
