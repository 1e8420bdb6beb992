// @vitest-environment jsdom
// Clearing up what is left behind, on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, profileOf, type World } from "../backend/fake";
import { ids } from "../shared/testids";
import { app, backend, openWindow, project, projectOf, user } from "./opened-window";

const MIB = 1024 ** 2;

function world(): World {
  const atlas = projectOf("atlas");
  const lamp = projectOf("lamp");
  return { ...emptyWorld(), projects: [atlas, lamp], agents: [agentOf("ada", atlas, profileOf("claude", "claude", "/bin/claude"))] };
}

async function open(fill: () => void = () => undefined): Promise<void> {
  await openWindow(world(), fill);
  await show();
}

async function show(): Promise<void> {
  await user.keyboard("{Control>}{Shift>}L{/Shift}{/Control}");
  await screen.findByTestId(ids.cleanup);
  await waitFor(() => expect(app.cleanup.report.data).toBeTruthy());
}

const items = () => screen.queryAllByTestId(ids.residue);
const item = (name: string) => items().find((each) => each.dataset["name"] === name)!;
const names = () => items().map((each) => each.dataset["name"]);
const total = () => screen.getByTestId(ids.cleanupTotal).textContent;
const apply = () => user.click(screen.getByTestId(ids.cleanupApply));
const sent = () => backend.calls.filter(({ method }) => method === "residue_apply").map(({ params }) => params);

/** Two that are safe, one that wants consent, one that must stay. */
function some() {
  const { residue, world: { agents } } = backend;
  return {
    temp: residue.add({ kind: "temp", name: "t1", project: project(0), owner: agents[0]!.id, bytes: 3 * MIB }),
    log: residue.add({ kind: "log", name: "npm test", project: project(1), bytes: MIB, reasons: ["the time for which it is kept is over"] }),
    worktree: residue.add({ kind: "worktree", name: "storm", project: project(0), bytes: 2 * MIB, verdict: "needs_consent", reasons: ["1 commit on no other branch"] }),
    used: residue.add({ kind: "temp", name: "t2", project: project(0), bytes: 0, verdict: "blocked", reasons: ["in use by pid 7 (node): it works there"] }),
  };
}

describe("cleaning up", () => {
  it("says so when nothing is left behind, and when it could not be looked at", async () => {
    await open();
    expect(screen.getByTestId(ids.cleanupEmpty).textContent).toContain("Nothing is left behind.");
    expect(screen.getByTestId<HTMLButtonElement>(ids.cleanupApply).disabled).toBe(true);
    backend.failNext("residue_list", new BackendError("failed", "The disk cannot be read.", "Look at it."));
    await user.click(screen.getByTestId(ids.cleanupRefresh));
    expect((await screen.findByTestId(ids.error)).textContent).toContain("The disk cannot be read.");
  });

  it("shows each thing with its owner, size, age, verdict and reason before anything goes, with totals by kind and project", async () => {
    await open(some);
    await waitFor(() => expect(names()).toEqual(["t1", "t2", "npm test", "storm"]));
    for (const words of ["safe its run is over", "3 MiB", "ada in atlas", "1 h ago"]) expect(item("t1").textContent).toContain(words);
    expect(item("t2").textContent).toContain("must stay in use by pid 7 (node): it works there");
    expect(within(item("t2")).queryByTestId(ids.residueConsent)).toBeNull();
    expect(item("storm").textContent).toContain("your choice 1 commit on no other branch");
    expect(screen.getAllByTestId(ids.cleanupKind).map((each) => each.textContent)).toEqual(["Temp directories2, 3 MiB", "Logs1, 1 MiB", "Worktrees1, 2 MiB"]);
    expect([...screen.getByTestId<HTMLSelectElement>(ids.cleanupProject).options].map(({ text }) => text)).toEqual(["All projects (4, 6 MiB)", "atlas (3, 5 MiB)", "lamp (1, 1 MiB)"]);
    expect(total()).toBe("2 things would go, about 4 MiB. 1 thing waits for your tick, 1 must stay.");
    expect(sent()).toEqual([]);
  });

  it("clears what is safe and what was ticked, tells what came free, and keeps what was refused with its reason", async () => {
    let made!: ReturnType<typeof some>;
    await open(() => {
      made = some();
      backend.residue.refusals.set(made.log.id, "error: permission denied");
    });
    await waitFor(() => expect(items().length).toBe(4));
    // By keys: from box to box, Space ticks.
    await waitFor(() => expect(document.activeElement?.closest("[data-testid=cleanup]")).toBeTruthy());
    screen.getByTestId(ids.cleanupList).focus();
    await user.keyboard("{ArrowDown} ");
    expect(total()).toContain("3 things would go, about 6 MiB; 1 of them on your word. 1 must stay.");
    await apply();
    const outcome = await screen.findByTestId(ids.cleanupOutcome);
    expect(sent()).toMatchObject([{ consent: [made.worktree.id] }]);
    expect(new Set(sent().flatMap((params) => (params as { only: string[] }).only))).toEqual(new Set([made.worktree.id, made.temp.id, made.log.id]));
    expect(outcome.textContent).toContain("2 things are gone, and 5 MiB came free. 1 thing stayed.");
    expect(screen.getAllByTestId(ids.cleanupRefused).map((each) => each.textContent)).toEqual(["npm test (logs) stays: error: permission denied"]);
    await waitFor(() => expect(names()).toEqual(["t2", "npm test"]));
    await user.click(within(outcome).getByLabelText("Dismiss"));
    expect(screen.queryByTestId(ids.cleanupOutcome)).toBeNull();
  });

  it("takes nothing that is not looked at, and nothing that became safe since", async () => {
    let made!: ReturnType<typeof some>;
    await open(() => (made = some()));
    await waitFor(() => expect(items().length).toBe(4));
    await user.click(screen.getByTestId(ids.residueConsent));
    await user.click(screen.getAllByTestId(ids.cleanupKind).find((each) => each.dataset["kind"] === "log")!);
    expect(names()).toEqual(["npm test"]);
    await user.selectOptions(screen.getByTestId(ids.cleanupProject), project(1));
    await apply();
    const { log } = made;
    await waitFor(() => expect(sent()).toEqual([{ consent: [], only: [log.id] }]));
    await screen.findByTestId(ids.cleanupEmpty);
    expect(backend.residue.items.map(({ name }) => name)).toEqual(["t1", "storm", "t2"]);
  });

  it("tells how far it is, and stops when it is told to", async () => {
    await open(() => {
      backend.residue.hurry = false;
      for (const name of ["a", "b", "c"]) backend.residue.add({ kind: "temp", name, bytes: MIB });
    });
    await waitFor(() => expect(items().length).toBe(3));
    await apply();
    const progress = () => screen.getByTestId(ids.cleanupProgress);
    await waitFor(() => expect(progress().dataset["total"]).toBe("3"));
    act(() => backend.residue.step());
    await waitFor(() => expect(progress().textContent).toContain("1 of 3, 1 MiB free"));
    backend.failNext("residue_cancel", new BackendError("failed", "It does not listen.", "Try again."));
    await user.click(screen.getByTestId(ids.cleanupCancel));
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("It could not be stopped. It does not listen.");
    await user.click(screen.getByTestId(ids.cleanupCancel));
    const outcome = await screen.findByTestId(ids.cleanupOutcome);
    expect(outcome.textContent).toContain("Broken off: 1 thing is gone, and 1 MiB came free. 2 things stayed.");
    expect(outcome.textContent).toContain("it was broken off before");
    await waitFor(() => expect(names()).toEqual(["b", "c"]));
  });

  it("goes on when the dialog is closed, and tells how it went", async () => {
    await open(() => {
      backend.residue.hurry = false;
      backend.residue.add({ kind: "temp", name: "a", project: project(0), bytes: MIB });
    });
    await waitFor(() => expect(items().length).toBe(1));
    await apply();
    await screen.findByTestId(ids.cleanupProgress);
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.getByTestId(ids.cleanupOpen).textContent).toContain("Clearing up"));
    act(() => backend.residue.step());
    const toast = await screen.findByTestId(ids.toastOpen);
    expect(toast.textContent).toContain("1 thing is gone, and 1 MiB came free.");
    await user.click(toast);
    expect((await screen.findByTestId(ids.cleanupOutcome)).textContent).toContain("1 thing is gone");
  });

  it("says when it failed as a whole, and nothing is ticked any more", async () => {
    await open(some);
    await waitFor(() => expect(items().length).toBe(4));
    await user.click(screen.getByTestId(ids.residueConsent));
    backend.failNext("residue_apply", new BackendError("not_found", `there is no residue "x"`, "`carillon clean` shows what there is; nothing was removed"));
    await apply();
    expect((await screen.findByTestId(ids.errorHint)).textContent).toBe("The report shows what there is; nothing was removed");
    expect(screen.getByTestId<HTMLInputElement>(ids.residueConsent).checked).toBe(false);
    expect(items().length).toBe(4);
  });

  it("brings a workdir back that is gone, and says why it cannot", async () => {
    let id = "";
    await open(() => {
      const gone = { state: "tombstoned" as const, ended_ms: 5, why: "removed by you", verdict: null };
      id = backend.workdirs.put(project(0), "storm", { ...gone, archive_ref: "refs/carillon/archive/1", not_kept: ["x.sock"] }).id;
      backend.workdirs.put(project(1), "calm", gone);
    });
    await user.click(screen.getAllByTestId(ids.cleanupTab)[1]!);
    await waitFor(() => expect(screen.getAllByTestId(ids.goneRow).map((each) => each.dataset["name"])).toEqual(["storm", "calm"]));
    const [storm, calm] = screen.getAllByTestId(ids.goneRow);
    expect(calm!.textContent).toContain("nothing to restore");
    expect(within(calm!).queryByTestId(ids.goneRestore)).toBeNull();
    await user.click(within(storm!).getByTestId(ids.goneRestore));
    expect(storm!.textContent).toContain("Missing will be: x.sock.");
    backend.failNext("workdir_restore", new BackendError("refused", `there is another workdir "storm" now`, "merge or remove that one first"));
    await user.keyboard("{Enter}");
    expect((await within(storm!).findByTestId(ids.error)).textContent).toContain("there is another workdir");
    await user.click(within(storm!).getByTestId(ids.workdirDialogYes));
    await waitFor(() => expect(backend.workdirs.list({}).find((each) => each.id === id)!.state).toBe("active"));
    await waitFor(() => expect(screen.getAllByTestId(ids.goneRow).length).toBe(1));
  });
});
