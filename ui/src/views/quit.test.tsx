// @vitest-environment jsdom
// The way out of the window, and what the doctor says.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { ids } from "../shared/testids";
import { app, backend, oneAgent, openWindow, project, user } from "./opened-window";

describe("quitting", () => {
  const running = (agent: string, kind: "agent" | "task") => ({ agent, project: "atlas", kind });
  const request = { running: [running("planner", "agent"), running("docs", "agent")] };

  it("asks once, with the names, however often the window is closed", async () => {
    await openWindow(oneAgent());
    act(() => backend.requestQuit(request));
    act(() => backend.requestQuit({ running: [] }));
    const dialog = screen.getByTestId(ids.quitDialog);
    expect(screen.getAllByTestId(ids.quitDialog).length).toBe(1);
    expect(dialog.textContent).toContain("2 agents are running");
    expect(dialog.textContent).toContain("planner");
    expect(document.activeElement).toBe(screen.getByTestId(ids.quitCancel));
    await user.keyboard("{Escape}");
    expect(screen.queryByTestId(ids.quitDialog)).toBeNull();
    expect(backend.quitted).toBeNull();
    act(() => backend.requestQuit(request));
    expect(screen.getByTestId(ids.quitDialog)).toBeTruthy();
  });

  it("says so when it is not known what runs", async () => {
    await openWindow(oneAgent());
    act(() => backend.requestQuit({ running: [], unknown: "the disk does not answer" }));
    const dialog = screen.getByTestId(ids.quitDialog);
    expect(dialog.textContent).toContain("Something may be running");
    expect(screen.getByTestId(ids.quitUnknown).textContent).toBe("What runs could not be read: the disk does not answer. Agents and tasks may be at work.");
    expect(dialog.textContent).not.toContain("0 agents");
  });

  it("is asked for by keys, also over a dialog, and by the palette, as the close button asks", async () => {
    await openWindow(oneAgent());
    await user.click(await screen.findByTestId(ids.paneChoice));
    await waitFor(() => expect(screen.getByTestId(ids.terminal).dataset["pull"]).toBe("live"));
    await user.keyboard("{Control>},{/Control}{Control>}{Shift>}Q{/Shift}{/Control}");
    expect((await screen.findByTestId(ids.quitDialog)).textContent).toContain("1 agent is running");
    expect(backend.quitted).toBeNull();
    await user.keyboard("{Escape}{Escape}{Control>}{Shift>}P{/Shift}{/Control}quit{Enter}");
    await screen.findByTestId(ids.quitDialog);
  });

  it("asks nothing when nothing runs", async () => {
    await openWindow(oneAgent());
    await user.keyboard("{Control>}{Shift>}Q{/Shift}{/Control}");
    await waitFor(() => expect(backend.quitted).not.toBeNull());
    expect(screen.queryByTestId(ids.quitDialog)).toBeNull();
  });

  it("proposes to keep what runs, and marks what ends it", async () => {
    await openWindow(oneAgent());
    act(() => backend.requestQuit({ running: [running("sh -c npm test", "task")] }));
    expect(screen.getByTestId(ids.quitKeep).className).toContain("primary");
    expect(screen.getByTestId(ids.quitStop).className).toContain("danger");
    expect(screen.getByTestId(ids.quitDialog).textContent).not.toContain("sh -c");
  });

  it("saves the layout first, and hands on the choice and whether to remember it", async () => {
    await openWindow(oneAgent());
    app.change(project(), (layout) => ({ ...layout, seen_ms: 77 }));
    act(() => backend.requestQuit(request));
    await user.click(screen.getByTestId(ids.quitRemember));
    await user.click(screen.getByTestId(ids.quitKeep));
    await waitFor(() => expect(backend.quitted).toEqual({ choice: "keep", remember: true }));
    const order = backend.calls.map(({ method }) => method);
    expect(order.indexOf("layout_set")).toBeGreaterThan(-1);
    expect(order.lastIndexOf("layout_set")).toBeLessThan(order.indexOf("desktop_quit"));
  });

  it("keeps the focus inside the question", async () => {
    await openWindow(oneAgent());
    act(() => backend.requestQuit(request));
    const dialog = screen.getByTestId(ids.quitDialog);
    for (let n = 0; n < 6; n += 1) {
      await user.tab();
      expect(dialog.contains(document.activeElement)).toBe(true);
    }
  });
});

describe("the doctor", () => {
  const check = (state: "ok" | "warn" | "fail", hint: string | null = null) => ({ name: state, state, detail: "so it is", hint });
  it.each([
    [[check("ok")], "All is well."],
    [[check("ok"), check("warn", "install one, or add a profile for any program with `carillon profile add`")], "Works, with 1 note."],
    [[check("warn"), check("fail")], "Something needs a hand."],
  ])("sums %o up as: %s", async (checks, words) => {
    await openWindow({ ...oneAgent(), checks });
    act(() => app.open({ kind: "settings", page: "doctor" }));
    await waitFor(() => expect(within(screen.getByTestId(ids.doctor)).getByRole("status").textContent).toBe(words));
    if (checks[1]?.hint) expect(screen.getByText("Install one, or add a profile for any program in the Profiles tab")).toBeTruthy();
  });
});
