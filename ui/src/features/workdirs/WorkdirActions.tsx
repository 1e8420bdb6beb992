import type { Id, Workdir } from "../../generated/api";
import { freeName, useApp } from "../../state/app";
import type { App } from "../../state/app";
import { useStore } from "../../state/store";
import { canMerge, canRestore, isGone } from "../../state/workdir-words";
import { Button } from "../../shared/Button";
import { CopyButton } from "../../shared/CopyButton";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";

const SHELLS = new Set(["sh", "bash", "zsh", "fish", "dash", "ksh", "nu"]);

/** What can be done with a workdir now; what cannot is not offered. The keys of the list go through the same. */
export function actionsOf(app: App, workdir: Workdir) {
  const busy = app.workdirs.busy.get()[workdir.id] !== undefined;
  const open = (kind: "workdir_diff" | "merge_workdir" | "remove_workdir" | "restore_workdir") => () => app.open({ kind, project: workdir.project, workdir: workdir.id });
  const there = !isGone(workdir) && workdir.state !== "creating";
  return {
    diff: there ? open("workdir_diff") : null,
    merge: canMerge(workdir) && !busy ? open("merge_workdir") : null,
    remove: there && workdir.state !== "removing" && !busy ? open("remove_workdir") : null,
    restore: canRestore(workdir) && !busy ? open("restore_workdir") : null,
    shell: there ? () => void openShell(app, workdir) : null,
    editor: there ? () => void openEditor(app, workdir) : null,
    copy: () => app.copy(workdir.path),
  };
}

/** The profile of a shell: one that there is, else one that is made for the user's own. */
async function shellProfile(app: App): Promise<Id> {
  const profiles = app.profiles.data ?? [];
  const known = profiles.find(({ adapter, program }) => adapter === "plain" && SHELLS.has(program.split("/").at(-1)!));
  if (known) return known.id;
  const { shell } = await app.backend.call("user_programs", {});
  const name = freeName("shell", new Set(profiles.map((profile) => profile.name)), false);
  const made = await app.backend.call("profile_add", { name, adapter: "plain", program: shell ?? "sh" });
  await app.profiles.refresh();
  return made.id;
}

/** An agent whose program is a shell, in a pane. One that works there already is shown. */
async function openShell(app: App, workdir: Workdir): Promise<void> {
  try {
    const id = await shellProfile(app);
    const agents = app.agents.data ?? [];
    const present = agents.find((agent) => agent.profile === id && agent.workdir === workdir.path);
    if (present) {
      await app.show(present, true);
      if (!present.run || present.run.state === "ended" || present.run.state === "lost") void app.startAgent(present.id);
      return;
    }
    const profile = app.profiles.data?.find((each) => each.id === id);
    if (!profile) return;
    const taken = new Set(agents.filter(({ project }) => project === workdir.project).map(({ name }) => name));
    await app.addAgent({ project: workdir.project, name: freeName(`${workdir.name}-shell`, taken, false), profile, mode: "terminal", role: "", workdir: workdir.path, beside: true });
  } catch (reason) {
    app.report(reason, "A terminal could not be opened there.");
  }
}

/** The window of another program takes a while to come, so it is said that it was asked for. */
async function openEditor(app: App, workdir: Workdir): Promise<void> {
  try {
    const { with: program } = await app.backend.call("desktop_open_directory", { path: workdir.path });
    app.tell(program === null ? `${plain(workdir.name)} opens in your file manager. With VISUAL set to an editor that has a window, it opens there.` : `${plain(workdir.name)} opens in ${plain(program)}.`);
  } catch (reason) {
    app.report(reason, `${plain(workdir.name)} could not be opened.`);
  }
}

export function WorkdirActions({ workdir }: { workdir: Workdir }) {
  const app = useApp();
  useStore(app.workdirs.busy);
  const { diff, merge, remove, restore, shell, editor, copy } = actionsOf(app, workdir);
  return (
    <div className="workdir-actions">
      {diff && <Button icon="note" onClick={diff} title="Show the difference (D)" testid={ids.workdirDiff}>Difference</Button>}
      {merge && <Button icon="merge" onClick={merge} title="Merge (M)" testid={ids.workdirMerge}>Merge…</Button>}
      {restore && <Button icon="retry" look="primary" onClick={restore} title="Restore (R)" testid={ids.workdirRestore}>Restore…</Button>}
      {shell && <Button icon="terminal" onClick={shell} title="Open a terminal in it (T)" testid={ids.workdirShell}>Terminal</Button>}
      {editor && <Button icon="folder" onClick={editor} title="Open it in your editor, or else in the file manager (E)" testid={ids.workdirEditor}>Editor</Button>}
      <CopyButton copy={copy} label="Copy path" title="Copy the path (Y)" testid={ids.workdirCopy} />
      {remove && <Button icon="trash" onClick={remove} title="Remove (X)" testid={ids.workdirRemove}>Remove…</Button>}
    </div>
  );
}
