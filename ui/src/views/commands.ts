// Everything the window can do, once: the palette lists it, and the shortcuts run it.

import type { Command } from "../features/commands/Palette";
import { closePane, type Direction, evenOut, focusPane, type Layout, nearestSplit, neighbour, openPanel, panesOf, type PanelView, setRatio, setTasksPanel, splitPane, toggleZoom } from "../state/layout";
import type { App } from "../state/app";
import { calleeName, callerName, isAskOver, isUp } from "../state/ask-words";
import { isOver, taskName } from "../state/words";
import { SHORTCUTS, type ShortcutName } from "../shared/keys";
import { clipped, plain } from "../shared/text";
import { focusPanel, focusPanes, isInside } from "./focus";

const FONT = { min: 8, max: 32, usual: 13 };
const STEP = 0.04;
/** Of a long list of tasks only the latest are worth a line each. */
const TASKS_NAMED = 20;

export function commandsOf(app: App): Command[] {
  const { project } = app.view.get();
  const projects = app.projects.data ?? [];
  const agents = app.agents.data ?? [];
  const nameOf = (id: string) => projects.find((each) => each.id === id)?.name ?? "";
  const named = (shortcut: ShortcutName, run: () => void): Command => ({ id: shortcut, label: SHORTCUTS[shortcut].label, shortcut, run });

  const commands: Command[] = [
    named("openProject", () => app.open({ kind: "open_project" })),
    named("limits", () => app.open({ kind: "limits" })),
    named("cleanup", () => app.open({ kind: "cleanup" })),
    named("settings", () => app.open({ kind: "settings", page: "general" })),
    { id: "profiles", label: "Profiles", run: () => app.open({ kind: "settings", page: "profiles" }) },
    { id: "doctor", label: "Examine this machine", note: "doctor", run: () => app.open({ kind: "settings", page: "doctor" }) },
    named("shortcuts", () => app.open({ kind: "shortcuts" })),
    named("sidebar", () => toggleSidebar(app)),
    named("fontLarger", () => resizeFont(app, 1)),
    named("fontSmaller", () => resizeFont(app, -1)),
    named("fontReset", () => resizeFont(app, null)),
    ...(["system", "light", "dark"] as const).map((theme): Command => ({
      id: `theme-${theme}`, label: "Theme:", note: theme === "system" ? "as the system" : theme, run: () => void app.saveSettings({ theme }),
    })),
    named("quit", () => void app.closeWindow()),
  ];
  if (project !== null) {
    const change = (alter: (layout: Layout) => Layout) => app.change(project, alter);
    const go = (direction: Direction) => change((layout) => {
      const to = neighbour(layout, layout.focused, direction);
      return to === null ? layout : focusPane(layout, to);
    });
    commands.unshift(
      named("addAgent", () => app.open({ kind: "add_agent", project, beside: true })),
      named("askAgent", () => askFocused(app, project)),
      named("tasks", () => togglePanel(app, project, "tasks")),
      named("asks", () => togglePanel(app, project, "asks")),
      named("inbox", () => togglePanel(app, project, "inbox")),
      named("workdirs", () => togglePanel(app, project, "workdirs")),
      named("approvals", () => togglePanel(app, project, "approvals")),
      { id: "new-workdir", label: "New workdir…", run: () => app.open({ kind: "new_workdir", project }) },
      { id: "usage", label: "What was used", note: "tokens, price", run: () => app.open({ kind: "usage", project }) },
      { id: "new-task", label: "New task…", run: () => app.open({ kind: "new_task", project }) },
      named("splitRight", () => change((layout) => splitPane(layout, layout.focused, "row"))),
      named("splitDown", () => change((layout) => splitPane(layout, layout.focused, "column"))),
      named("closePane", () => change((layout) => closePane(layout, layout.focused))),
      named("zoom", () => change((layout) => toggleZoom(layout, layout.focused))),
      named("evenOut", () => change(evenOut)),
      named("focusLeft", () => go("left")),
      named("focusRight", () => go("right")),
      named("focusUp", () => go("up")),
      named("focusDown", () => go("down")),
      named("growLeft", () => change((layout) => moveDivider(layout, "row", -STEP))),
      named("growRight", () => change((layout) => moveDivider(layout, "row", STEP))),
      named("growUp", () => change((layout) => moveDivider(layout, "column", -STEP))),
      named("growDown", () => change((layout) => moveDivider(layout, "column", STEP))),
    );
    const tasks = app.work.of(project).items;
    for (const task of tasks.filter((each, index) => index < TASKS_NAMED || !isOver(each)).slice(0, 3 * TASKS_NAMED)) {
      const note = clipped(taskName(task), 80);
      commands.push({ id: `log-${task.id}`, label: "Open the log of", note, run: () => void app.showLog(task) });
      commands.push(isOver(task)
        ? { id: `retry-${task.id}`, label: "Retry task", note, run: () => void app.retryTask(task) }
        : { id: `cancel-${task.id}`, label: "Cancel task", note, run: () => void app.cancelTask(task) });
    }
  }
  if (project !== null) {
    for (const ask of app.asks.of(project).items.filter((each) => !isAskOver(each)).slice(0, TASKS_NAMED)) {
      const note = clipped(`${callerName(ask)} → ${calleeName(ask)}: ${plain(ask.prompt)}`, 80);
      commands.push({ id: `ask-${ask.id}`, label: "Show the ask", note, run: () => void app.showAsk(project, ask.id) });
      commands.push({ id: `cancel-ask-${ask.id}`, label: "Cancel the ask", note, run: () => app.askToCancel(ask) });
    }
  }
  for (const profile of app.profiles.data ?? []) commands.push({ id: `profile-${profile.id}`, label: "Edit profile", note: profile.name, run: () => app.open({ kind: "settings", page: "profiles", profile: profile.id }) });
  for (const each of projects) commands.push({ id: `project-${each.id}`, label: "Show project", note: each.name, run: () => void app.showProject(each.id) });
  for (const agent of agents) {
    const note = `${agent.name} in ${nameOf(agent.project)}`;
    commands.push({ id: `show-${agent.id}`, label: "Show agent", note, run: () => void app.show(agent) });
    commands.push({ id: `ask-agent-${agent.id}`, label: "Ask", note: `${note}…`, run: () => void app.showProject(agent.project).then(() => app.open({ kind: "ask_agent", project: agent.project, agent: agent.id })) });
    commands.push({ id: `inbox-${agent.id}`, label: "Inbox of", note, run: () => void app.showInbox(agent).then(focusPanel) });
    commands.push(isUp(agent)
      ? { id: `stop-${agent.id}`, label: "Stop agent", note, run: () => void app.stopAgent(agent.id) }
      : { id: `start-${agent.id}`, label: "Start agent", note, run: () => void app.show(agent, true).then(() => app.startAgent(agent.id)) });
    commands.push({ id: `remove-${agent.id}`, label: "Remove agent…", note, run: () => app.open({ kind: "remove_agent", agent: agent.id }) });
  }
  return commands;
}

/** Runs a shortcut; false when it is not the window's, or does not apply now. */
export function runShortcut(app: App, name: ShortcutName): boolean {
  const view = app.view.get();
  if (view.quit) return false;
  if (name === "palette") {
    app.open({ kind: "palette" });
    return true;
  }
  // A dialog is open: only what concerns the text's size may go on behind it, and the window can be closed.
  if (view.dialog && name !== "quit" && !name.startsWith("font")) return false;
  const command = commandsOf(app).find(({ shortcut }) => shortcut === name);
  command?.run();
  return command !== undefined;
}

function moveDivider(layout: Layout, axis: "row" | "column", by: number): Layout {
  const split = nearestSplit(layout.root, layout.focused, axis);
  return split ? setRatio(layout, split.id, split.ratio + by) : layout;
}

function resizeFont(app: App, by: number | null): void {
  const settings = app.settings.data;
  if (!settings) return;
  const font_size = by === null ? FONT.usual : Math.min(FONT.max, Math.max(FONT.min, settings.font_size + by));
  if (font_size !== settings.font_size) void app.saveSettings({ font_size });
}

/** Shows the sidebar and goes into it; from within it, hides it and goes back to the pane. */
function toggleSidebar(app: App): void {
  const leave = app.view.get().sidebar && isInside(".sidebar");
  app.view.update((view) => ({ ...view, sidebar: !leave }));
  setTimeout(() => {
    if (leave) focusPanes();
    else document.querySelector<HTMLElement>(".sidebar [aria-current] , .sidebar [data-row], .sidebar button")?.focus();
  }, 0);
}

/** Shows one of the panels and goes to it; from within it, hides it and goes back to the pane. */
export function togglePanel(app: App, project: string, view: PanelView): void {
  const layout = app.layouts.of(project);
  const leave = layout !== undefined && openPanel(layout) === view && isInside(".side-panel");
  app.change(project, (old) => setTasksPanel(old, leave ? { open: false } : { open: true, view }));
  if (leave) setTimeout(focusPanes, 0);
  else focusPanel();
}

/** A conversation has a field of its own; for whatever else has the focus there is the dialog, with its agent picked. */
function askFocused(app: App, project: string): void {
  const layout = app.layouts.of(project);
  const agent = layout && app.agent(panesOf(layout.root).find(({ id }) => id === layout.focused)?.agent ?? null);
  const field = document.querySelector<HTMLElement>(".pane.focused .composer textarea");
  if (agent?.mode === "headless" && field && document.activeElement !== field) field.focus();
  else app.open({ kind: "ask_agent", project, agent: agent?.id ?? null });
}
