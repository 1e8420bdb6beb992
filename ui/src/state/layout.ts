// The panes of a project as a binary tree of splits, and everything that can be done to it, as pure functions.
// Invariants: ids are unique, an agent and a task's log stand in at most one pane each and never in the same, `focused` names a pane,
// `zoomed` names a pane or nothing.

import type { Id } from "../generated/api";

export type Axis = "row" | "column";
export type Direction = "left" | "right" | "up" | "down";

export interface Pane {
  kind: "pane"; id: string; agent: Id | null;
  /** The pane shows the log of this task; then it has no agent. */
  task?: Id;
}
export interface Split {
  kind: "split"; id: string; axis: Axis;
  /** The first child's share of the length, between MIN_RATIO and 1 - MIN_RATIO. */
  ratio: number;
  first: Node; second: Node;
}
export type Node = Pane | Split;

/** What the panel beside the panes shows. */
export type PanelView = "tasks" | "asks" | "inbox" | "workdirs" | "approvals";
const PANEL_VIEWS: readonly unknown[] = ["tasks", "asks", "inbox", "workdirs", "approvals"] satisfies PanelView[];

/** The panel beside the panes: whether it is open, at which side, its share of the room there, and what it shows (the tasks, unless it says). */
export interface TasksPanel { open: boolean; dock: "right" | "bottom"; share: number; view?: PanelView }

/** Fields that came later are optional: a layout from before them is read as it is, and an older window ignores them. */
export interface Layout {
  version: 1;
  root: Node;
  focused: string;
  zoomed: string | null;
  /** When the project was last on show (Unix milliseconds): the window opens the latest one again. */
  seen_ms: number;
  tasks_panel?: TasksPanel;
  /** For each agent, the end of the latest of its tasks that was seen in its pane (Unix milliseconds). */
  tasks_seen?: Readonly<Record<Id, number>>;
}

/** A part of the grid; all four are shares between 0 and 1. */
export interface Rect { left: number; top: number; width: number; height: number }
export interface Divider { id: string; axis: Axis; ratio: number; area: Rect }

export const MAX_PANES = 24;
export const MIN_RATIO = 0.08;
export const PANEL_SHARE = { min: 0.15, max: 0.7 };
const PANEL_BEFORE: TasksPanel = { open: false, dock: "right", share: 0.34 };

export function emptyLayout(): Layout {
  return { version: 1, root: { kind: "pane", id: "p1", agent: null }, focused: "p1", zoomed: null, seen_ms: 0 };
}

export function panesOf(node: Node): Pane[] {
  return node.kind === "pane" ? [node] : [...panesOf(node.first), ...panesOf(node.second)];
}

export function paneOfAgent(layout: Layout, agent: Id): Pane | undefined {
  return panesOf(layout.root).find((pane) => pane.agent === agent);
}

export function paneOfTask(layout: Layout, task: Id): Pane | undefined {
  return panesOf(layout.root).find((pane) => pane.task === task);
}

const isEmpty = (pane: Pane) => pane.agent === null && pane.task === undefined;

function map(node: Node, change: (node: Node) => Node): Node {
  if (node.kind === "pane") return change(node);
  const first = map(node.first, change);
  const second = map(node.second, change);
  return change(first === node.first && second === node.second ? node : { ...node, first, second });
}

function freshIds(node: Node): { pane: string; split: string } {
  let highest = 0;
  map(node, (each) => {
    highest = Math.max(highest, Number.parseInt(each.id.slice(1), 10) || 0);
    return each;
  });
  return { pane: `p${highest + 1}`, split: `s${highest + 2}` };
}

/** Halves a pane; the new one is empty (or shows `agent`) and has the focus. Refused, by returning the same layout, at MAX_PANES. */
export function splitPane(layout: Layout, paneId: string, axis: Axis, agent: Id | null = null): Layout {
  const panes = panesOf(layout.root);
  if (panes.length >= MAX_PANES || !panes.some((pane) => pane.id === paneId)) return layout;
  const ids = freshIds(layout.root);
  const root = map(layout.root, (node) =>
    node.id === paneId
      ? { kind: "split", id: ids.split, axis, ratio: 0.5, first: node, second: { kind: "pane", id: ids.pane, agent: null } }
      : node,
  );
  const split: Layout = { ...layout, root, focused: ids.pane, zoomed: null };
  return agent === null ? split : assign(split, ids.pane, agent);
}

/** Closes a pane; its sibling takes the room. The last pane only becomes empty. */
export function closePane(layout: Layout, paneId: string): Layout {
  if (layout.root.kind === "pane") return layout.root.id === paneId ? assign(layout, paneId, null) : layout;
  let heir: string | null = null;
  const root = map(layout.root, (node) => {
    if (node.kind !== "split") return node;
    if (node.first.kind === "pane" && node.first.id === paneId) {
      heir = panesOf(node.second)[0]!.id;
      return node.second;
    }
    if (node.second.kind === "pane" && node.second.id === paneId) {
      heir = panesOf(node.first).at(-1)!.id;
      return node.first;
    }
    return node;
  });
  if (heir === null) return layout;
  return {
    ...layout,
    root,
    focused: layout.focused === paneId ? heir : layout.focused,
    zoomed: layout.zoomed === paneId ? null : layout.zoomed,
  };
}

/** Puts an agent into a pane (null empties it). If another pane showed it, that one becomes empty. */
export function assign(layout: Layout, paneId: string, agent: Id | null): Layout {
  const root = map(layout.root, (node) => {
    if (node.kind !== "pane") return node;
    if (node.id === paneId) return node.agent === agent && (agent !== null || isEmpty(node)) ? node : { kind: "pane", id: node.id, agent };
    return agent !== null && node.agent === agent ? { ...node, agent: null } : node;
  });
  return root === layout.root ? layout : { ...layout, root };
}

/** Puts the log of a task into a pane. If another pane showed it, that one becomes empty. */
function assignTask(layout: Layout, paneId: string, task: Id): Layout {
  const root = map(layout.root, (node) => {
    if (node.kind !== "pane") return node;
    if (node.id === paneId) return { kind: "pane", id: node.id, agent: null, task };
    return node.task === task ? { kind: "pane", id: node.id, agent: null } : node;
  });
  return { ...layout, root };
}

export function focusPane(layout: Layout, paneId: string): Layout {
  if (layout.focused === paneId || !panesOf(layout.root).some((pane) => pane.id === paneId)) return layout;
  return { ...layout, focused: paneId, zoomed: layout.zoomed === null ? null : paneId };
}

export function toggleZoom(layout: Layout, paneId: string): Layout {
  if (layout.zoomed === paneId) return { ...layout, zoomed: null };
  if (layout.root.kind === "pane" || !panesOf(layout.root).some((pane) => pane.id === paneId)) return layout;
  return { ...layout, zoomed: paneId, focused: paneId };
}

export function setRatio(layout: Layout, splitId: string, ratio: number): Layout {
  const bounded = Math.min(1 - MIN_RATIO, Math.max(MIN_RATIO, ratio));
  const root = map(layout.root, (node) =>
    node.kind === "split" && node.id === splitId && node.ratio !== bounded ? { ...node, ratio: bounded } : node,
  );
  return root === layout.root ? layout : { ...layout, root };
}

/** Gives every pane along an axis the same length. */
export function evenOut(layout: Layout): Layout {
  const along = (node: Node, axis: Axis): number =>
    node.kind === "split" && node.axis === axis ? along(node.first, axis) + along(node.second, axis) : 1;
  const root = map(layout.root, (node) => {
    if (node.kind !== "split") return node;
    const first = along(node.first, node.axis);
    return { ...node, ratio: first / (first + along(node.second, node.axis)) };
  });
  return { ...layout, root };
}

/**
 * Where an agent that is to be seen goes: the pane that shows it already, else the focused pane if that is empty, else the first
 * empty one; else `beside` halves the focused pane along its longer side, and otherwise the focused pane shows it instead.
 */
export function showAgent(layout: Layout, agent: Id, beside: boolean, shape = { width: 16, height: 10 }): Layout {
  const shown = paneOfAgent(layout, agent);
  if (shown) return focusPane(layout, shown.id);
  const panes = panesOf(layout.root);
  const focused = panes.find((pane) => pane.id === layout.focused);
  const target = focused && isEmpty(focused) ? focused : panes.find(isEmpty);
  if (target) return focusPane(assign(layout, target.id, agent), target.id);
  if (beside && panes.length < MAX_PANES) return splitPane(layout, layout.focused, longerSide(layout, shape), agent);
  return assign(layout, layout.focused, agent);
}

/**
 * Where a log that is to be seen goes: the pane that shows it already, else an empty one, else a new one beside the focused pane. Only
 * when no more panes fit does it take the place of something: of another log rather than of an agent.
 */
export function showTask(layout: Layout, task: Id, shape = { width: 16, height: 10 }): Layout {
  const shown = paneOfTask(layout, task);
  if (shown) return focusPane(layout, shown.id);
  const panes = panesOf(layout.root);
  const focused = panes.find((pane) => pane.id === layout.focused);
  const target = focused && isEmpty(focused) ? focused : panes.find(isEmpty);
  if (target) return focusPane(assignTask(layout, target.id, task), target.id);
  if (panes.length < MAX_PANES) {
    const split = splitPane(layout, layout.focused, longerSide(layout, shape));
    return assignTask(split, split.focused, task);
  }
  const replaced = panes.find((pane) => pane.task !== undefined)?.id ?? layout.focused;
  return focusPane(assignTask(layout, replaced, task), replaced);
}

/** The axis along which the focused pane is better halved. */
function longerSide(layout: Layout, shape: { width: number; height: number }): Axis {
  const rect = arrange(layout.root).panes.get(layout.focused)!;
  return rect.width * shape.width >= rect.height * shape.height * 1.3 ? "row" : "column";
}

export function tasksPanel(layout: Layout): TasksPanel {
  return layout.tasks_panel ?? PANEL_BEFORE;
}

export function setTasksPanel(layout: Layout, part: Partial<TasksPanel>): Layout {
  const before = tasksPanel(layout);
  const share = Math.min(PANEL_SHARE.max, Math.max(PANEL_SHARE.min, part.share ?? before.share));
  const after = { ...before, ...part, share };
  const same = after.open === before.open && after.dock === before.dock && share === before.share && after.view === before.view;
  return same ? layout : { ...layout, tasks_panel: after };
}

/** What the panel beside the panes shows; null while it is closed. */
export function openPanel(layout: Layout): PanelView | null {
  const { open, view } = tasksPanel(layout);
  return open ? view ?? "tasks" : null;
}

/** Remembers that the ends of an agent's tasks up to this moment were seen. */
export function sawTasks(layout: Layout, agent: Id, ended_ms: number): Layout {
  if ((layout.tasks_seen?.[agent] ?? 0) >= ended_ms) return layout;
  return { ...layout, tasks_seen: { ...layout.tasks_seen, [agent]: ended_ms } };
}

/** Empties the panes of agents that exist no more, and forgets what was seen of them. */
export function forgetOthers(layout: Layout, known: ReadonlySet<Id>): Layout {
  const root = map(layout.root, (node) =>
    node.kind === "pane" && node.agent !== null && !known.has(node.agent) ? { ...node, agent: null } : node,
  );
  const seen = layout.tasks_seen && Object.entries(layout.tasks_seen);
  const kept = seen?.filter(([agent]) => known.has(agent));
  if (seen && kept && kept.length < seen.length) return { ...layout, root, tasks_seen: Object.fromEntries(kept) };
  return root === layout.root ? layout : { ...layout, root };
}

export function arrange(root: Node): { panes: Map<string, Rect>; dividers: Divider[] } {
  const panes = new Map<string, Rect>();
  const dividers: Divider[] = [];
  const place = (node: Node, area: Rect): void => {
    if (node.kind === "pane") {
      panes.set(node.id, area);
      return;
    }
    dividers.push({ id: node.id, axis: node.axis, ratio: node.ratio, area });
    if (node.axis === "row") {
      const width = area.width * node.ratio;
      place(node.first, { ...area, width });
      place(node.second, { ...area, left: area.left + width, width: area.width - width });
    } else {
      const height = area.height * node.ratio;
      place(node.first, { ...area, height });
      place(node.second, { ...area, top: area.top + height, height: area.height - height });
    }
  };
  place(root, { left: 0, top: 0, width: 1, height: 1 });
  return { panes, dividers };
}

/** The pane that one would reach by going straight from the middle of this one; the nearest to that line wins. */
export function neighbour(layout: Layout, paneId: string, direction: Direction): string | null {
  const { panes } = arrange(layout.root);
  const from = panes.get(paneId);
  if (!from) return null;
  const sideways = direction === "left" || direction === "right";
  const near = 1e-6;
  let best: { id: string; gap: number; off: number } | null = null;
  for (const [id, to] of panes) {
    if (id === paneId) continue;
    const gap =
      direction === "right" ? to.left - (from.left + from.width)
      : direction === "left" ? from.left - (to.left + to.width)
      : direction === "down" ? to.top - (from.top + from.height)
      : from.top - (to.top + to.height);
    const [start, length, otherStart, otherLength] = sideways
      ? [from.top, from.height, to.top, to.height]
      : [from.left, from.width, to.left, to.width];
    const overlaps = otherStart < start + length - near && start < otherStart + otherLength - near;
    if (gap < -near || !overlaps) continue;
    const off = Math.abs(otherStart + otherLength / 2 - (start + length / 2));
    if (!best || gap < best.gap - near || (gap < best.gap + near && off < best.off)) best = { id, gap, off };
  }
  return best?.id ?? null;
}

/** The divider that moves when this pane is made larger or smaller in a direction: its nearest split along that axis. */
export function nearestSplit(root: Node, paneId: string, axis: Axis): Split | null {
  if (root.kind === "pane") return null;
  const inside = panesOf(root.first).some((pane) => pane.id === paneId)
    ? root.first
    : panesOf(root.second).some((pane) => pane.id === paneId) ? root.second : null;
  if (!inside) return null;
  return nearestSplit(inside, paneId, axis) ?? (root.axis === axis ? root : null);
}

/** Reads a stored layout. Anything that breaks an invariant gives null, and the caller begins afresh. */
export function parseLayout(stored: unknown): Layout | null {
  if (!isRecord(stored) || stored["version"] !== 1) return null;
  const seen: Seen = { ids: new Set(), agents: new Set(), tasks: new Set(), panes: 0 };
  const root = parseNode(stored["root"], seen, 0);
  if (!root) return null;
  const panes = panesOf(root);
  const named = (id: unknown) => panes.find((pane) => pane.id === id)?.id ?? null;
  const seenMs = stored["seen_ms"];
  return {
    version: 1,
    root,
    focused: named(stored["focused"]) ?? panes[0]!.id,
    zoomed: panes.length > 1 ? named(stored["zoomed"]) : null,
    seen_ms: typeof seenMs === "number" && Number.isFinite(seenMs) ? seenMs : 0,
    ...parsePanel(stored["tasks_panel"]),
    ...parseSeen(stored["tasks_seen"]),
  };
}

function parsePanel(stored: unknown): Pick<Layout, "tasks_panel"> {
  if (!isRecord(stored)) return {};
  const { open, dock, share } = stored;
  if (typeof open !== "boolean" || (dock !== "right" && dock !== "bottom") || typeof share !== "number" || !Number.isFinite(share)) return {};
  const view = PANEL_VIEWS.includes(stored["view"]) ? { view: stored["view"] as PanelView } : {};
  return { tasks_panel: { open, dock, share: Math.min(PANEL_SHARE.max, Math.max(PANEL_SHARE.min, share)), ...view } };
}

function parseSeen(stored: unknown): Pick<Layout, "tasks_seen"> {
  if (!isRecord(stored)) return {};
  const good = Object.entries(stored).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return good.length > 0 ? { tasks_seen: Object.fromEntries(good) } : {};
}

type Seen = { ids: Set<string>; agents: Set<string>; tasks: Set<string>; panes: number };

function parseNode(stored: unknown, seen: Seen, depth: number): Node | null {
  if (!isRecord(stored) || depth > MAX_PANES) return null;
  const { kind, id } = stored;
  if (typeof id !== "string" || seen.ids.has(id)) return null;
  seen.ids.add(id);
  if (kind === "pane") {
    seen.panes += 1;
    if (seen.panes > MAX_PANES) return null;
    const agent = typeof stored["agent"] === "string" && !seen.agents.has(stored["agent"]) ? stored["agent"] : null;
    if (agent !== null) seen.agents.add(agent);
    const task = agent === null && typeof stored["task"] === "string" && !seen.tasks.has(stored["task"]) ? stored["task"] : null;
    if (task === null) return { kind, id, agent };
    seen.tasks.add(task);
    return { kind, id, agent, task };
  }
  const { axis, ratio } = stored;
  if (kind !== "split" || (axis !== "row" && axis !== "column") || typeof ratio !== "number" || !(ratio > 0 && ratio < 1)) return null;
  const first = parseNode(stored["first"], seen, depth + 1);
  const second = parseNode(stored["second"], seen, depth + 1);
  return first && second ? { kind, id, axis, ratio, first, second } : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
