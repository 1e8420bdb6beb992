// @vitest-environment jsdom
// What a checker of accessibility finds in the window: nothing, in any view and any dialog. It cannot see colours here, so those are
// checked by their numbers in shared/theme.test.ts.

import { act, screen, waitFor } from "@testing-library/react";
import axe from "axe-core";
import { describe, expect, it } from "vitest";
import { agentOf, emptyWorld, profileOf, type World } from "../backend/fake";
import type { DialogState } from "../state/view";
import { ids } from "../shared/testids";
import { app, backend, idOf, openWindow, press, project, projectOf, shortcut, twoPanes } from "./opened-window";

/** Without a layout nothing has a place, so what depends on one cannot be judged. */
const UNSEEN = { "color-contrast": { enabled: false }, region: { enabled: false }, "scrollable-region-focusable": { enabled: false } };

async function findings(): Promise<string[]> {
  const { violations } = await axe.run(document.body, { resultTypes: ["violations"], rules: UNSEEN });
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)}`));
}

/** A project with something of everything in it. */
async function open(): Promise<void> {
  const atlas = projectOf("atlas");
  const claude = profileOf("claude", "claude", "/bin/claude");
  const scout = agentOf("scout", atlas, claude, "headless");
  const planner = agentOf("planner", atlas, claude);
  const world: World = { ...emptyWorld(), projects: [atlas], profiles: [claude], agents: [scout, planner], layouts: twoPanes(atlas, scout.id, planner.id, "p1") };
  await openWindow(world, () => {
    const { id } = backend.asks.open({ id: "a".repeat(32), agent: idOf("scout"), prompt: "Look." });
    const task = backend.tasks.add({ project: atlas.id, owner: scout.id, command: ["sh", "-c", "npm test"] });
    backend.asks.join(id, { kind: "task", id: task.id, command: "npm test" });
    backend.asks.finish(backend.asks.current(scout.id).id, "See:\n\n```ts\ncalm();\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |");
    backend.asks.send({ id: "b".repeat(32), agent: scout.id, text: "The oil has come." });
    backend.limits.limit(claude, { waiting: ["scout"] });
    backend.limits.ask(scout.id, ["npm", "run", "e2e"]);
    backend.workdirs.put(atlas.id, "storm", { owner: scout.id, ahead: 1, dirty: true, verdict: "needs_consent", reasons: ["1 commit on no other branch"] });
    backend.workdirs.put(atlas.id, "old", { state: "tombstoned", why: "merged", archive_ref: "refs/x" });
    backend.residue.add({ kind: "temp", name: "t1", project: atlas.id, bytes: 3 });
    backend.residue.add({ kind: "worktree", name: "storm", project: atlas.id, bytes: 3, verdict: "needs_consent", reasons: ["1 commit on no other branch"] });
  });
  await waitFor(() => expect(app.asks.of(project()).loaded && app.work.of(project()).loaded && app.approvals.all.data && app.limits.all.data).toBeTruthy());
}

describe("a checker of accessibility finds nothing wrong", () => {
  it("with the welcome", async () => {
    await openWindow(emptyWorld());
    expect(await findings()).toEqual([]);
  });

  it.each([["J", ids.tasksList], ["K", ids.asksList], ["M", ids.inboxList], ["G", ids.workdirRow], ["Y", ids.approval]])("with the panel of Ctrl+Shift+%s", async (key, inside) => {
    await open();
    await press(shortcut(key));
    await screen.findAllByTestId(inside);
    if (key === "G") await press("{Home}{Enter}");
    expect(await findings()).toEqual([]);
  });

  const dialogs: [string, () => DialogState, string][] = [
    ["cleanup", () => ({ kind: "cleanup" }), ids.residue], ["limits", () => ({ kind: "limits" }), ids.limitRow], ["settings", () => ({ kind: "settings", page: "general" }), ids.settingsTheme],
    ["profiles", () => ({ kind: "settings", page: "profiles" }), ids.profileRow], ["a profile", () => ({ kind: "settings", page: "profiles", profile: backend.world.profiles[0]!.id }), ids.profileEditor],
    ["doctor", () => ({ kind: "settings", page: "doctor" }), ids.doctor], ["shortcuts", () => ({ kind: "shortcuts" }), ids.shortcuts], ["palette", () => ({ kind: "palette" }), ids.palette],
    ["add an agent", () => ({ kind: "add_agent", project: project(), beside: true }), ids.addAgentChoice], ["ask an agent", () => ({ kind: "ask_agent", project: project(), agent: null }), ids.askDialog],
    ["a new workdir", () => ({ kind: "new_workdir", project: project() }), ids.workdirNewDialog], ["a new task", () => ({ kind: "new_task", project: project() }), ids.taskNewDialog],
    ["what was used", () => ({ kind: "usage", project: project() }), ids.usage], ["open a project", () => ({ kind: "open_project" }), ids.openProjectPath],
    ["remove an agent", () => ({ kind: "remove_agent", agent: idOf("scout") }), ids.confirmDialog],
    ...(["workdir_diff", "merge_workdir", "remove_workdir"] as const).map((kind): [string, () => DialogState, string] => [
      kind.replace("_", " "), () => ({ kind, project: project(), workdir: backend.workdirs.list({})[0]!.id }), kind === "workdir_diff" ? ids.diffDialog : ids.workdirDialog,
    ]),
  ];
  it.each(dialogs)("with the dialog: %s", async (_, dialog, inside) => {
    await open();
    act(() => app.open(dialog()));
    await screen.findAllByTestId(inside);
    expect(await findings()).toEqual([]);
    // Whatever it is, Escape leads out of it.
    await press("{Escape}");
    await waitFor(() => expect(app.view.get().dialog).toBeNull());
  });
});
