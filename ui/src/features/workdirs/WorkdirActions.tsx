import type { Workdir } from "../../generated/api";
import { freeName, useApp } from "../../state/app";
import type { App } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { canMerge, canRestore, isGone } from "../../state/workdir-words";
import { Button } from "../../shared/Button";
import { ids } from "../../shared/testids";

const SHELLS = new Set(["sh", "bash", "zsh", "fish", "dash", "ksh", "nu"]);

/** What can be done with a workdir now; what cannot is not offered. The keys of the list go through the same. */
export function actionsOf(app: App, workdir: Workdir) {
  const busy = app.workdirs.busy.get()[workdir.id] !== undefined;
  const open = (kind: "workdir_diff" | "merge_workdir" | "remove_workdir" | "restore_workdir") => () => app.open({ kind, project: workdir.project, workdir: workdir.id });
  const there = !isGone(workdir) && workdir.state !== "creating";
  const shell = app.profiles.data?.find(({ adapter, program }) => adapter === "plain" && SHELLS.has(program.split("/").at(-1)!));
  return {
    diff: there ? open("workdir_diff") : null,
    merge: canMerge(workdir) && !busy ? open("merge_workdir") : null,
    remove: there && workdir.state !== "removing" && !busy ? open("remove_workdir") : null,
    restore: canRestore(workdir) && !busy ? open("restore_workdir") : null,
    shell: there && shell ? () => void openShell(app, workdir, shell) : null,
    copy: () => void copyPath(app, workdir),
  };
}

/** An agent whose program is a shell, in a pane. One that works there already is shown. */
async function openShell(app: App, workdir: Workdir, profile: NonNullable<App["profiles"]["data"]>[number]): Promise<void> {
  const agents = app.agents.data ?? [];
  const present = agents.find((agent) => agent.profile === profile.id && agent.workdir === workdir.path);
  if (present) {
    await app.show(present, true);
    if (!present.run || present.run.state === "ended" || present.run.state === "lost") void app.startAgent(present.id);
    return;
  }
  const taken = new Set(agents.filter(({ project }) => project === workdir.project).map(({ name }) => name));
  try {
    await app.addAgent({ project: workdir.project, name: freeName(`${workdir.name}-shell`, taken, false), profile, mode: "terminal", role: "", workdir: workdir.path, beside: true });
  } catch (reason) {
    app.report(reason, "A terminal could not be opened there.");
  }
}

async function copyPath(app: App, workdir: Workdir): Promise<void> {
  try {
    await app.backend.writeClipboard(workdir.path);
    app.tell("The path was copied.");
  } catch (reason) {
    app.report(reason);
  }
}

export function WorkdirActions({ workdir }: { workdir: Workdir }) {
  const app = useApp();
  useStore(app.workdirs.busy);
  useQuery(app.profiles);
  const { diff, merge, remove, restore, shell, copy } = actionsOf(app, workdir);
  return (
    <div className="workdir-actions">
      {diff && <Button icon="note" onClick={diff} title="Show the difference (D)" testid={ids.workdirDiff}>Difference</Button>}
      {merge && <Button icon="merge" onClick={merge} title="Merge (M)" testid={ids.workdirMerge}>Merge…</Button>}
      {restore && <Button icon="retry" look="primary" onClick={restore} title="Restore (R)" testid={ids.workdirRestore}>Restore…</Button>}
      {shell && <Button icon="terminal" onClick={shell} title="Open a terminal in it (T)" testid={ids.workdirShell}>Terminal</Button>}
      <Button icon="copy" onClick={copy} title="Copy the path (Y)" testid={ids.workdirCopy}>Copy path</Button>
      {remove && <Button icon="trash" onClick={remove} title="Remove (X)" testid={ids.workdirRemove}>Remove…</Button>}
    </div>
  );
}
