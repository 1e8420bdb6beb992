// @vitest-environment jsdom
// A merge or a removal of a workdir that is stopped: in its dialog, in the list, and too late.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import type { Id } from "../generated/api";
import { ids } from "../shared/testids";
import { app, backend, oneAgent, openWindow, press, project, shortcut, user } from "./opened-window";

let id: Id = "";

async function open(): Promise<void> {
  await openWindow(oneAgent(), () => {
    id = backend.workdirs.put(backend.world.projects[0]!.id, "storm", { ahead: 1 }).id;
    backend.workdirs.slow = true;
  });
  await press(shortcut("G"));
  await waitFor(() => expect(screen.queryAllByTestId(ids.workdirRow).length).toBe(1));
}

const state = () => backend.workdirs.list({ project: project() })[0]!.state;
const yes = async () => user.click(await screen.findByTestId(ids.workdirDialogYes));

describe("work of git's at a workdir", () => {
  it("is stopped from its dialog, which then is closed: that is no failure", async () => {
    await open();
    await press("{Home}m");
    await yes();
    const dialog = screen.getByTestId(ids.workdirDialog);
    await user.click(within(dialog).getByTestId(ids.workdirStop));
    await screen.findByText("storm was not merged. It was stopped, and nothing was changed.");
    expect(screen.queryByTestId(ids.workdirDialog)).toBeNull();
    expect(state()).toBe("active");
    expect(app.workdirs.busy.get()).toEqual({});
    // The next failure is one again.
    await press("m");
    backend.failNext("workdir_merge", new BackendError("refused", "these files would conflict: a", null));
    await yes();
    expect((await screen.findByTestId(ids.error)).textContent).toContain("these files would conflict");
  });

  it("is stopped in the list, by its key, while the dialog is closed", async () => {
    await open();
    await press("{Home}x");
    await yes();
    await press("{Escape}");
    await waitFor(() => expect(screen.getByTestId(ids.workdirRow).textContent).toContain("removing…"));
    await press("{Enter}");
    expect(within(screen.getByTestId(ids.workdirDetail)).getByTestId(ids.workdirStop).title).toBe("Stop the removal (S)");
    await press("s");
    await screen.findByText("storm was not removed. It was stopped, and nothing was changed.");
    expect(state()).toBe("active");
    expect(screen.queryByTestId(ids.workdirStop)).toBeNull();
  });

  it("says so where it is too far on, and goes on", async () => {
    await open();
    backend.workdirs.tooLate = true;
    await press("{Home}x");
    await yes();
    await user.click(await screen.findByTestId(ids.workdirStop));
    await screen.findByText("storm was not stopped: it is too far on to be stopped, and goes on to its end.");
    act(() => backend.workdirs.goOn(id));
    await waitFor(() => expect(state()).toBe("tombstoned"));
    await waitFor(() => expect(screen.queryByTestId(ids.workdirDialog)).toBeNull());
  });

  it("says why it could not be asked for", async () => {
    await open();
    await press("{Home}m");
    await yes();
    backend.failNext("workdir_stop", new BackendError("no_engine", "The engine does not answer.", null));
    await user.click(await screen.findByTestId(ids.workdirStop));
    await screen.findByText("storm could not be stopped. The engine does not answer.");
    act(() => backend.workdirs.goOn(id));
    await waitFor(() => expect(state()).toBe("tombstoned"));
  });
});
