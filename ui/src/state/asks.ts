// The asks of all projects: fetched once, and kept in step by the change feed, as the tasks are. A few changed asks are asked for one
// by one, many at once by their project's list. Answers may overtake one another, but an ask only ever goes forward.

import { type Backend, type BackendError, toBackendError } from "../backend/backend";
import type { Ask, Change, Id } from "../generated/api";
import { isAskOver } from "./ask-words";
import { Store } from "./store";

export interface ProjectAsks {
  /** Newest first. */
  asks: readonly Ask[];
  /** False until the first answer. */
  loaded: boolean;
  error: BackendError | null;
}

const SHOW_EACH_MAX = 8;
const LIST_PAUSE_MS = 250;
export const NO_ASKS: ProjectAsks = { asks: [], loaded: false, error: null };

interface Listing { running: Promise<void> | null; due: boolean; first_ms: number | null }

export class Asks {
  readonly state = new Store<Readonly<Record<Id, ProjectAsks>>>({});
  /** Asks that somebody wants to be cancelled, until their state says so. */
  readonly cancelling = new Store<ReadonlySet<Id>>(new Set());
  readonly #listings = new Map<Id, Listing>();

  constructor(
    private readonly backend: Pick<Backend, "call">,
    /** Asks came to an end while the window looked on. Each is told once. */
    private readonly ended: (asks: Ask[]) => void,
  ) {}

  of(project: Id): ProjectAsks {
    return this.state.get()[project] ?? NO_ASKS;
  }

  find(ask: Id): Ask | undefined {
    for (const { asks } of Object.values(this.state.get())) {
      const found = asks.find(({ id }) => id === ask);
      if (found) return found;
    }
    return undefined;
  }

  /** Fetches the asks of these projects in this order, and forgets all others. It never rejects. */
  async loadAll(projects: readonly Id[]): Promise<void> {
    const known = new Set(projects);
    for (const project of this.#listings.keys()) if (!known.has(project)) this.#listings.delete(project);
    this.state.update((all) => Object.fromEntries(Object.entries(all).filter(([project]) => known.has(project))));
    for (const project of projects) await this.load(project);
  }

  /** Resolves when an answer that was asked for after this call is in place; it never rejects. */
  load(project: Id): Promise<void> {
    const listing = this.#listings.get(project) ?? { running: null, due: false, first_ms: null };
    this.#listings.set(project, listing);
    if (listing.running) {
      listing.due = true;
      return listing.running;
    }
    listing.running = this.#load(project, listing).finally(() => {
      listing.running = null;
    });
    return listing.running;
  }

  changed(changes: readonly Change[]): void {
    const byProject = new Map<Id | null, Set<Id>>();
    const put = (project: Id | null, id: Id) => byProject.set(project, (byProject.get(project) ?? new Set()).add(id));
    for (const { tag, id, project } of changes) {
      if (tag === "askChanged") put(project, id);
      // What an ask waits for stands in it, too.
      if (tag === "backgroundTaskChanged" && project !== null) for (const ask of this.#waitingFor(project, id)) put(project, ask);
    }
    for (const [project, ids] of byProject) {
      if (project === null) for (const each of this.#listings.keys()) void this.load(each);
      else if (ids.size > SHOW_EACH_MAX || !this.of(project).loaded) void this.load(project);
      else for (const id of ids) void this.#show(project, id);
    }
  }

  /** Takes over what a call just answered about one ask. */
  put(ask: Ask): void {
    if (this.#listings.has(ask.project)) this.#merge(ask.project, [ask]);
  }

  /** Rejects when it was refused. Until the state says so, the ask is shown as being cancelled. */
  async cancel(ask: Ask): Promise<void> {
    if (isAskOver(ask) || this.cancelling.get().has(ask.id)) return;
    this.cancelling.update((all) => new Set(all).add(ask.id));
    try {
      this.put(await this.backend.call("ask_cancel", { ask: ask.id }));
    } catch (reason) {
      this.#settle([ask.id]);
      throw toBackendError(reason);
    }
  }

  #waitingFor(project: Id, task: Id): Id[] {
    return this.of(project).asks.filter((ask) => !isAskOver(ask) && ask.children.some(({ id }) => id === task)).map(({ id }) => id);
  }

  async #load(project: Id, listing: Listing): Promise<void> {
    do {
      listing.due = false;
      const asked_ms = Date.now();
      try {
        const listed = await this.backend.call("asks_list", { project });
        if (this.#listings.get(project) !== listing) return;
        this.#merge(project, listed, asked_ms);
        listing.first_ms ??= asked_ms;
      } catch (reason) {
        if (this.#listings.get(project) !== listing) return;
        const error = toBackendError(reason);
        this.state.update((all) => ({ ...all, [project]: { ...this.of(project), error } }));
      }
      if (listing.due) await new Promise((resolve) => setTimeout(resolve, LIST_PAUSE_MS));
    } while (listing.due);
  }

  async #show(project: Id, id: Id): Promise<void> {
    try {
      const ask = await this.backend.call("ask_show", { ask: id });
      if (this.#listings.has(project)) this.#merge(project, [ask]);
    } catch (reason) {
      if (toBackendError(reason).code !== "not_found") return this.load(project);
      const { asks, ...rest } = this.of(project);
      this.state.update((all) => ({ ...all, [project]: { ...rest, asks: asks.filter((ask) => ask.id !== id) } }));
    }
  }

  /** Puts answers in place. With `asked_ms` they are the whole list: what is not in it is gone, unless it came after the question. */
  #merge(project: Id, fresh: readonly Ask[], asked_ms: number | null = null): void {
    const old = this.of(project);
    const before = new Map(old.asks.map((ask) => [ask.id, ask]));
    const after = new Map(fresh.map((ask) => [ask.id, further(before.get(ask.id), ask)]));
    for (const ask of old.asks) if (!after.has(ask.id) && (asked_ms === null || ask.created_ms >= asked_ms)) after.set(ask.id, ask);
    const since_ms = this.#listings.get(project)?.first_ms ?? null;
    const ended = [...after.values()].filter((ask) => isNews(before.get(ask.id), ask, since_ms));
    const asks = [...after.values()].sort((a, b) => b.created_ms - a.created_ms || (a.id < b.id ? 1 : -1));
    this.state.update((all) => ({ ...all, [project]: { asks, loaded: old.loaded || asked_ms !== null, error: asked_ms === null ? old.error : null } }));
    this.#settle(asks.filter(isAskOver).map(({ id }) => id));
    if (ended.length > 0) this.ended(ended);
  }

  #settle(over: readonly Id[]): void {
    const settled = over.filter((id) => this.cancelling.get().has(id));
    if (settled.length > 0) this.cancelling.update((all) => new Set([...all].filter((id) => !settled.includes(id))));
  }
}

const RANK: Record<Ask["state"], number> = { open: 0, pending_final: 1, answered: 2, failed: 2, cancelled: 2, timed_out: 2 };

/** Which of two answers about one ask was given later. */
function further(known: Ask | undefined, fresh: Ask): Ask {
  return known && RANK[known.state] > RANK[fresh.state] ? known : fresh;
}

/** It is over and was not known to be; of an ask that was not known at all, only if it ended since the first look. */
function isNews(before: Ask | undefined, after: Ask, since_ms: number | null): boolean {
  if (!isAskOver(after) || since_ms === null) return false;
  return before ? !isAskOver(before) : (after.ended_ms ?? 0) >= since_ms;
}
