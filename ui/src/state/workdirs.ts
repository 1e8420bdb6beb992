// Workdirs: the list of a project and a difference are fetched while somebody looks at them, since each look costs calls of git.

import type { Backend } from "../backend/backend";
import type { Change, Id, Residue, Workdir, WorkdirDiff } from "../generated/api";
import { Query } from "./query";
import { Store } from "./store";
import { without } from "./view";
import { Watched } from "./watched";

export type MergeHow = "merge" | "squash" | "rebase";
export type WorkdirWork = "merging" | "removing" | "restoring";

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

  async #do(workdir: Workdir, work: WorkdirWork, call: () => Promise<Workdir>): Promise<Workdir> {
    this.busy.update((all) => ({ ...all, [workdir.id]: work }));
    try {
      return await call();
    } finally {
      this.busy.update((all) => without(all, workdir.id));
      this.lists.stale(workdir.project);
      if (this.all.data) void this.all.refresh();
    }
  }
}
