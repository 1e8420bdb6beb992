// Workdirs of the fake engine: what git would say is said by the test, and each step goes as the real machine goes.

import type { Change, Id, Project, Workdir, WorkdirDiff, WorkdirStopped } from "../generated/api";
import { BackendError, type Params } from "./backend";

export interface WorkdirsHost {
  newId(): Id;
  changed(tag: Change["tag"], id: Id, project: Id): void;
  project(id: Id): Project;
}

export const SAMPLE_DIFF = [
  "diff --git a/src/lamp.ts b/src/lamp.ts", "index 3f1c2aa..8d00b3e 100644", "--- a/src/lamp.ts", "+++ b/src/lamp.ts", "@@ -38,7 +38,9 @@ export class Lamp {", "   /** Turns once in ten seconds. */",
  "   turn(): void {", "-    this.angle += 36;", "+    this.angle = (this.angle + 36) % 360;", "+    // A lamp that has turned once around shows the same light again.", "+    if (this.angle === 0) this.rounds += 1;", "   }", " }",
  "diff --git a/src/keeper.ts b/src/keeper.ts", "index 91ab001..17cc0de 100644", "--- a/src/keeper.ts", "+++ b/src/keeper.ts", "@@ -1,4 +1,3 @@", "-import { Storm } from \"./storm\";", " import { Lamp } from \"./lamp\";", " ", " export class Keeper {", "",
].join("\n");

export class FakeWorkdirs {
  #all: Workdir[] = [];
  readonly #diffs = new Map<Id, Partial<WorkdirDiff>>();
  /** The next merge of this workdir has these conflicts. */
  readonly conflicts = new Map<Id, string[]>();

  /** Merges and removals take until `goOn`. */
  slow = false;
  /** What is under way is past the point up to which it can be stopped. */
  tooLate = false;
  readonly #underWay = new Map<Id, { go: () => void; stop: () => void }>();

  constructor(private readonly host: WorkdirsHost) {}

  // --- what tests do to it ---

  put(project: Id, name: string, part: Partial<Workdir> = {}): Workdir {
    const { root } = this.host.project(project);
    const workdir: Workdir = {
      id: this.host.newId(), name, project, path: `/home/dev/.local/share/carillon/worktrees/${root.split("/").at(-1)}/${name}`, branch: `carillon/${name}`, base_branch: "main",
      base_commit: "3f1c2aa0b9d84e6f7a1b2c3d4e5f60718293a4b5", owner: null, state: "active", dirty: false, ahead: 0, behind: 0, verdict: "safe",
      reasons: ["no commit was made in it"], why: null, archive_ref: null, not_kept: [], notes: [], created_ms: Date.now(), ended_ms: null, ...part,
    };
    this.#all = [...this.#all, workdir];
    this.#changed(workdir);
    return workdir;
  }

  set(id: Id, part: Partial<Workdir>): Workdir {
    const fresh = { ...this.#find(id), ...part };
    this.#all = this.#all.map((each) => (each.id === id ? fresh : each));
    this.#changed(fresh);
    return fresh;
  }

  goOn(id: Id): void {
    this.#underWay.get(id)?.go();
  }

  setDiff(id: Id, diff: Partial<WorkdirDiff>): void {
    this.#diffs.set(id, diff);
  }

  // --- the door ---

  create({ project, name, base }: Params<"workdir_create">): Workdir {
    const chosen = name ?? `work-${this.#all.length + 1}`;
    if (/^-|\s/.test(chosen)) throw new BackendError("invalid", `"${chosen}" cannot be a name.`, "choose another name");
    if (this.#there(project, chosen)) throw new BackendError("refused", `the project has a workdir "${chosen}" already`, "choose another name");
    return this.put(project, chosen, base === undefined ? {} : { base_branch: base });
  }

  list({ project }: Params<"workdirs_list">): Workdir[] {
    const mine = this.#all.filter((each) => project === undefined || each.project === project);
    return [...mine.filter(({ ended_ms }) => ended_ms === null), ...mine.filter(({ ended_ms }) => ended_ms !== null).sort((a, b) => b.ended_ms! - a.ended_ms!)];
  }

  diff({ workdir }: Params<"workdir_diff">): WorkdirDiff {
    const files = [{ path: "src/lamp.ts", added: 3, deleted: 1 }, { path: "src/keeper.ts", added: 0, deleted: 1 }];
    return { id: this.#find(workdir).id, text: SAMPLE_DIFF, truncated: false, files, untracked: [], ...this.#diffs.get(workdir) };
  }

  async merge({ workdir, into, keep }: Params<"workdir_merge">): Promise<Workdir> {
    await this.#take(workdir);
    const found = this.#find(workdir);
    if (found.dirty) throw new BackendError("refused", `${found.path}: 2 of its files are not committed`, "commit or take away what is in the way");
    const files = this.conflicts.get(workdir);
    this.conflicts.delete(workdir);
    if (files) throw new BackendError("refused", `these files would conflict: ${files.join(", ")}`, "nothing was changed; merge the base into the workdir first");
    if (keep) return this.set(workdir, { state: "merged", base_branch: into ?? found.base_branch });
    return this.#bury(found, "merged", null);
  }

  async remove({ workdir }: Params<"workdir_remove">): Promise<Workdir> {
    await this.#take(workdir);
    const found = this.#find(workdir);
    if (found.verdict === "blocked") throw new BackendError("refused", `workdir "${found.name}" stays: ${found.reasons.join("; ")}`, "nothing was removed; see to the reason and try again");
    return this.#bury(found, "removed by you", found.verdict === "needs_consent" ? `refs/carillon/archive/${found.id}` : null);
  }

  restore({ workdir }: Params<"workdir_restore">): Workdir {
    const found = this.#find(workdir);
    if (found.archive_ref === null) throw new BackendError("refused", "there is nothing that brings it back", null);
    if (this.#there(found.project, found.name)) throw new BackendError("refused", `there is another workdir "${found.name}" now`, "merge or remove that one first");
    return this.set(workdir, { state: "active", why: null, archive_ref: null, ended_ms: null, dirty: true, ahead: 1, behind: 0, verdict: "needs_consent", reasons: ["2 files that git does not know"] });
  }

  stop({ workdir }: Params<"workdir_stop">): WorkdirStopped {
    const work = this.#underWay.get(this.#find(workdir).id);
    if (!work) return { stopped: false, reason: "nothing is under way for it" };
    if (this.tooLate) return { stopped: false, reason: "it is too far on to be stopped, and goes on to its end" };
    work.stop();
    return { stopped: true, reason: null };
  }

  /** Takes as long as it is said to. */
  async #take(id: Id): Promise<void> {
    if (!this.slow) return;
    await new Promise<void>((go, reject) => {
      this.#underWay.set(id, { go, stop: () => reject(new BackendError("refused", "it was stopped before anything was changed", "nothing was changed; try again when you want it")) });
    }).finally(() => this.#underWay.delete(id));
  }

  #bury(found: Workdir, why: string, archive_ref: string | null): Workdir {
    return this.set(found.id, { state: "tombstoned", why, archive_ref, ended_ms: Date.now(), dirty: null, ahead: null, behind: null, verdict: null, reasons: [] });
  }

  #there(project: Id, name: string): boolean {
    return this.#all.some((each) => each.project === project && each.name === name && each.ended_ms === null);
  }

  #find(id: Id): Workdir {
    const found = this.#all.find((each) => each.id === id);
    if (!found) throw new BackendError("not_found", "There is no such workdir.", null);
    return found;
  }

  #changed({ id, project }: Workdir): void {
    this.host.changed("workdirChanged", id, project);
  }
}
