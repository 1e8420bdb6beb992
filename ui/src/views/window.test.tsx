// @vitest-environment jsdom
// Journeys through the whole window on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, newId, type World } from "../backend/fake";
import { panesOf } from "../state/layout";
import { ids } from "../shared/testids";
import { app, backend, oneAgent, openAgain, openWindow, press, project, shortcut, user } from "./opened-window";

/** One agent, and programs that were found: one with a profile, one without, and one that cannot be started. */
function oneProject(): World {
  const world = oneAgent();
  return {
    ...world,
    detected: [
      { adapter: "claude", program: "/bin/claude", version: "2.1", problem: null, profile: world.profiles[0]!.id },
      { adapter: "codex", program: "/bin/codex", version: "0.171.0", problem: null, profile: null },
      { adapter: "gemini", program: "/bin/gemini", version: null, problem: "It is not executable.", profile: null },
    ],
  };
}

const terminalText = () => document.querySelector(".xterm-rows")?.textContent?.replace(/\u00a0/g, " ") ?? "";

/** Starts the planner in the first pane and waits until its terminal is attached. */
async function startPlanner(): Promise<void> {
  await user.click(await screen.findByTestId(ids.paneChoice));
  await waitFor(() => expect(screen.getByTestId(ids.terminal).dataset["pull"]).toBe("live"));
}

describe("opening a project", () => {
  it("shows why a path was refused and what to do, and opens the next one", async () => {
    await openWindow(emptyWorld());
    expect(screen.getByTestId(ids.welcome)).toBeTruthy();
    await user.click(screen.getByTestId(ids.openProject));
    expect(document.activeElement).toBe(screen.getByTestId(ids.openProjectPath));
    await user.keyboard("/tmp/not-a-repo{Enter}");
    expect((await screen.findByTestId(ids.error)).textContent).toContain("/tmp/not-a-repo is not in a git repository.");
    expect(screen.getByTestId(ids.errorHint).textContent).toContain("git init");
    await user.clear(screen.getByTestId(ids.openProjectPath));
    expect(screen.queryByTestId(ids.error)).toBeNull();
    await user.keyboard("/home/dev/lamp{Enter}");
    await waitFor(() => expect(screen.queryByTestId(ids.openProjectPath)).toBeNull());
    expect(screen.getByTestId(ids.project).dataset["name"]).toBe("lamp");
    expect(screen.getByTestId(ids.paneEmpty)).toBeTruthy();
  });

  it("takes the folder that was picked in the system's dialog, and nothing when none was", async () => {
    await openWindow(emptyWorld());
    backend.picks = [null, "/home/dev/lamp"];
    await user.click(screen.getByTestId(ids.openProject));
    await user.click(screen.getByTestId(ids.openProjectBrowse));
    await waitFor(() => expect(screen.getByTestId<HTMLButtonElement>(ids.openProjectBrowse).disabled).toBe(false));
    expect(screen.queryByTestId(ids.project)).toBeNull();
    await user.click(screen.getByTestId(ids.openProjectBrowse));
    expect((await screen.findByTestId(ids.project)).dataset["name"]).toBe("lamp");
  });

  it("is one Enter away in a window without a project", async () => {
    await openWindow(emptyWorld());
    await waitFor(() => expect(screen.getByTestId(ids.welcome).contains(document.activeElement)).toBe(true));
    await user.keyboard("{Enter}");
    expect(document.activeElement).toBe(screen.getByTestId(ids.openProjectPath));
  });

  it("closes by Escape and gives the focus back", async () => {
    await openWindow(emptyWorld());
    await user.click(screen.getByTestId(ids.openProject));
    await user.keyboard("{Escape}");
    expect(screen.queryByTestId(ids.openProjectPath)).toBeNull();
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.openProject)));
  });
});

describe("adding an agent", () => {
  it("takes three clicks, makes the profile of a program that had none, and shows the terminal", async () => {
    await openWindow(oneProject());
    await user.click(screen.getAllByTestId(ids.addAgent)[0]!);
    const choices = () => screen.getAllByTestId(ids.addAgentChoice);
    await waitFor(() => expect(choices().map((choice) => choice.dataset["name"])).toEqual(["claude", "codex", "gemini", "opencode"]));
    await user.click(choices()[1]!);
    expect(screen.getByTestId<HTMLInputElement>(ids.addAgentName).value).toBe("codex-1");
    await user.click(screen.getByTestId(ids.addAgentStart));
    await waitFor(() => expect(screen.getByTestId(ids.terminal).dataset["pull"]).toBe("live"));
    expect(screen.queryByTestId(ids.addAgentDialog)).toBeNull();
    expect(backend.world.profiles.map(({ name, program }) => [name, program])).toContainEqual(["codex", "/bin/codex"]);
    expect(backend.world.agents.map(({ name, mode }) => [name, mode])).toContainEqual(["codex-1", "terminal"]);
    expect(document.activeElement?.className).toContain("xterm-helper-textarea");
  });

  it("greys what cannot be started, says why and how to install it", async () => {
    await openWindow(oneProject());
    await user.click(screen.getAllByTestId(ids.addAgent)[0]!);
    await waitFor(() => expect(screen.getAllByTestId(ids.addAgentChoice).length).toBe(4));
    const [, , gemini, opencode] = screen.getAllByTestId(ids.addAgentChoice);
    expect(gemini!.textContent).toContain("It is not executable.");
    expect(opencode!.textContent).toContain("npm install -g opencode-ai");
    await user.click(gemini!);
    expect(gemini!.getAttribute("aria-checked")).toBe("false");
    expect(screen.getByTestId<HTMLInputElement>(ids.addAgentName).value).toBe("claude-1");
  });

  it("has the first choice picked, and Enter starts what is picked, also after a click", async () => {
    await openWindow(oneProject());
    await user.click(screen.getAllByTestId(ids.addAgent)[0]!);
    const choices = await screen.findAllByTestId(ids.addAgentChoice);
    expect(choices[0]!.getAttribute("aria-checked")).toBe("true");
    expect(document.activeElement).toBe(choices[0]);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(backend.world.agents.map(({ name }) => name)).toContain("claude-1"));
    await waitFor(() => expect(screen.queryByTestId(ids.addAgentDialog)).toBeNull());
    await user.click(screen.getAllByTestId(ids.addAgent)[0]!);
    await user.click((await screen.findAllByTestId(ids.addAgentChoice))[1]!);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(backend.world.agents.map(({ name }) => name)).toContain("codex-1"));
  });

  it("starts nothing that cannot be started", async () => {
    await openWindow({ ...oneProject(), profiles: [], agents: [], detected: [] });
    await user.click(screen.getAllByTestId(ids.addAgent)[0]!);
    await waitFor(() => expect(screen.getAllByTestId(ids.addAgentChoice).length).toBe(4));
    expect(screen.getByTestId<HTMLButtonElement>(ids.addAgentStart).disabled).toBe(true);
    await user.keyboard("{Enter}");
    expect(backend.countOf("agent_add")).toBe(0);
  });

  it("stays open with the reason when the name is taken", async () => {
    await openWindow(oneProject());
    await user.click(screen.getAllByTestId(ids.addAgent)[0]!);
    await user.click(screen.getAllByTestId(ids.addAgentChoice)[0]!);
    await user.clear(screen.getByTestId(ids.addAgentName));
    await user.type(screen.getByTestId(ids.addAgentName), "planner{Enter}");
    expect((await screen.findByTestId(ids.error)).textContent).toContain("planner exists already");
    expect(screen.getByTestId(ids.errorHint).textContent).toBe("Choose another name.");
  });
});

describe("a run", () => {
  it("shows the program's output, and takes what is typed in its order", async () => {
    await openWindow(oneProject());
    await startPlanner();
    await waitFor(() => expect(terminalText()).toContain("planner"));
    await user.keyboard("hello");
    await waitFor(() => expect(backend.runOf("planner").written.join("")).toBe("hello"));
    await waitFor(() => expect(terminalText()).toContain("hello"));
    expect(backend.runOf("planner").pulling).toBe(1);
  });

  it("answers no question of the program", async () => {
    await openWindow(oneProject());
    await startPlanner();
    backend.runOf("planner").print("\x1b[c\x1b[6n\x1b]11;?\x07\x1b[?1004hasked");
    await waitFor(() => expect(terminalText()).toContain("asked"));
    expect(backend.runOf("planner").written).toEqual([]);
  });

  it("keeps its last screen when it ends, says how, and starts again by Enter", async () => {
    await openWindow(oneProject());
    await startPlanner();
    const now = performance.now();
    const clock = vi.spyOn(performance, "now").mockReturnValue(now);
    act(() => {
      backend.runOf("planner").print("last words");
      backend.endRun("planner", { exit_code: 3, signal: null, reason: "exited 3" });
    });
    const bar = await screen.findByTestId(ids.endedBar);
    expect(bar.textContent).toContain("exited 3 · just now");
    await waitFor(() => expect(terminalText()).toContain("last words"));
    const before = backend.runOf("planner").id;
    clock.mockReturnValue(now + 100);
    await user.keyboard("{Enter}");
    expect(backend.countOf("agent_start")).toBe(1);
    clock.mockReturnValue(now + 10_000);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(backend.runOf("planner").id).not.toBe(before));
    await waitFor(() => expect(screen.queryByTestId(ids.endedBar)).toBeNull());
  });

  it("that does not start says why, with the way out, and can be tried again", async () => {
    await openWindow(oneProject());
    backend.failNext("agent_start", new BackendError("failed", "claude was not found on the PATH.", "Install it, or change the profile."));
    await user.click(await screen.findByTestId(ids.paneChoice));
    const failure = await screen.findByTestId(ids.paneFailure);
    expect(failure.textContent).toContain("claude was not found on the PATH.");
    expect(within(failure).getByTestId(ids.errorHint).textContent).toBe("Install it, or change the profile.");
    await user.click(screen.getByTestId(ids.startAgain));
    await waitFor(() => expect(screen.getByTestId(ids.terminal).dataset["pull"]).toBe("live"));
  });

  it("is stopped and started from the sidebar; a failure is a message with a hint", async () => {
    await openWindow(oneProject());
    await startPlanner();
    backend.failNext("agent_stop", new BackendError("failed", "It does not end.", "Try again."));
    await user.click(screen.getByTestId(ids.agentStop));
    const toast = await screen.findByTestId(ids.toast);
    expect(toast.textContent).toContain("planner could not be stopped. It does not end.");
    expect(within(toast).getByTestId(ids.errorHint).textContent).toBe("Try again.");
    await user.click(screen.getByTestId(ids.agentStop));
    expect((await screen.findByTestId(ids.endedBar)).textContent).toContain("stopped by you");
    await user.click(screen.getByTestId(ids.agentStart));
    await waitFor(() => expect(screen.getByTestId(ids.agentState).dataset["state"]).toBe("idle"));
  });
});

describe("the clipboard", () => {
  const osc52 = (text: string) => `\x1b]52;c;${btoa(text)}\x07`;

  it("is written by a program only after the user agreed", async () => {
    await openWindow(oneProject());
    await startPlanner();
    backend.runOf("planner").print(osc52("secret words"));
    const question = await screen.findByTestId(ids.clipboardConsent);
    expect(question.textContent).toContain("secret words");
    expect(backend.clipboard).toBe("");
    await user.click(screen.getByTestId(ids.clipboardDeny));
    expect(backend.clipboard).toBe("");
    backend.runOf("planner").print(osc52("other words"));
    await screen.findByTestId(ids.clipboardConsent);
    await user.click(screen.getByTestId(ids.clipboardAlways));
    await waitFor(() => expect(backend.clipboard).toBe("other words"));
    await waitFor(() => expect(backend.world.settings.clipboard_write).toBe("allow"));
    backend.runOf("planner").print(osc52("third"));
    await waitFor(() => expect(backend.clipboard).toBe("third"));
  });

  it("is never written when the setting says so, and never read", async () => {
    const world = oneProject();
    world.settings.clipboard_write = "deny";
    await openWindow(world);
    backend.clipboard = "mine";
    await startPlanner();
    backend.runOf("planner").print(`${osc52("x")}\x1b]52;c;?\x07done`);
    await waitFor(() => expect(terminalText()).toContain("done"));
    expect(screen.queryByTestId(ids.clipboardConsent)).toBeNull();
    expect(backend.clipboard).toBe("mine");
    expect(backend.runOf("planner").written).toEqual([]);
  });

  it("asks before lines are pasted into a program without brackets, and not with them", async () => {
    await openWindow(oneProject());
    await startPlanner();
    backend.clipboard = "one\ntwo";
    await user.keyboard("{Control>}{Shift>}V{/Shift}{/Control}");
    expect((await screen.findByTestId(ids.pasteDialog)).textContent).toContain("Paste 2 lines?");
    expect(backend.runOf("planner").written).toEqual([]);
    await user.keyboard("{Escape}");
    expect(screen.queryByTestId(ids.pasteDialog)).toBeNull();
    await user.keyboard("{Control>}{Shift>}V{/Shift}{/Control}");
    await user.click(await screen.findByTestId(ids.pasteConfirm));
    await waitFor(() => expect(backend.runOf("planner").written.join("")).toBe("one\rtwo"));
    backend.runOf("planner").print("\x1b[?2004hready");
    await waitFor(() => expect(terminalText()).toContain("ready"));
    await waitFor(() => expect(document.activeElement?.className).toContain("xterm-helper-textarea"));
    await user.keyboard("{Control>}{Shift>}V{/Shift}{/Control}");
    await waitFor(() => expect(backend.runOf("planner").written.join("")).toContain("\x1b[200~one\rtwo\x1b[201~"));
  });
});

describe("panes", () => {
    const panes = () => screen.getAllByTestId(ids.pane);
  const focused = () => panes().findIndex((pane) => pane.dataset["focused"] === "true");

  it("are split, gone to, zoomed and closed by keyboard, and remembered", async () => {
    await openWindow(oneProject());
    await screen.findByTestId(ids.paneEmpty);
    await press("{Control>}{Shift>}D{/Shift}{/Control}");
    expect(panes().length).toBe(2);
    expect(focused()).toBe(1);
    await press("{Control>}{Shift>}{ArrowLeft}{/Shift}{/Control}");
    expect(focused()).toBe(0);
    await press("{Control>}{Shift>}{Enter}{/Shift}{/Control}");
    expect(panes().filter((pane) => pane.closest<HTMLElement>(".cell")!.style.display !== "none").length).toBe(1);
    await press("{Control>}{Shift>}{Enter}{/Shift}{/Control}");
    screen.getByTestId(ids.divider).focus();
    await press("{ArrowRight}");
    await press("{Control>}{Shift>}E{/Shift}{/Control}");
    await waitFor(() => expect(panesOf((backend.world.layouts[project()] as { root: never }).root).length).toBe(3));
    expect(JSON.stringify(backend.world.layouts[project()])).toContain('"ratio":0.52');
    await press("{Control>}{Shift>}W{/Shift}{/Control}");
    expect(panes().length).toBe(2);
  });

  it("that are new propose an agent without a pane, and where there is none, a new one", async () => {
    const world = oneProject();
    world.agents.push(agentOf("builder", world.projects[0]!, world.profiles[0]!));
    await openWindow(world);
    await user.click((await screen.findAllByTestId(ids.paneChoice))[0]!);
    await waitFor(() => expect(screen.getByTestId(ids.terminal).dataset["pull"]).toBe("live"));
    await press("{Control>}{Shift>}D{/Shift}{/Control}");
    await waitFor(() => expect((document.activeElement as HTMLElement).dataset["name"]).toBe("builder"));
    await press("{Enter}");
    await waitFor(() => expect(panes().map((pane) => pane.dataset["agent"])).toEqual(["planner", "builder"]));
    await press("{Control>}{Shift>}D{/Shift}{/Control}");
    await waitFor(() => expect(document.activeElement?.textContent).toBe("Add agent"));
  });

  it("show a cursor before they had the focus", async () => {
    await openWindow(oneProject());
    await startPlanner();
    await press("{Control>}{Shift>}D{/Shift}{/Control}");
    await openAgain();
    await waitFor(() => expect(document.querySelector(".xterm-cursor-outline")).toBeTruthy());
    expect(document.activeElement?.className).not.toContain("xterm-helper-textarea");
  });

  it("come back with their agents when the window opens again", async () => {
    const world = oneProject();
    world.layouts[world.projects[0]!.id] = {
      version: 1, focused: "p2", zoomed: null, seen_ms: 5,
      root: { kind: "split", id: "s3", axis: "row", ratio: 0.3, first: { kind: "pane", id: "p1", agent: null }, second: { kind: "pane", id: "p2", agent: world.agents[0]!.id } },
    };
    await openWindow(world);
    await waitFor(() => expect(panes().map((pane) => pane.dataset["agent"])).toEqual(["", "planner"]));
    expect(panes()[0]!.closest<HTMLElement>(".cell")!.style.width).toBe("30%");
    expect(screen.getByTestId(ids.startAgain).textContent).toBe("Start");
  });

  it("keep the terminal of an agent when its neighbour is split off", async () => {
    await openWindow(oneProject());
    await startPlanner();
    const before = document.querySelector(".xterm");
    await press("{Control>}{Shift>}D{/Shift}{/Control}");
    await press("{Control>}{Shift>}E{/Shift}{/Control}");
    expect(panes().length).toBe(3);
    expect(document.querySelector(".xterm")).toBe(before);
  });
});

describe("what the engine says", () => {
  it("is shown until dismissed", async () => {
    const world = oneProject();
    world.info.notices.push({ level: "warn", text: "The store was damaged.", hint: "It was moved aside." });
    await openWindow(world);
    expect(screen.getByTestId(ids.notice).textContent).toContain("It was moved aside.");
    await user.click(screen.getByTestId(ids.noticeDismiss));
    expect(screen.queryByTestId(ids.notice)).toBeNull();
  });

  it("is fetched again when numbers are missing in the feed", async () => {
    await openWindow(oneProject());
    const agent = backend.world.agents[0]!;
    backend.world.agents = [...backend.world.agents, { ...agent, id: newId(), name: "unheard" }];
    act(() => {
      backend.loseChanges(2);
      backend.changed("settingsChanged", "settings");
    });
    await waitFor(() => expect(screen.getAllByTestId(ids.agent).map((row) => row.dataset["name"])).toEqual(["planner", "unheard"]));
  });

  it("is missed calmly when it does not answer, and can be asked for at once", async () => {
    await openWindow(oneProject());
    backend.failNext("changes_wait", new BackendError("failed", "The socket is closed.", "Start the engine."));
    act(() => backend.changed("agentChanged", "a"));
    const banner = await screen.findByTestId(ids.feedBanner);
    expect(banner.textContent).toContain("Start the engine.");
    await user.click(screen.getByTestId(ids.feedRetry));
    await waitFor(() => expect(screen.queryByTestId(ids.feedBanner)).toBeNull());
  });

  it("removes an agent from its pane when it is removed elsewhere, and closes a question about it", async () => {
    await openWindow(oneProject());
    await startPlanner();
    await user.click(screen.getByTestId(ids.agentRemove));
    expect(screen.getByTestId(ids.confirmDialog).textContent).toContain("It is running and will be stopped.");
    act(() => {
      backend.world.agents = [];
      backend.changed("agentChanged", "x");
    });
    await waitFor(() => expect(screen.queryByTestId(ids.confirmDialog)).toBeNull());
    expect(screen.getByTestId(ids.paneEmpty)).toBeTruthy();
  });
});

describe("messages", () => {
  it("stand at the foot of the sidebar, in the corner without it, and above a dialog: never over what one works with", async () => {
    await openWindow(oneProject());
    act(() => app.report(new BackendError("failed", "the rope broke", "Mend it."), "The bell did not ring."));
    const place = () => screen.getByRole("region", { name: "Messages" }).className;
    expect(screen.getByTestId(ids.toast).textContent).toContain("The bell did not ring: the rope broke");
    expect(place()).toBe("toasts side");
    await press(shortcut("B"));
    await press(shortcut("B"));
    await waitFor(() => expect(place()).toBe("toasts corner"));
    act(() => app.open({ kind: "shortcuts" }));
    await waitFor(() => expect(place()).toBe("toasts above"));
  });
});

describe("settings", () => {
  it("are shown at once, stored, and taken back with a word when that fails", async () => {
    await openWindow(oneProject());
    await user.keyboard("{Control>},{/Control}");
    await user.selectOptions(screen.getByTestId(ids.settingsTheme), "dark");
    await waitFor(() => expect(backend.world.settings.theme).toBe("dark"));
    expect(document.documentElement.dataset["theme"]).toBe("dark");
    backend.failNext("settings_set", new BackendError("failed", "The disk is read-only.", "Make it writable."));
    await user.selectOptions(screen.getByTestId(ids.settingsTheme), "light");
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("The disk is read-only.");
    await waitFor(() => expect(screen.getByTestId<HTMLSelectElement>(ids.settingsTheme).value).toBe("dark"));
  });

  it("add and remove profiles; a refusal says what to do first", async () => {
    await openWindow(oneProject());
    await user.keyboard("{Control>},{/Control}");
    await user.click(screen.getByTestId(ids.settingsTabProfiles));
    await user.type(screen.getByTestId(ids.profileName), "echo");
    await user.type(screen.getByTestId(ids.profileProgram), "/bin/sh");
    await user.type(screen.getByTestId(ids.profileArgs), "-c 'echo hi'");
    await user.click(screen.getByTestId(ids.profileAdd));
    await waitFor(() => expect(screen.getAllByTestId(ids.profileRow).length).toBe(2));
    expect(backend.world.profiles[1]).toMatchObject({ name: "echo", adapter: "plain", args: ["-c", "echo hi"] });
    await user.click(screen.getAllByTestId(ids.profileRemove)[0]!);
    await user.click(screen.getByRole("button", { name: "Remove" }));
    expect((await screen.findByTestId(ids.errorHint)).textContent).toBe("Remove the agent first.");
  });
});

it("runs a command that was found by a part of its name", async () => {
  await openWindow(oneProject());
  await screen.findByTestId(ids.paneEmpty);
  await user.keyboard("{Control>}{Shift>}P{/Shift}{/Control}");
  await user.keyboard("split right{Enter}");
  expect(screen.queryByTestId(ids.palette)).toBeNull();
  expect(screen.getAllByTestId(ids.pane).length).toBe(2);
});
