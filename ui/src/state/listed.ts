// Things of projects that the window knows all of: fetched once, and kept in step by the change feed. A few changed ones are asked for
// one by one, many at once by their project's list. Answers may overtake one another, so each kind says which of two is the later.

import { type BackendError, toBackendError } from "../backend/backend";
import type { Id } from "../generated/api";
import { Store } from "./store";

export interface ProjectList<T> {
  /** Newest first. */
  items: readonly T[];
  /** False until the first answer. */
  loaded: boolean;
  error: BackendError | null;
}

const SHOW_EACH_MAX = 8;
const LIST_PAUSE_MS = 250;
const NOTHING: ProjectList<never> = { items: [], loaded: false, error: null };

/** Before anything is known. It is one and the same, so that nothing is drawn anew for it. */
export function nothing<T>(): ProjectList<T> {
  return NOTHING;
}

interface Listing { running: Promise<void> | null; due: boolean; first_ms: number | null }

export abstract class Listed<T extends { id: Id; project: Id; created_ms: number }> {
  readonly state = new Store<Readonly<Record<Id, ProjectList<T>>>>({});
  readonly #listings = new Map<Id, Listing>();

  /** `ended` is told of those that came to an end while the window looked on, of each end once. */
  protected constructor(private readonly ended: (items: T[]) => void) {}

  /** All of a project. */
  protected abstract list(project: Id): Promise<T[]>;
  protected abstract show(id: Id): Promise<T>;
  /** Which of two answers about one thing was given later. */
  protected abstract later(known: T, fresh: T): T;
  /** An end that was not known; of a thing that was not known at all, only if it came since the first look. */
  protected abstract isNews(before: T | undefined, after: T, since_ms: number): boolean;
  /** Answers are in place: what was asked for and has come about is settled. */
  protected abstract settle(items: ReadonlyMap<Id, T>): void;

  of(project: Id): ProjectList<T> {
    return this.state.get()[project] ?? nothing();
  }

  find(id: Id): T | undefined {
    for (const { items } of Object.values(this.state.get())) {
      const found = items.find((item) => item.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** Fetches what these projects have, in this order, and forgets all others. It never rejects. */
  async loadAll(projects: readonly Id[]): Promise<void> {
    this.#forgetOthers(projects);
    for (const project of projects) await this.load(project);
  }

  /** As `loadAll`, for projects of which nothing was fetched yet; the others are kept in step by the feed. It never rejects. */
  async loadNew(projects: readonly Id[]): Promise<void> {
    this.#forgetOthers(projects);
    for (const project of projects) if (!this.of(project).loaded) await this.load(project);
  }

  #forgetOthers(projects: readonly Id[]): void {
    const known = new Set(projects);
    for (const project of this.#listings.keys()) if (!known.has(project)) this.#listings.delete(project);
    this.state.update((all) => Object.fromEntries(Object.entries(all).filter(([project]) => known.has(project))));
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

  /** Takes over what a call just answered about one. */
  put(item: T): void {
    if (this.#listings.has(item.project)) this.#merge(item.project, [item]);
  }

  /** These went stale. Without a project any may be meant. */
  protected stale(ids: ReadonlyMap<Id | null, ReadonlySet<Id>>): void {
    for (const [project, changed] of ids) {
      if (project === null) for (const each of this.#listings.keys()) void this.load(each);
      else if (changed.size > SHOW_EACH_MAX || !this.of(project).loaded) void this.load(project);
      else for (const id of changed) void this.#show(project, id);
    }
  }

  async #load(project: Id, listing: Listing): Promise<void> {
    do {
      listing.due = false;
      const asked_ms = Date.now();
      try {
        const listed = await this.list(project);
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
      const item = await this.show(id);
      if (this.#listings.has(project)) this.#merge(project, [item]);
    } catch (reason) {
      if (toBackendError(reason).code !== "not_found") return this.load(project);
      const { items, ...rest } = this.of(project);
      this.state.update((all) => ({ ...all, [project]: { ...rest, items: items.filter((item) => item.id !== id) } }));
    }
  }

  /** Puts answers in place. With `asked_ms` they are the whole list: what is not in it is gone, unless it came after the question. */
  #merge(project: Id, fresh: readonly T[], asked_ms: number | null = null): void {
    const old = this.of(project);
    const before = new Map(old.items.map((item) => [item.id, item]));
    const after = new Map(fresh.map((item) => [item.id, this.#laterOf(before.get(item.id), item)]));
    for (const item of old.items) if (!after.has(item.id) && (asked_ms === null || item.created_ms >= asked_ms)) after.set(item.id, item);
    const since_ms = this.#listings.get(project)?.first_ms ?? null;
    const ended = since_ms === null ? [] : [...after.values()].filter((item) => this.isNews(before.get(item.id), item, since_ms));
    const items = [...after.values()].sort((a, b) => b.created_ms - a.created_ms || (a.id < b.id ? 1 : -1));
    this.state.update((all) => ({ ...all, [project]: { items, loaded: old.loaded || asked_ms !== null, error: asked_ms === null ? old.error : null } }));
    this.settle(after);
    if (ended.length > 0) this.ended(ended);
  }

  #laterOf(known: T | undefined, fresh: T): T {
    return known ? this.later(known, fresh) : fresh;
  }
}

/** What went stale, by project. */
export class StaleIds extends Map<Id | null, Set<Id>> {
  add(project: Id | null, id: Id): void {
    this.set(project, (this.get(project) ?? new Set()).add(id));
  }
}
