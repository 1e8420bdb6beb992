import type { Id, Profile, Workdir } from "../../generated/api";
import { freeName, useApp } from "../../state/app";
import type { App } from "../../state/app";
import { useStore } from "../../state/store";
import { canMerge, canRestore, canStop, isGone } from "../../state/workdir-words";
import { isLive } from "../../state/words";
import { Button } from "../../shared/Button";
import { CopyButton } from "../../shared/CopyButton";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { editorName, inTerminal } from "./editors";

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
    stop: canStop(workdir, app.workdirs.busy.get()[workdir.id]) ? () => void stopWork(app, workdir) : null,
  };
}

/** Reports its own failure, and says why it goes on where it does. */
async function stopWork(app: App, workdir: Workdir): Promise<void> {
  try {
    const goesOn = await app.workdirs.stop(workdir);
    if (goesOn !== null) app.tell(`${plain(workdir.name)} was not stopped: ${plain(goesOn)}.`);
  } catch (reason) {
    app.report(reason, `${plain(workdir.name)} could not be stopped.`);
  }
}

/** While git merges or removes it. */
export function StopButton({ workdir }: { workdir: Workdir }) {
  const app = useApp();
  const busy = useStore(app.workdirs.busy)[workdir.id];
  const stopping = useStore(app.workdirs.stopping).has(workdir.id);
  if (!canStop(workdir, busy)) return null;
  return <Button icon="stop" busy={stopping} onClick={() => void stopWork(app, workdir)} title={busy === "merging" ? "Stop the merge (S)" : "Stop the removal (S)"} testid={ids.workdirStop}>Stop</Button>;
}

/** The profile of a shell: one that there is, else one that is made for the user's own. */
async function shellProfile(app: App): Promise<Id> {
  const known = (app.profiles.data ?? []).find(({ adapter, program }) => adapter === "plain" && SHELLS.has(program.split("/").at(-1)!));
  if (known) return known.id;
  const { shell } = await app.backend.call("user_programs", {});
  return makeProfile(app, "shell", shell ?? "sh", []);
}

/** The profile of a program with these arguments: one that there is, else one that is made for it. */
async function profileOf(app: App, program: string, args: string[]): Promise<Id> {
  const isIt = (profile: Profile) => profile.adapter === "plain" && profile.program === program && profile.args.join("\0") === args.join("\0");
  return app.profiles.data?.find(isIt)?.id ?? makeProfile(app, editorName(program), program, args);
}

async function makeProfile(app: App, stem: string, program: string, args: string[]): Promise<Id> {
  const taken = new Set(app.profiles.data?.map(({ name }) => name));
  const made = await app.backend.call("profile_add", { name: freeName(stem, taken, false), adapter: "plain", program, ...(args.length > 0 ? { args } : {}) });
  await app.profiles.refresh();
  return made.id;
}

/** An agent of this profile in a pane, whose program works in the workdir. One that is there already is shown. */
async function openInPane(app: App, workdir: Workdir, id: Id, word: string): Promise<void> {
  const agents = app.agents.data ?? [];
  const present = agents.find((agent) => agent.profile === id && agent.workdir === workdir.path);
  if (present) {
    await app.show(present, true);
    if (!isLive(present.run)) void app.startAgent(present.id);
    return;
  }
  const profile = app.profiles.data?.find((each) => each.id === id);
  if (!profile) return;
  const taken = new Set(agents.filter(({ project }) => project === workdir.project).map(({ name }) => name));
  await app.addAgent({ project: workdir.project, name: freeName(`${workdir.name}-${word}`, taken, false), profile, mode: "terminal", role: "", workdir: workdir.path, beside: true });
}

async function openShell(app: App, workdir: Workdir): Promise<void> {
  try {
    await openInPane(app, workdir, await shellProfile(app), "shell");
  } catch (reason) {
    app.report(reason, "A terminal could not be opened there.");
  }
}

/** An editor that works in a terminal gets a pane. The window of any other takes a while to come, so it is said that it was asked for. */
async function openEditor(app: App, workdir: Workdir): Promise<void> {
  try {
    const { editor } = await app.backend.call("user_programs", {});
    const [program, ...args] = inTerminal(editor ?? []) ?? [];
    if (program !== undefined) return await openInPane(app, workdir, await profileOf(app, program, args), editorName(program));
    const { with: opened } = await app.backend.call("desktop_open_directory", { path: workdir.path });
    app.tell(opened === null ? `${plain(workdir.name)} opens in your file manager. With VISUAL set to an editor that is known, it opens there.` : `${plain(workdir.name)} opens in ${plain(opened)}.`);
  } catch (reason) {
    app.report(reason, `${plain(workdir.name)}:`);
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
      <StopButton workdir={workdir} />
      {shell && <Button icon="terminal" onClick={shell} title="Open a terminal in it (T)" testid={ids.workdirShell}>Terminal</Button>}
      {editor && <Button icon="folder" onClick={editor} title="Open it in your editor, or else in the file manager (E)" testid={ids.workdirEditor}>Editor</Button>}
      <CopyButton copy={copy} label="Copy path" title="Copy the path (Y)" testid={ids.workdirCopy} />
      {remove && <Button icon="trash" onClick={remove} title="Remove (X)" testid={ids.workdirRemove}>Remove…</Button>}
    </div>
  );
}
