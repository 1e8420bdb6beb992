// Workdirs: the list of a project and a difference are fetched while somebody looks at them, since each look costs calls of git.

import { type Backend, BackendError, toBackendError } from "../backend/backend";
import type { Change, Id, Residue, Workdir, WorkdirDiff } from "../generated/api";
import { Query } from "./query";
import { Store } from "./store";
import { without } from "./view";
import { Watched } from "./watched";

export type MergeHow = "merge" | "squash" | "rebase";
export type WorkdirWork = "merging" | "removing" | "restoring";

/** The code with which work ends that the user has stopped. */
export const STOPPED = "stopped";

export interface MergeOrder { how: MergeHow; into: string; keep: boolean }

export class Workdirs {
  /** By project. */
  readonly lists: Watched<Workdir[]>;
  /** By workdir. */
  readonly diffs: Watched<WorkdirDiff>;
  /** What the worktrees of a project take, by their path. Measuring reads them whole, so it is done for those who look at one. */
  readonly sizes: Watched<ReadonlyMap<string, Residue>>;
  /** Of all projects, for those who look for what is gone. */
  readonly all: Query<Workdir[]>;
  /** What git is at. */
  readonly busy = new Store<Readonly<Record<Id, WorkdirWork>>>({});
  /** Those that somebody wants to be stopped, until it is said what came of it. */
  readonly stopping = new Store<ReadonlySet<Id>>(new Set());
  /** Those whose work stops: what it ends with is no failure. */
  readonly #stopped = new Set<Id>();

  constructor(private readonly backend: Pick<Backend, "call">) {
    this.lists = new Watched((project) => backend.call("workdirs_list", { project }));
    this.diffs = new Watched((workdir) => backend.call("workdir_diff", { workdir }));
    this.sizes = new Watched(async (project) => new Map((await backend.call("residue_list", { kind: "worktree", project })).map((item) => [item.path, item])));
    this.all = new Query(() => backend.call("workdirs_list", {}));
  }

  changed(changes: readonly Change[]): void {
    const projects = new Set<Id>();
    for (const { tag, id, project } of changes) {
      if (tag !== "workdirChanged") continue;
      this.diffs.stale(id);
      if (project === null) return this.everythingStale();
      projects.add(project);
    }
    for (const project of projects) this.lists.stale(project);
    if (projects.size > 0 && this.all.data) void this.all.refresh();
  }

  everythingStale(): void {
    this.lists.everythingStale();
    this.diffs.everythingStale();
    if (this.all.data) void this.all.refresh();
  }

  /** Rejects when it was refused. */
  async create(project: Id, name: string, base: string): Promise<Workdir> {
    const made = await this.backend.call("workdir_create", { project, ...(name === "" ? {} : { name }), ...(base === "" ? {} : { base }) });
    this.lists.stale(project);
    return made;
  }

  /** Rejects when it was refused. */
  merge(workdir: Workdir, { how, into, keep }: MergeOrder): Promise<Workdir> {
    return this.#do(workdir, "merging", () => this.backend.call("workdir_merge", { workdir: workdir.id, how, keep, ...(into === "" || into === workdir.base_branch ? {} : { into }) }));
  }

  /** Rejects when it was refused. */
  remove(workdir: Workdir): Promise<Workdir> {
    return this.#do(workdir, "removing", () => this.backend.call("workdir_remove", { workdir: workdir.id }));
  }

  /** Rejects when it was refused. */
  restore(workdir: Workdir): Promise<Workdir> {
    return this.#do(workdir, "restoring", () => this.backend.call("workdir_restore", { workdir: workdir.id }));
  }

  /** Answers why it goes on; null when it stops. Rejects when it could not be asked for. */
  async stop(workdir: Workdir): Promise<string | null> {
    if (this.stopping.get().has(workdir.id)) return null;
    this.stopping.update((all) => new Set(all).add(workdir.id));
    try {
      // Before its answer, which the end of the work may overtake.
      this.#stopped.add(workdir.id);
      const { stopped, reason } = await this.backend.call("workdir_stop", { workdir: workdir.id });
      if (!stopped) this.#stopped.delete(workdir.id);
      return stopped ? null : reason ?? "it goes on";
    } catch (reason) {
      this.#stopped.delete(workdir.id);
      throw toBackendError(reason);
    } finally {
      this.stopping.update((all) => new Set([...all].filter((id) => id !== workdir.id)));
    }
  }

  async #do(workdir: Workdir, work: WorkdirWork, call: () => Promise<Workdir>): Promise<Workdir> {
    this.busy.update((all) => ({ ...all, [workdir.id]: work }));
    try {
      return await call();
    } catch (reason) {
      if (this.#stopped.has(workdir.id)) throw new BackendError(STOPPED, "It was stopped, and nothing was changed.", null);
      throw reason;
    } finally {
      this.#stopped.delete(workdir.id);
      this.busy.update((all) => without(all, workdir.id));
      this.lists.stale(workdir.project);
      if (this.all.data) void this.all.refresh();
    }
  }
}
