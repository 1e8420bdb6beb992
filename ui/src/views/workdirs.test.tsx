// @vitest-environment jsdom
// The workdirs of a project, on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, profileOf, type World } from "../backend/fake";
import type { Workdir } from "../generated/api";
import { ids } from "../shared/testids";
import { app, backend, onePane, openWindow, press, project, projectOf, user } from "./opened-window";

function world(): World {
  const atlas = projectOf("atlas");
  const claude = profileOf("claude", "claude", "/bin/claude");
  const planner = agentOf("planner", atlas, claude);
  return {
    ...emptyWorld(), projects: [atlas], profiles: [claude], agents: [planner],
    layouts: onePane(atlas, planner.id),
  };
}

async function open(fill: () => void = () => undefined): Promise<void> {
  await openWindow(world(), fill);
  await waitFor(() => expect(app.profiles.data && app.agents.data).toBeTruthy());
  await press("{Control>}{Shift>}G{/Shift}{/Control}");
  await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.workdirsList)));
  await waitFor(() => expect(app.workdirs.lists.of(project()).data).toBeTruthy());
}

const put = (name: string, part: Partial<Workdir> = {}) => backend.workdirs.put(project(), name, part);
const find = (id: string) => backend.workdirs.list({}).find((each) => each.id === id)!;
const rows = () => screen.queryAllByTestId(ids.workdirRow);
const row = (name: string) => rows().find((each) => each.dataset["name"] === name)!;
const dialog = () => screen.findByTestId(ids.workdirDialog);
const yes = () => user.click(screen.getByTestId(ids.workdirDialogYes));

describe("the workdirs", () => {
  it("say what one is while there is none, and make the first; a refusal stays in the dialog", async () => {
    await open();
    expect(screen.getByTestId(ids.workdirsEmpty).textContent).toContain("A workdir is a branch and a worktree of its own");
    await press("n");
    expect(document.activeElement).toBe(await screen.findByTestId(ids.workdirNewName));
    await press("-bad{Enter}");
    expect((await screen.findByTestId(ids.error)).textContent).toContain(`"-bad" cannot be a name.`);
    await user.clear(screen.getByTestId(ids.workdirNewName));
    await press("storm");
    expect(screen.getByTestId(ids.workdirNewDialog).textContent).toContain("carillon/storm");
    await press("{Enter}");
    await waitFor(() => expect(screen.queryByTestId(ids.workdirNewDialog)).toBeNull());
    await waitFor(() => expect(rows().map((each) => each.dataset["name"])).toEqual(["storm"]));
    // The list shows it, so nothing else has to say it.
    expect(screen.queryByTestId(ids.toast)).toBeNull();
  });

  it("show branch, owner, how far they are and whether they may go and why; and follow what happens", async () => {
    let id = "";
    await open(() => {
      id = put("storm", { owner: backend.world.agents[0]!.id, ahead: 3, behind: 2, dirty: true, verdict: "blocked", reasons: ["agent planner works in it", "2 files changed and not committed"] }).id;
      put("calm");
    });
    await waitFor(() => expect(rows().length).toBe(2));
    expect(row("storm").textContent).toContain("must stay · 3 commits ahead · 2 behind main · not all committed");
    expect(row("storm").textContent).toContain("planner");
    expect(row("calm").textContent).toContain("safe to remove · no commit yet");
    await press("{Home}{Enter}");
    const detail = await screen.findByTestId(ids.workdirDetail);
    for (const words of ["carillon/storm → main", "/home/dev/.local/share/carillon/worktrees/atlas/storm", "Agent planner works in it", "2 files changed and not committed"]) expect(detail.textContent).toContain(words);
    act(() => void backend.workdirs.set(id, { verdict: "needs_consent", reasons: ["3 commits on no other branch"] }));
    await waitFor(() => expect(detail.textContent).toContain("3 commits on no other branch"));
    await press("y");
    await waitFor(() => expect(backend.clipboard).toContain("/storm"));
    await press("{Escape}");
    expect(screen.queryByTestId(ids.workdirDetail)).toBeNull();
    expect(document.activeElement).toBe(screen.getByTestId(ids.workdirsList));
  });

  it("that cannot be fetched say so, and are looked at again", async () => {
    await open();
    backend.failNext("workdirs_list", new BackendError("failed", "git was not found.", "Install git."));
    await user.click(screen.getByTestId(ids.workdirsRefresh));
    expect((await screen.findByTestId(ids.error)).textContent).toContain("Install git.");
    await user.click(screen.getByText("Try again"));
    await waitFor(() => expect(screen.queryByTestId(ids.error)).toBeNull());
  });

  it("are merged as one chooses, which is said beforehand; conflicts change nothing", async () => {
    let id = "";
    await open(() => {
      id = put("storm", { ahead: 3 }).id;
    });
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}m");
    const box = await dialog();
    expect(box.textContent).toContain("Brings its 3 commits to main as they are");
    expect(box.textContent).toContain("Then the worktree and its branch are removed.");
    await user.click(screen.getAllByTestId(ids.workdirMergeHow).find((each) => each.dataset["how"] === "squash")!);
    await user.click(screen.getByTestId(ids.workdirMergeKeep));
    expect(box.textContent).toContain("The worktree and its branch stay.");
    backend.workdirs.conflicts.set(id, ["src/lamp.ts"]);
    await yes();
    const error = await within(box).findByTestId(ids.error);
    expect(error.textContent).toContain("these files would conflict: src/lamp.ts");
    expect(find(id).state).toBe("active");
    await user.clear(screen.getByTestId(ids.workdirMergeInto));
    await user.type(screen.getByTestId(ids.workdirMergeInto), "release");
    await yes();
    await waitFor(() => expect(screen.queryByTestId(ids.workdirDialog)).toBeNull());
    expect(backend.calls.findLast(({ method }) => method === "workdir_merge")?.params).toEqual({ workdir: id, how: "squash", into: "release", keep: true });
    expect(find(id).state).toBe("merged");
    await waitFor(() => expect(row("storm").dataset["state"]).toBe("merged"));
    expect(screen.queryByTestId(ids.toast)).toBeNull();
  });

  it("with something uncommitted cannot be merged, until that is seen to", async () => {
    let id = "";
    await open(() => {
      id = put("storm", { ahead: 1, dirty: true, reasons: ["1 file changed and not committed"] }).id;
    });
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}m");
    expect((await dialog()).textContent).toContain("Something in it is not committed");
    expect(screen.queryByTestId(ids.workdirDialogYes)).toBeNull();
    act(() => void backend.workdirs.set(id, { dirty: false, ahead: 2 }));
    await screen.findByTestId(ids.workdirDialogYes);
    await yes();
    await waitFor(() => expect(find(id).state).toBe("tombstoned"));
  });

  it("are removed with what they hold archived, stay when they must, and come back", async () => {
    let held = "";
    let blocked = "";
    await open(() => {
      held = put("storm", { verdict: "needs_consent", reasons: ["1 commit on no other branch"] }).id;
      blocked = put("used", { verdict: "blocked", reasons: ["in use by pid 12 (vim): it works there"] }).id;
    });
    await waitFor(() => expect(rows().length).toBe(2));
    await press("{End}x");
    expect((await dialog()).textContent).toContain("In use by pid 12 (vim): it works there");
    expect(screen.queryByTestId(ids.workdirDialogYes)).toBeNull();
    act(() => void backend.workdirs.set(blocked, { verdict: "safe", reasons: ["no commit was made in it"] }));
    await screen.findByTestId(ids.workdirDialogYes);
    await press("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.workdirsList)));
    await press("{Home}{Enter}x");
    const box = await dialog();
    expect(box.textContent).toContain("1 commit on no other branch");
    expect(box.textContent).toContain("for 30 days Restore brings them back");
    // Enter at first means Cancel: nothing goes by a key pressed too often.
    expect(document.activeElement?.textContent).toBe("Cancel");
    backend.failNext("workdir_remove", new BackendError("refused", "it could not be archived", "free some space"));
    await yes();
    expect((await within(box).findByTestId(ids.error)).textContent).toContain("it could not be archived");
    await yes();
    await waitFor(() => expect(find(held).state).toBe("tombstoned"));
    // What was open is followed to the gone ones.
    await waitFor(() => expect(row("storm")?.dataset["state"]).toBe("tombstoned"));
    expect(row("storm").textContent).toContain("removed by you · can be restored");
    screen.getByTestId(ids.workdirsList).focus();
    act(() => void backend.workdirs.set(held, { not_kept: ["build/x.sock"] }));
    await waitFor(() => expect(screen.getByTestId(ids.workdirDetail).textContent).toContain("build/x.sock"));
    await press("r");
    expect((await dialog()).textContent).toContain("1 thing could not be kept");
    await press("{Enter}");
    await waitFor(() => expect(find(held).state).toBe("active"));
    await waitFor(() => expect(row("storm")?.dataset["state"]).toBe("active"));
  });

  it("that are merged while the dialog is closed tell how it went", async () => {
    await open(() => void put("storm", { ahead: 1 }));
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}m");
    await dialog();
    let fail = (_: unknown) => {};
    const call = backend.call.bind(backend);
    backend.call = ((method, params) => (method === "workdir_merge" ? new Promise((_, reject) => (fail = reject)) : call(method, params))) as typeof backend.call;
    await yes();
    await press("{Escape}");
    await waitFor(() => expect(row("storm").textContent).toContain("merging…"));
    await press("m");
    expect(screen.queryByTestId(ids.workdirDialog)).toBeNull();
    act(() => fail(new BackendError("refused", "these files would conflict: a", "nothing was changed")));
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("storm was not merged: these files would conflict: a");
  });

  it("open in a terminal where a profile is a shell", async () => {
    await open(() => {
      put("storm");
      backend.world.profiles.push(profileOf("bash", "plain", "/bin/bash"));
    });
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}t");
    await waitFor(() => expect(backend.world.agents.map(({ name, workdir }) => [name, workdir.split("/").at(-1)])).toContainEqual(["storm-shell", "storm"]));
    await press("{Control>}{Shift>}G{/Shift}{/Control}");
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.workdirsList)));
    await press("{Home}t");
    await waitFor(() => expect(document.activeElement?.closest("[data-testid=pane]")).toBeTruthy());
    expect(backend.world.agents.length).toBe(2);
  });

  it("open in a terminal with the user's own shell where no profile is one", async () => {
    await open(() => void put("storm"));
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}t");
    await waitFor(() => expect(backend.world.agents.map(({ name }) => name)).toContain("storm-shell"));
    expect(backend.world.profiles.map(({ name, program }) => [name, program])).toContainEqual(["shell", "/bin/zsh"]);
  });

  it("open in the user's editor, or else in the file manager, and it is said which", async () => {
    await open(() => void put("storm"));
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}e");
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("storm opens in your file manager.");
    backend.desktop.programs = { shell: null, editor: ["/usr/bin/code", "--wait"] };
    await press("{Enter}");
    await user.click(await screen.findByTestId(ids.workdirEditor));
    await screen.findByText("storm opens in code.");
    expect(backend.desktop.opened).toEqual([find(rows()[0]!.dataset["workdir"]!).path, find(rows()[0]!.dataset["workdir"]!).path]);
    backend.failNext("desktop_open_directory", new BackendError("failed", "It could not be opened.", "Copy the path."));
    await user.click(screen.getByTestId(ids.workdirEditor));
    await screen.findByText("Copy the path.");
  });

  it("open in a pane when the user's editor works in a terminal, and the same pane is shown again", async () => {
    await open(() => {
      put("storm");
      backend.desktop.programs = { shell: "/bin/zsh", editor: ["/usr/bin/vim", "-p"] };
    });
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}e");
    await waitFor(() => expect(backend.world.agents.map(({ name }) => name)).toContain("storm-vim"));
    const { path } = find(rows()[0]!.dataset["workdir"]!);
    expect(backend.world.agents.find(({ name }) => name === "storm-vim")).toMatchObject({ mode: "terminal", workdir: path });
    expect(backend.world.profiles.map(({ name, adapter, program, args }) => [name, adapter, program, args])).toContainEqual(["vim", "plain", "/usr/bin/vim", ["-p", "."]]);
    await waitFor(() => expect(document.activeElement?.closest("[data-testid=pane]")?.getAttribute("data-agent")).toBe("storm-vim"));
    const { agents, profiles } = backend.world;
    const before = [agents.length, profiles.length];
    backend.endRun("storm-vim", { exit_code: 0, signal: null, reason: "exited 0" });
    screen.getByTestId(ids.workdirsList).focus();
    await press("{Home}e");
    await waitFor(() => expect(backend.world.agents.find(({ name }) => name === "storm-vim")?.run?.state).toBe("running"));
    expect([backend.world.agents.length, backend.world.profiles.length]).toEqual(before);
    expect(backend.desktop.opened).toEqual([]);
  });

  it("say how their set-up stands, and lead to its task", async () => {
    let id = "";
    await open(() => {
      id = backend.tasks.add({ project: project(), command: ["sh", "-c", "npm ci"], title: "set up storm" }).id;
      put("storm", { id });
    });
    await waitFor(() => expect(row("storm").textContent).toContain("it is being set up"));
    act(() => backend.tasks.end(id, { exit_code: 1 }));
    await waitFor(() => expect(row("storm").textContent).toContain("its set-up failed"));
    await press("{Home}{Enter}");
    await user.click(within(await screen.findByTestId(ids.workdirSetUp)).getByText("Show the task"));
    await waitFor(() => expect(screen.getByTestId(ids.taskDetail).dataset["task"]).toBe(id));
  });

  it("are measured when one looks at one", async () => {
    await open(() => {
      const { path } = put("storm");
      backend.residue.add({ kind: "worktree", name: "storm", path, project: project(), bytes: 3 * 1024 ** 2, verdict: "needs_consent" });
    });
    await waitFor(() => expect(rows().length).toBe(1));
    expect(backend.countOf("residue_list")).toBe(0);
    await press("{Home}{Enter}");
    expect((await screen.findByTestId(ids.workdirSize)).textContent).toBe("3 MiB");
    expect(backend.calls.find(({ method }) => method === "residue_list")?.params).toEqual({ kind: "worktree", project: project() });
  });

  it("whose path was copied say so where one pressed", async () => {
    await open(() => void put("storm"));
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}{Enter}");
    const button = await screen.findByTestId(ids.workdirCopy);
    await user.click(button);
    await waitFor(() => expect(button.textContent).toBe("Copied"));
    expect(screen.queryByTestId(ids.toast)).toBeNull();
    await waitFor(() => expect(button.textContent).toBe("Copy path"));
  });
});

describe("a difference", () => {
  it("is read in colours, by files, and says when it is cut", async () => {
    let id = "";
    await open(() => {
      id = put("storm", { ahead: 1 }).id;
      backend.workdirs.setDiff(id, { untracked: ["notes.md"], truncated: true });
    });
    await waitFor(() => expect(rows().length).toBe(1));
    await press("{Home}d");
    const lines = await screen.findByTestId(ids.diffLines);
    expect(document.activeElement?.closest("[data-testid=diff-dialog]")).toBeTruthy();
    expect(screen.getAllByTestId(ids.diffFile).map((each) => each.textContent)).toEqual(["src/lamp.ts+3 −1", "src/keeper.ts+0 −1"]);
    expect(screen.getByTestId(ids.diffDialog).textContent).toContain("notes.md");
    expect(screen.getByTestId(ids.diffCut).textContent).toContain("too large to be shown whole");
    expect(within(lines).getAllByTestId(ids.diffRow).filter((each) => each.dataset["kind"] === "added").length).toBe(3);
    await user.click(screen.getAllByTestId(ids.diffFile)[1]!);
    expect(lines.scrollTop).toBe(13 * 18);
    lines.focus();
    await press("p");
    expect(lines.scrollTop).toBe(0);
    await press("n");
    expect(lines.scrollTop).toBe(13 * 18);
    await press("{Escape}");
    expect(screen.queryByTestId(ids.diffDialog)).toBeNull();
  });

  it("of a hundred thousand lines draws those in sight, and one that fails says why", async () => {
    await open(() => {
      const { id } = put("storm");
      backend.workdirs.setDiff(id, { text: `diff --git a/x b/x\n@@\n${"+line\n".repeat(100_000)}`, files: [{ path: "x", added: 100_000, deleted: 0 }] });
    });
    await waitFor(() => expect(rows().length).toBe(1));
    backend.failNext("workdir_diff", new BackendError("failed", "git says no.", "`carillon workdirs list` shows how it stands"));
    await press("{Home}d");
    expect((await screen.findByTestId(ids.errorHint)).textContent).toBe("The list shows how it stands");
    await user.click(screen.getByText("Read again"));
    await screen.findByTestId(ids.diffLines);
    expect(screen.getAllByTestId(ids.diffRow).length).toBeLessThan(150);
  });
});
