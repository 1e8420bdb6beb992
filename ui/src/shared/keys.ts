// The window's keyboard shortcuts. All have Ctrl+Shift (or are keys that no terminal program gets), so that nothing which a program
// in a pane could want is taken from it.

export interface Chord { key: string; ctrl?: boolean; shift?: boolean; alt?: boolean }

export type ShortcutName =
  | "palette" | "shortcuts" | "settings" | "openProject" | "addAgent" | "sidebar" | "tasks" | "asks" | "inbox" | "askAgent" | "workdirs" | "approvals" | "limits" | "cleanup" | "quit"
  | "splitRight" | "splitDown" | "closePane" | "zoom" | "evenOut"
  | "focusLeft" | "focusRight" | "focusUp" | "focusDown"
  | "growLeft" | "growRight" | "growUp" | "growDown"
  | "search" | "copy" | "paste" | "fontLarger" | "fontSmaller" | "fontReset";

const both = (key: string): Chord => ({ key, ctrl: true, shift: true });

export const SHORTCUTS: Record<ShortcutName, { label: string; group: "Window" | "Panes" | "Terminal"; chords: Chord[] }> = {
  palette: { label: "All commands", group: "Window", chords: [both("p")] },
  shortcuts: { label: "Keyboard shortcuts", group: "Window", chords: [both("/"), both("?")] },
  settings: { label: "Settings", group: "Window", chords: [{ key: ",", ctrl: true }] },
  openProject: { label: "Open a project", group: "Window", chords: [both("o")] },
  addAgent: { label: "Add an agent", group: "Window", chords: [both("a")] },
  sidebar: { label: "Go to the sidebar, or hide it", group: "Window", chords: [both("b")] },
  tasks: { label: "Go to the tasks, or hide them", group: "Window", chords: [both("j")] },
  asks: { label: "Go to the asks, or hide them", group: "Window", chords: [both("k")] },
  inbox: { label: "Go to the inbox, or hide it", group: "Window", chords: [both("m")] },
  workdirs: { label: "Go to the workdirs, or hide them", group: "Window", chords: [both("g")] },
  approvals: { label: "Go to the approvals, or hide them", group: "Window", chords: [both("y")] },
  limits: { label: "Session limits", group: "Window", chords: [both("t")] },
  cleanup: { label: "Clean up", group: "Window", chords: [both("l")] },
  askAgent: { label: "Ask an agent", group: "Window", chords: [both("s")] },
  fontLarger: { label: "Larger text", group: "Window", chords: [{ key: "=", ctrl: true }, { key: "+", ctrl: true }, both("+")] },
  fontSmaller: { label: "Smaller text", group: "Window", chords: [{ key: "-", ctrl: true }] },
  fontReset: { label: "Text at its usual size", group: "Window", chords: [{ key: "0", ctrl: true }] },
  quit: { label: "Quit", group: "Window", chords: [both("q")] },
  splitRight: { label: "Split to the right", group: "Panes", chords: [both("d")] },
  splitDown: { label: "Split downwards", group: "Panes", chords: [both("e")] },
  closePane: { label: "Close the pane (its agent goes on)", group: "Panes", chords: [both("w")] },
  zoom: { label: "Zoom the pane, or back", group: "Panes", chords: [both("Enter")] },
  evenOut: { label: "Make all panes alike", group: "Panes", chords: [both("u")] },
  focusLeft: { label: "Go to the pane at the left", group: "Panes", chords: [both("ArrowLeft")] },
  focusRight: { label: "Go to the pane at the right", group: "Panes", chords: [both("ArrowRight")] },
  focusUp: { label: "Go to the pane above", group: "Panes", chords: [both("ArrowUp")] },
  focusDown: { label: "Go to the pane below", group: "Panes", chords: [both("ArrowDown")] },
  growLeft: { label: "Move the divider left", group: "Panes", chords: [{ ...both("ArrowLeft"), alt: true }] },
  growRight: { label: "Move the divider right", group: "Panes", chords: [{ ...both("ArrowRight"), alt: true }] },
  growUp: { label: "Move the divider up", group: "Panes", chords: [{ ...both("ArrowUp"), alt: true }] },
  growDown: { label: "Move the divider down", group: "Panes", chords: [{ ...both("ArrowDown"), alt: true }] },
  search: { label: "Search in the terminal or log", group: "Terminal", chords: [both("f")] },
  copy: { label: "Copy the selection", group: "Terminal", chords: [both("c")] },
  paste: { label: "Paste", group: "Terminal", chords: [both("v")] },
};

/** Keys without Ctrl, for the list of tasks alone: no program has the keyboard there. */
export const TASK_KEYS: { label: string; keys: Chord[] }[] = [
  { label: "Go up and down", keys: [{ key: "ArrowUp" }, { key: "ArrowDown" }] },
  { label: "Open the log", keys: [{ key: "Enter" }] },
  { label: "Open the log in a pane", keys: [{ key: "o" }] },
  { label: "Cancel", keys: [{ key: "c" }] },
  { label: "Retry", keys: [{ key: "r" }] },
  { label: "Copy the command", keys: [{ key: "y" }] },
  { label: "New task", keys: [{ key: "n" }] },
  { label: "Filter", keys: [{ key: "/" }] },
  { label: "Leave", keys: [{ key: "Escape" }] },
];

/** Keys without Ctrl, for the asks alone. */
export const ASK_KEYS: { label: string; keys: Chord[] }[] = [
  { label: "Go up and down", keys: [{ key: "ArrowUp" }, { key: "ArrowDown" }] },
  { label: "Fold, unfold", keys: [{ key: "ArrowLeft" }, { key: "ArrowRight" }] },
  { label: "Open", keys: [{ key: "Enter" }] },
  { label: "Show the agent, or the log", keys: [{ key: "o" }] },
  { label: "Cancel", keys: [{ key: "c" }] },
  { label: "Ask an agent", keys: [{ key: "n" }] },
  { label: "Open ones, or all", keys: [{ key: "a" }] },
];

/** Keys without Ctrl, for the commands that wait for approval: each is chosen before it is decided. */
export const APPROVAL_KEYS: { label: string; keys: Chord[] }[] = [
  { label: "Choose", keys: [{ key: "ArrowUp" }, { key: "ArrowDown" }] },
  { label: "Approve", keys: [{ key: "a" }] },
  { label: "Deny", keys: [{ key: "d" }] },
  { label: "Always allow its beginning", keys: [{ key: "w" }] },
];

/** Keys without Ctrl, for the workdirs. */
export const WORKDIR_KEYS: { label: string; keys: Chord[] }[] = [
  { label: "Show the difference", keys: [{ key: "d" }] },
  { label: "Merge", keys: [{ key: "m" }] },
  { label: "Remove", keys: [{ key: "x" }] },
  { label: "Restore", keys: [{ key: "r" }] },
  { label: "Stop a merge or a removal", keys: [{ key: "s" }] },
  { label: "Open a terminal in it", keys: [{ key: "t" }] },
  { label: "Open it in your editor", keys: [{ key: "e" }] },
  { label: "Copy the path", keys: [{ key: "y" }] },
  { label: "There, or gone", keys: [{ key: "g" }] },
  { label: "New workdir", keys: [{ key: "n" }] },
];

/** The field under a conversation. */
export const COMPOSER_KEYS: { label: string; keys: Chord[] }[] = [
  { label: "Send", keys: [{ key: "Enter" }] },
  { label: "New line", keys: [{ key: "Enter", shift: true }] },
  { label: "Scroll", keys: [{ key: "PageUp" }, { key: "PageDown" }] },
];

/** The shortcuts that a terminal or a log handles itself; all others belong to the window. */
export const TERMINAL_SHORTCUTS: readonly ShortcutName[] = ["search", "copy", "paste"];

export function matches(event: KeyboardEvent, chord: Chord): boolean {
  return (
    event.ctrlKey === (chord.ctrl ?? false) &&
    event.altKey === (chord.alt ?? false) &&
    !event.metaKey &&
    // Whether a sign such as "+" or "?" needs Shift depends on the keyboard, so for signs only the sign itself counts.
    (event.shiftKey === (chord.shift ?? false) || /^[+?/]$/.test(chord.key)) &&
    event.key.toLowerCase() === chord.key.toLowerCase()
  );
}

export function shortcutOf(event: KeyboardEvent): ShortcutName | null {
  for (const [name, { chords }] of Object.entries(SHORTCUTS)) {
    if (chords.some((chord) => matches(event, chord))) return name as ShortcutName;
  }
  return null;
}

/** Also for what is too small to read on a key. */
const NAMES: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", ",": "comma", PageUp: "PgUp", PageDown: "PgDn" };

export function chordKeys(chord: Chord): string[] {
  const keys = [];
  if (chord.ctrl) keys.push("Ctrl");
  if (chord.alt) keys.push("Alt");
  if (chord.shift) keys.push("Shift");
  keys.push(NAMES[chord.key] ?? (chord.key.length === 1 ? chord.key.toUpperCase() : chord.key));
  return keys;
}

/** For tooltips: "Split to the right (Ctrl+Shift+D)". */
export function withKeys(label: string, name: ShortcutName): string {
  return `${label} (${chordKeys(SHORTCUTS[name].chords[0]!).join("+")})`;
}
