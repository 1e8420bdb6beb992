// The layouts of all projects: loaded once, changed here, written back soon after each change and at once when the window hides.

import type { Backend, BackendError } from "../backend/backend";
import { toBackendError } from "../backend/backend";
import type { Id } from "../generated/api";
import { emptyLayout, type Layout, parseLayout } from "./layout";
import { Store } from "./store";
import { without } from "./view";

const SAVE_AFTER_MS = 250;

export class Layouts {
  readonly state = new Store<Readonly<Record<Id, Layout>>>({});
  /** Why a layout could not be read. Until it is read there is none: what would be shown in its place would be written over the stored one. */
  readonly errors = new Store<Readonly<Record<Id, BackendError>>>({});
  readonly #dirty = new Set<Id>();
  readonly #written = new Map<Id, string>();
  /** Counts the changes made here, so that an answer from before one of them is known to be old. */
  #changes = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #writing: Promise<void> | null = null;

  constructor(
    private readonly backend: Backend,
    private readonly report: (error: BackendError) => void,
  ) {}

  of(project: Id): Layout | undefined {
    return this.state.get()[project];
  }

  /** Loads a layout; an empty one where none is stored or the stored one makes no sense. One that does not come stays unloaded, and `errors` says why. */
  async load(project: Id): Promise<void> {
    if (this.of(project)) return;
    try {
      const { layout } = await this.backend.call("layout_get", { project });
      if (!this.of(project)) this.#put(project, parseLayout(layout) ?? emptyLayout());
      this.errors.update((all) => without(all, project));
    } catch (reason) {
      if (!this.of(project)) this.errors.update((all) => ({ ...all, [project]: toBackendError(reason) }));
    }
  }

  /** Tries again to load what could not be read. */
  async loadFailed(): Promise<void> {
    await Promise.all(Object.keys(this.errors.get()).map((project) => this.load(project)));
  }

  /** Takes over what another program wrote, unless a change of ours is still under way. */
  async reload(project: Id): Promise<void> {
    if (!this.of(project) || this.#dirty.has(project)) return;
    const changes = this.#changes;
    try {
      const { layout } = await this.backend.call("layout_get", { project });
      const parsed = parseLayout(layout);
      if (!parsed || changes !== this.#changes || JSON.stringify(parsed) === this.#written.get(project)) return;
      this.#put(project, parsed);
    } catch {
      // The layout on show is still good; the next change of ours is written over whatever stands there.
    }
  }

  change(project: Id, change: (layout: Layout) => Layout): void {
    const before = this.of(project);
    if (!before) return;
    const after = change(before);
    if (after === before) return;
    this.#put(project, after);
    this.#changes += 1;
    this.#dirty.add(project);
    this.#timer ??= setTimeout(() => void this.flush(), SAVE_AFTER_MS);
  }

  forget(project: Id): void {
    this.#dirty.delete(project);
    this.errors.update((all) => without(all, project));
    this.state.update(({ [project]: _, ...rest }) => rest);
  }

  /** Writes what is not yet written; resolves when it stands in the store (or was reported as failed). */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#writing) await this.#writing;
    if (this.#dirty.size === 0) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  async #write(): Promise<void> {
    const due = [...this.#dirty];
    this.#dirty.clear();
    await Promise.all(due.map(async (project) => {
      const layout = this.of(project);
      if (!layout) return;
      const text = JSON.stringify(layout);
      if (text === this.#written.get(project)) return;
      this.#written.set(project, text);
      try {
        await this.backend.call("layout_set", { project, layout });
      } catch (reason) {
        this.#written.delete(project);
        this.report(toBackendError(reason));
      }
    }));
  }

  #put(project: Id, layout: Layout): void {
    this.state.update((all) => ({ ...all, [project]: layout }));
  }
}
