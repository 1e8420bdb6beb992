// The only door between the window and the engine behind it. Two things implement it: `tauri.ts` in the desktop shell and
// `fake.ts` in tests and in a plain browser. Nothing outside this folder may import a desktop package.

import type {
  AfterChildren, Agent, AgentMode, Approval, Ask, AskState, Changes, Detected, Doctor, Id, Info, Limit, Message, Profile, ProfileSet, ProfileTested, Project, Residue, ResidueApplied,
  ResidueKind, ResidueProgress, Settings, Task, TaskOutput, TaskState, Turn, TurnEvents, UserPrograms, Workdir, WorkdirDiff, WorkdirStopped,
} from "../generated/api";

/** What every failed call rejects with: words for a person, and where there is one, the next step. */
export class BackendError extends Error {
  readonly code: string;
  readonly hint: string | null;
  constructor(code: string, message: string, hint: string | null = null) {
    super(message);
    this.name = "BackendError";
    this.code = code;
    this.hint = hint;
  }
}

/** Turns whatever a promise was rejected with into a BackendError, so that no message is ever "[object Object]". */
export function toBackendError(reason: unknown): BackendError {
  if (reason instanceof BackendError) return reason;
  if (typeof reason === "object" && reason !== null && "message" in reason) {
    const { code, message, hint } = reason as { code?: unknown; message: unknown; hint?: unknown };
    return new BackendError(typeof code === "string" ? code : "failed", String(message), typeof hint === "string" ? hint : null);
  }
  return new BackendError("failed", typeof reason === "string" && reason ? reason : "Something went wrong, and no reason was given.");
}

/** THE list of calls: name, what it takes, what it answers. */
export interface Methods {
  info: [Record<string, never>, Info];
  projects_list: [Record<string, never>, Project[]];
  project_add: [{ path: string }, Project];
  project_remove: [{ project: Id }, unknown];
  profiles_list: [Record<string, never>, Profile[]];
  profile_add: [{ name: string; adapter: string; program: string; args?: string[]; env?: Record<string, string> }, Profile];
  /** What is left out stays; a variable that is null is taken away. Values of variables are never told again. */
  profile_set: [Omit<ProfileSet, "env"> & Partial<Pick<ProfileSet, "env">>, Profile];
  /** Starts the program as it is stored. */
  profile_test: [{ profile: Id }, ProfileTested];
  /** Ends a test that is under way: it is then refused. */
  profile_test_stop: [{ profile: Id }, { stopped: boolean }];
  user_programs: [Record<string, never>, UserPrograms];
  profile_remove: [{ profile: Id }, unknown];
  profile_detect: [Record<string, never>, Detected[]];
  agents_list: [{ project?: Id }, Agent[]];
  agent_add: [{ name: string; project: Id; profile: Id; mode?: AgentMode; role?: string; workdir?: string }, Agent];
  agent_start: [{ agent: Id; cols?: number; rows?: number }, Agent];
  agent_stop: [{ agent: Id }, Agent];
  agent_remove: [{ agent: Id }, unknown];
  layout_get: [{ project: Id }, { layout: unknown }];
  layout_set: [{ project: Id; layout: unknown }, unknown];
  settings_get: [Record<string, never>, Settings];
  settings_set: [{ patch: Partial<Settings> }, Settings];
  terminal_write: [{ run: Id; data: string }, unknown];
  terminal_resize: [{ run: Id; cols: number; rows: number }, unknown];
  task_add: [
    { project?: Id; owner?: Id; command: string[]; cwd?: string; title?: string; timeout_ms?: number; log_max?: number; tty?: boolean; detach?: boolean },
    Task,
  ];
  /** Newest first, and at most `TASKS_LISTED_MAX`. */
  tasks_list: [{ project?: Id; state?: TaskState }, Task[]];
  task_show: [{ task: Id }, Task];
  /** A page of the log: from `offset`, or the last `tail` bytes. With `wait_ms` the answer comes when something follows `offset` or the task is over. */
  task_output: [{ task: Id; offset?: number; limit?: number; tail?: number; wait_ms?: number }, TaskOutput];
  task_cancel: [{ task: Id }, Task];
  task_retry: [{ task: Id }, Task];
  /** `id` is 32 hex digits that the caller made: a repeat with the same id makes nothing new. The ask that comes back may have another id. */
  ask_open: [{ id: Id; agent: Id; prompt: string; project?: Id; timeout_ms?: number; after_children?: AfterChildren; key?: string }, Ask];
  ask_show: [{ ask: Id }, Ask];
  /** Newest first. */
  asks_list: [{ project?: Id; agent?: Id; state?: AskState }, Ask[]];
  ask_cancel: [{ ask: Id }, Ask];
  /** Newest first. */
  turns_list: [{ agent: Id; most?: number }, Turn[]];
  /** What was seen of a turn from `offset` on. With `wait_ms` the answer comes when there is something, or the turn is over. */
  turn_events: [{ turn: Id; offset: number; wait_ms?: number }, TurnEvents];
  message_send: [{ id: Id; agent: Id; text: string; project?: Id }, Message];
  inbox: [{ agent: Id }, Message[]];
  limits_list: [Record<string, never>, Limit[]];
  /** These three answer what holds then; an empty answer when nothing does. */
  limit_clear: [{ profile: Id }, Limit | Record<string, never>];
  limit_resume: [{ profile: Id }, Limit | Record<string, never>];
  limit_hold: [{ profile: Id }, Limit | Record<string, never>];
  /** Those that wait first, and at most 200. */
  approvals_list: [Record<string, never>, Approval[]];
  approval_decide: [{ approval: Id; approve: boolean }, Approval];
  workdir_create: [{ project: Id; name?: string; base?: string }, Workdir];
  /** Those that are there first, then the tombstones. Looks at each with git. */
  workdirs_list: [{ project?: Id }, Workdir[]];
  workdir_diff: [{ workdir: Id }, WorkdirDiff];
  workdir_merge: [{ workdir: Id; how?: "merge" | "squash" | "rebase"; into?: string; keep?: boolean }, Workdir];
  /** Asking for it is the user's consent. */
  workdir_remove: [{ workdir: Id; keep?: boolean }, Workdir];
  /** Stops a merge or a removal that is under way; its own call is then refused. */
  workdir_stop: [{ workdir: Id }, WorkdirStopped];
  workdir_restore: [{ workdir: Id }, Workdir];
  /** Nothing is changed by it. */
  residue_list: [{ kind?: ResidueKind; project?: Id }, Residue[]];
  /** Takes away what is safe, and what is consented to by id; of `only` those, where that is given. Answers when all is done, also on what stays. */
  residue_apply: [{ only?: Id[]; consent?: Id[]; kinds?: ResidueKind[]; project?: Id }, ResidueApplied[]];
  residue_progress: [Record<string, never>, ResidueProgress];
  residue_cancel: [Record<string, never>, ResidueProgress];
  changes_wait: [{ after: number | null; wait_ms: number }, Changes];
  doctor: [Record<string, never>, Doctor];
  /** As the window's close button does: when something runs and no word is remembered, `onQuitRequested` is heard. */
  desktop_close: [Record<string, never>, unknown];
  desktop_quit: [{ choice: "stop" | "keep"; remember: boolean }, unknown];
  desktop_pick_folder: [Record<string, never>, { path: string | null }];
  /** In the user's editor, when that opens a window of its own; else, or where it is wanted, `with` is null, and the desktop's program for directories opens it. */
  desktop_open_directory: [{ path: string; in_file_manager?: boolean }, { with: string | null }];
  desktop_open_url: [{ url: string }, unknown];
  desktop_notify: [{ title: string; body: string }, unknown];
  desktop_autostart: [Record<string, never>, { on: boolean }];
  desktop_set_autostart: [{ on: boolean }, { on: boolean }];
  desktop_updates: [Record<string, never>, Updates];
  desktop_set_updates: [{ on?: boolean; address?: string; key?: string }, Updates];
  /** Asks now; refused while updates are off. */
  desktop_check_updates: [Record<string, never>, Updates];
  /** Puts the version that was found in the AppImage's place. */
  desktop_install_update: [Record<string, never>, Updates];
}

/** What is set and known about updates. `key` and `address` are empty where none is known. */
export interface Updates {
  on: boolean;
  address: string;
  key: string;
  /** The build brings its own key, so the user's is not asked for. */
  has_key: boolean;
  /** It runs from an AppImage, which can be replaced. */
  can_install: boolean;
  checked_ms: number | null;
  found: { version: string; notes: string | null } | null;
  /** The version that stands in the AppImage's place by now. */
  installed: string | null;
  error: string | null;
}

export type Method = keyof Methods;
export type Params<M extends Method> = Methods[M][0];
export type Answer<M extends Method> = Methods[M][1];

export interface PullRequest {
  run: Id;
  /** Offset in the run's stream; null attaches and is answered by a snapshot at once. */
  offset: number | null;
  cols: number;
  rows: number;
  wait_ms: number;
}

/** What would be left behind. `agent` is an agent's name, or a task's title. `unknown` says why it is not known whether anything runs. */
export interface QuitRequest { running: { agent: string; project: string; kind: "agent" | "task" }[]; unknown?: string | null }

export interface Backend {
  call<M extends Method>(method: M, params: Params<M>): Promise<Answer<M>>;
  /** One answer of the pull protocol, undecoded: see features/terminal/frame.ts. */
  terminalPull(request: PullRequest): Promise<ArrayBuffer>;
  /** The user closes the window while agents or tasks run. Returns the way to stop listening. */
  onQuitRequested(listener: (request: QuitRequest) => void): () => void;
  /** Tells the shell, once, that the first picture stands. `js_ms` counts from the page's start. */
  painted(js_ms: number): void;
  readClipboard(): Promise<string>;
  writeClipboard(text: string): Promise<void>;
}
