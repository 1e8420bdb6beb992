// For tests alone: the whole window on the fake engine, opened once per test and taken down after it. What stands here is what every
// test of the window needs; a test says its own world.

import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { agentOf, emptyWorld, FakeBackend, newId, profileOf, type World } from "../backend/fake";
import type { Id, Project } from "../generated/api";
import { App } from "../state/app";
import { ids } from "../shared/testids";
import { Window } from "./Window";

/** The engine of the window that was opened last. */
export let backend: FakeBackend;
export let app: App;
export const user = userEvent.setup({ delay: null, pointerEventsCheck: 0 });

let stop: () => void = () => undefined;

beforeEach(() => {
  document.body.innerHTML = "";
});
afterEach(() => {
  stop();
  stop = () => undefined;
  vi.restoreAllMocks();
});

/** Opens the window on `world`, which `fill` may add to, and waits until it shows a project or its welcome. */
export async function openWindow(world: World, fill: () => void = () => undefined): Promise<void> {
  backend = new FakeBackend(world);
  fill();
  await openAgain();
}

/** Opens the window once more on the same engine, as after a reload. */
export async function openAgain(): Promise<void> {
  stop();
  document.body.innerHTML = "";
  app = new App(backend);
  stop = app.start();
  render(<Window app={app} />);
  await waitFor(() => expect(screen.getByTestId(ids.window).dataset["ready"]).toBe("true"));
}

/** Types keys where the focus is. */
export const press = (keys: string): Promise<void> => user.keyboard(keys);
/** The keys of a shortcut of the window. */
export const shortcut = (key: string): string => `{Control>}{Shift>}${key}{/Shift}{/Control}`;
export const project = (at = 0): Id => backend.world.projects[at]!.id;
export const idOf = (agent: string): Id => backend.world.agents.find((each) => each.name === agent)!.id;

export const projectOf = (name: string): Project => ({ id: newId(), name, root: `/home/dev/${name}` });

/** The layout of a project with one pane, which shows this agent. */
export function onePane({ id }: Project, agent: Id): World["layouts"] {
  return { [id]: { version: 1, focused: "p1", zoomed: null, seen_ms: 5, root: { kind: "pane", id: "p1", agent } } };
}

/** The layout of a project with two panes beside one another. */
export function twoPanes({ id }: Project, first: Id, second: Id, focused: "p1" | "p2"): World["layouts"] {
  const root = { kind: "split", id: "s3", axis: "row", ratio: 0.5, first: { kind: "pane", id: "p1", agent: first }, second: { kind: "pane", id: "p2", agent: second } };
  return { [id]: { version: 1, focused, zoomed: null, seen_ms: 5, root } };
}

/** One project with one agent, which never ran. */
export function oneAgent(): World {
  const atlas = projectOf("atlas");
  const profile = profileOf("claude", "claude", "/bin/claude");
  return { ...emptyWorld(), projects: [atlas], profiles: [profile], agents: [agentOf("planner", atlas, profile)] };
}
