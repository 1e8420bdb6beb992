// What the window itself remembers while it is open: which project is on show, which dialog is open, what went wrong.

import type { BackendError, QuitRequest } from "../backend/backend";
import type { Id } from "../generated/api";

export type DialogState =
  | { kind: "open_project" }
  | { kind: "add_agent"; project: Id; beside: boolean }
  | { kind: "new_task"; project: Id }
  | { kind: "ask_agent"; project: Id; agent: Id | null }
  | { kind: "cancel_ask"; ask: Id }
  | { kind: "remove_agent"; agent: Id }
  | { kind: "remove_project"; project: Id }
  | { kind: "new_workdir"; project: Id }
  | { kind: "workdir_diff" | "merge_workdir" | "remove_workdir" | "restore_workdir"; project: Id; workdir: Id }
  | { kind: "limits" }
  | { kind: "usage"; project: Id }
  | { kind: "cleanup" }
  | { kind: "settings"; page: "general" | "profiles" | "doctor"; profile?: Id }
  | { kind: "shortcuts" }
  | { kind: "palette" };

export interface Toast {
  id: number;
  level: "error" | "warn" | "info";
  title: string;
  hint: string | null;
  /** What a click on the toast leads to. */
  target?: ToastTarget;
}

export type ToastTarget = ({ project: Id } & ({ task: Id } | { ask: Id } | { agent: Id })) | { cleanup: true };

/** Which task of a project is picked in the list, and whether its log is open below. */
export interface TaskChoice { task: Id | null; detail: boolean }

/** Which row of a project's asks is picked (an ask or a piece of its work), and whether the ask stands open below. */
export interface AskChoice { row: Id | null; detail: boolean }

export interface View {
  project: Id | null;
  /** False until the first answer of the engine decided which project is on show. */
  ready: boolean;
  sidebar: boolean;
  dialog: DialogState | null;
  quit: QuitRequest | null;
  toasts: readonly Toast[];
  /** Texts of the notices that were dismissed since the window opened. */
  dismissed: ReadonlySet<string>;
  /** Agents with a call under way. */
  busy: Readonly<Record<Id, "starting" | "stopping" | "removing">>;
  /** Why the last start of an agent failed. */
  failures: Readonly<Record<Id, BackendError>>;
  /** By project. */
  chosenTasks: Readonly<Record<Id, TaskChoice>>;
  /** By project. */
  chosenAsks: Readonly<Record<Id, AskChoice>>;
  /** The agent whose inbox is on show, by project. */
  chosenInbox: Readonly<Record<Id, Id>>;
}

/** Messages that are kept: the window shows the newest, and the others when those are closed. */
export const TOASTS_MAX = 50;

export function initialView(): View {
  return {
    project: null, ready: false, sidebar: true, dialog: null, quit: null, toasts: [], dismissed: new Set(), busy: {}, failures: {}, chosenTasks: {},
    chosenAsks: {}, chosenInbox: {},
  };
}

export function withToast(view: View, toast: Toast): View {
  // The same trouble told twice is one toast, and it is the newest.
  const others = view.toasts.filter((other) => other.title !== toast.title || other.hint !== toast.hint);
  return { ...view, toasts: [...others, toast].slice(-TOASTS_MAX) };
}

export function without<V>(record: Readonly<Record<string, V>>, key: string): Readonly<Record<string, V>> {
  if (!(key in record)) return record;
  const { [key]: _, ...rest } = record;
  return rest;
}
