// @vitest-environment jsdom
// A temp directory that takes much room: said where its owner is seen, with what happens next and what can be done.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import type { Id, TempUse } from "../generated/api";
import { ids } from "../shared/testids";
import { app, backend, idOf, oneAgent, onePane, openWindow, press, project, shortcut, user } from "./opened-window";

const GIB = 1024 ** 3;
const use = (part: Partial<TempUse> = {}): TempUse => ({ path: "/home/dev/.cache/carillon/t/1a2b3c/k3v9x2aa", bytes: 6.2 * GIB, files: 12_400, max_bytes: 50 * GIB, max_files: 5_000_000, level: "warn", warning: null, ...part });

async function open(): Promise<void> {
  const world = oneAgent();
  world.layouts = onePane(world.projects[0]!, world.agents[0]!.id);
  await openWindow(world);
  await act(() => app.startAgent(idOf("planner")));
}

const notice = () => screen.findByTestId(ids.tempNotice);

describe("the temp directory of an agent", () => {
  it("is told of in its row and at the foot of its pane while it is large, and can be looked at, or its agent stopped", async () => {
    await open();
    act(() => backend.setAgent(idOf("planner"), { temp: use({ level: "fine", bytes: 3 }) }));
    expect(screen.queryByTestId(ids.tempNotice)).toBeNull();
    act(() => backend.setAgent(idOf("planner"), { temp: use() }));
    expect((await notice()).textContent).toContain("The temp directory of planner takes 6.2 GiB in 12,400 files. Beyond 50 GiB or 5,000,000 files, planner is ended.");
    expect(within(screen.getByTestId(ids.agent)).getByTestId(ids.agentTemp).getAttribute("aria-label")).toContain("takes 6.2 GiB");
    await user.click(screen.getByTestId(ids.tempOpen));
    expect(backend.calls.find(({ method }) => method === "desktop_open_directory")?.params).toEqual({ path: use().path, in_file_manager: true });
    backend.failNext("desktop_open_directory", new BackendError("failed", "it could not be opened: there is no program for folders", null));
    await user.click(screen.getByTestId(ids.tempOpen));
    await screen.findByText("The temp directory: it could not be opened: there is no program for folders");
    await user.click(screen.getByTestId(ids.tempCopy));
    await waitFor(() => expect(backend.clipboard).toBe(use().path));
    await user.click(screen.getByTestId(ids.tempStop));
    await waitFor(() => expect(backend.world.agents[0]!.run?.state).toBe("ended"));
    expect((await notice()).textContent).toContain("its tasks are cancelled");
  });

  it("stays read once it was dismissed, until it is too much", async () => {
    await open();
    act(() => backend.setAgent(idOf("planner"), { temp: use() }));
    await notice();
    await user.click(screen.getByTestId(ids.tempDismiss));
    expect(screen.queryByTestId(ids.tempNotice)).toBeNull();
    expect(screen.getByTestId(ids.agentTemp)).toBeTruthy();
    act(() => backend.setAgent(idOf("planner"), { temp: use({ bytes: 51 * GIB, level: "end" }) }));
    expect((await notice()).textContent).toContain("planner is being ended");
    expect(screen.queryByTestId(ids.tempStop)).toBeNull();
  });
});

describe("the temp directory of a task", () => {
  it("is told of where the task is looked at, and the task can be cancelled", async () => {
    await open();
    let id: Id = "";
    act(() => {
      id = backend.tasks.add({ project: project(), command: ["sh", "-c", "make tiles"] }).id;
      backend.tasks.set(id, { temp: use({ path: "/t/1a2b3c/tiles" }) });
    });
    await press(shortcut("J"));
    await act(() => app.showTask(project(), id));
    const said = within(await screen.findByTestId(ids.taskDetail)).getByTestId(ids.tempNotice);
    expect(said.textContent).toContain("The temp directory of make tiles takes 6.2 GiB in 12,400 files. Beyond 50 GiB or 5,000,000 files, the task is cancelled.");
    await user.click(within(said).getByTestId(ids.tempStop));
    await waitFor(() => expect(backend.countOf("task_cancel")).toBe(1));
    act(() => backend.tasks.end(id, { state: "cancelled" }));
    await waitFor(() => expect(screen.queryByTestId(ids.tempNotice)).toBeNull());
  });
});
