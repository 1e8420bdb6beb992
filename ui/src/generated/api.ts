// Generated from crates/api. Do not edit: `npm run bindings` writes it.

export type Id = string;
export type AdapterName = "claude" | "codex" | "gemini" | "opencode" | "acp" | "plain";
export type ChangeTag = "projectChanged" | "profileChanged" | "agentChanged" | "runChanged" | "settingsChanged" | "layoutChanged" | "backgroundTaskChanged" | "agentInboxChanged" | "agentWakeChanged" | "askChanged" | "turnChanged" | "approvalChanged" | "limitChanged" | "workdirChanged" | "residueChanged";

/** Most tasks in one list. */
export const TASKS_LISTED_MAX = 10000;

export type Code = "not_found" | "invalid" | "refused" | "failed" | "no_engine";

export type ApiError = { 
/**
 * What a caller may branch on.
 */
code: Code, 
/**
 * A full sentence.
 */
message: string, 
/**
 * The way out.
 */
hint: string | null, };

export type Usage = { 
/**
 * Turns that told what they used: 1 for one turn.
 */
turns: number, 
/**
 * Those of them that told a price. With fewer than all, the price is the least that it was.
 */
priced_turns: number, 
/**
 * Tokens that the model read, from caches too.
 */
input_tokens: number | null, 
/**
 * Those of them that came from a cache.
 */
cached_tokens: number | null, 
/**
 * Tokens that it wrote, its thinking too.
 */
output_tokens: number | null, 
/**
 * Those of them that it thought with.
 */
reasoning_tokens: number | null, 
/**
 * Price in millionths of a US dollar.
 */
cost_micro_usd: number | null, };

export type Project = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * Absolute path.
 */
root: string, 
/**
 * What turns of its agents have used, those of removed ones too; none when none of them told.
 */
usage?: Usage | null, };

export type ProjectAdd = { 
/**
 * An absolute path in it.
 */
path: string, };

export type Policy = "never" | "ask" | "allow";

export type Profile = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * `claude`, `codex`, `gemini`, `opencode`, `acp` or `plain`.
 */
adapter: AdapterName, 
/**
 * A path, or a name on the user's PATH.
 */
program: string, 
/**
 * Arguments.
 */
args: Array<string>, 
/**
 * Names of its own variables.
 */
env_names: Array<string>, 
/**
 * The version that its program told.
 */
version: string | null, 
/**
 * What its agents may run in the background.
 */
policy: Policy, 
/**
 * Beginnings of commands that need no approval.
 */
allow_prefixes: Array<string>, 
/**
 * Most headless turns of its agents that run at once; none: any number.
 */
concurrency?: number | null, 
/**
 * Until when a session limit holds.
 */
limited_until_ms: number | null, };

export type ProfileAdd = { 
/**
 * Its name.
 */
name: string, 
/**
 * `claude`, `codex`, `gemini`, `opencode`, `acp` or `plain`.
 */
adapter: string, 
/**
 * A path, or a name on the user's PATH.
 */
program: string, 
/**
 * Arguments.
 */
args: Array<string>, 
/**
 * Variables of its own, by name.
 */
env: Record<string, string>, 
/**
 * What its agents may run in the background; left out: what its adapter asks for.
 */
policy?: Policy, 
/**
 * Beginnings of commands that need no approval.
 */
allow_prefixes: Array<string>, 
/**
 * Most headless turns of its agents that run at once; left out: any number.
 */
concurrency?: number, };

export type ProfileSet = { 
/**
 * By name or id.
 */
profile: string, 
/**
 * A path, or a name on the user's PATH.
 */
program?: string, 
/**
 * Arguments.
 */
args?: Array<string>, 
/**
 * Variables by name; null takes one away, those that are not named stay.
 */
env: Record<string, string | null>, 
/**
 * What its agents may run in the background.
 */
policy?: Policy, 
/**
 * Beginnings of commands that need no approval.
 */
allow_prefixes?: Array<string>, 
/**
 * Most headless turns of its agents that run at once; 0 takes the bound away.
 */
concurrency?: number, };

export type ProfileTested = { 
/**
 * How it went, as a sentence without a full stop.
 */
said: string, 
/**
 * The last lines that its program printed.
 */
output: string, 
/**
 * Whether nothing about it looks wrong.
 */
is_well: boolean, };

export type UserPrograms = { 
/**
 * The absolute path of `$SHELL`.
 */
shell: string | null, 
/**
 * `$VISUAL`, else `$EDITOR`: the absolute path of its program, then its arguments.
 */
editor: Array<string> | null, };

export type TempLevel = "fine" | "warn" | "end";

export type TempUse = { 
/**
 * Its absolute path.
 */
path: string | null, 
/**
 * Bytes on the disk.
 */
bytes: number, 
/**
 * Files and directories.
 */
files: number, 
/**
 * Bytes beyond which whoever fills it is ended.
 */
max_bytes: number, 
/**
 * Files and directories beyond which whoever fills it is ended.
 */
max_files: number, 
/**
 * What is done about it.
 */
level: TempLevel, 
/**
 * What the user should know of it, when it is much.
 */
warning: string | null, };

export type RunState = "starting" | "running" | "ended" | "lost";

export type Run = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * Where it stands.
 */
state: RunState, 
/**
 * The exit code of its program.
 */
exit_code: number | null, 
/**
 * The number of the signal that ended its program.
 */
signal: number | null, 
/**
 * Its end in words.
 */
reason: string | null, 
/**
 * When its program began.
 */
started_ms: number | null, 
/**
 * When it ended.
 */
ended_ms: number | null, 
/**
 * The process id of its program.
 */
pid: number | null, 
/**
 * Bytes of output so far.
 */
log_bytes: number, };

export type AgentState = "offline" | "idle" | "working" | "needs_attention" | "limited" | "failed";

export type AgentMode = "terminal" | "headless";

export type Agent = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * The id of its project.
 */
project: string, 
/**
 * The id of its profile.
 */
profile: string, 
/**
 * What the user looks at.
 */
mode: AgentMode, 
/**
 * What it is doing.
 */
state: AgentState, 
/**
 * Ids of what it waits for.
 */
waiting_on: Array<string>, 
/**
 * Turns and messages that wait for it.
 */
queued: number, 
/**
 * The turn that it is at.
 */
turn: TurnBrief | null, 
/**
 * A wake that did not work yet.
 */
wake: Wake | null, 
/**
 * Absolute path of the directory that it works in.
 */
workdir: string, 
/**
 * The session of its own program, once known.
 */
session_id: string | null, 
/**
 * Until when a session limit holds.
 */
limited_until_ms: number | null, 
/**
 * Why what stands in line for it does not begin, in words; none when nothing else is in the way.
 */
held_back?: string | null, 
/**
 * What its turns have used; none when none of them told.
 */
usage?: Usage | null, 
/**
 * The temp directory of its newest run; none before it was measured, and once it is gone.
 */
temp?: TempUse | null, 
/**
 * Its newest run.
 */
run: Run | null, };

export type AgentAdd = { 
/**
 * Its name.
 */
name: string, 
/**
 * A project by name, id or path.
 */
project: string, 
/**
 * A profile by name or id.
 */
profile: string, 
/**
 * Terminal unless said otherwise.
 */
mode?: AgentMode, 
/**
 * What it is told to be.
 */
role?: string, 
/**
 * `root`, or an absolute path.
 */
workdir?: string, };

export type Detected = { 
/**
 * The adapter that knows it.
 */
adapter: string, 
/**
 * Absolute path.
 */
program: string, 
/**
 * The version that it told.
 */
version: string | null, 
/**
 * Why it cannot be used as it is.
 */
problem: string | null, 
/**
 * The id of the profile that uses it already.
 */
profile: string | null, };

export type Level = "info" | "warn" | "error";

export type Notice = { 
/**
 * How serious it is.
 */
level: Level, 
/**
 * What is the matter.
 */
text: string, 
/**
 * The way out.
 */
hint: string | null, };

export type Info = { 
/**
 * The version of Carillon.
 */
version: string, 
/**
 * The engine's process.
 */
pid: number, 
/**
 * The data directory.
 */
home: string, 
/**
 * The API's socket.
 */
socket: string, 
/**
 * What the user should know.
 */
notices: Array<Notice>, 
/**
 * Whether it was started to show the demo.
 */
demo: boolean, };

export type Theme = "system" | "light" | "dark";

export type AtExit = "ask" | "stop" | "keep";

export type ClipboardWrite = "ask" | "allow" | "deny";

export type Settings = { 
/**
 * Light or dark.
 */
theme: Theme, 
/**
 * Size of the terminal's font, in CSS pixels.
 */
font_size: number, 
/**
 * What happens to running agents when Carillon quits.
 */
at_exit: AtExit, 
/**
 * Lines of scrollback in a pane.
 */
scrollback: number, 
/**
 * Whether programs may write the clipboard.
 */
clipboard_write: ClipboardWrite, };

export type CheckState = "ok" | "warn" | "fail";

export type Check = { 
/**
 * What was looked at.
 */
name: string, 
/**
 * How it came out.
 */
state: CheckState, 
/**
 * What was seen.
 */
detail: string, 
/**
 * The way out.
 */
hint: string | null, };

export type Doctor = { 
/**
 * Nothing fails.
 */
ok: boolean, 
/**
 * All that was looked at.
 */
checks: Array<Check>, };

export type Change = { 
/**
 * Its place in the order.
 */
seq: number, 
/**
 * What kind of row.
 */
tag: ChangeTag, 
/**
 * The id of the row.
 */
id: string, 
/**
 * The project of the row.
 */
project: string | null, };

export type Changes = { 
/**
 * Pass it as `after` the next time.
 */
seq: number, 
/**
 * Fetch all anew.
 */
reset: boolean, 
/**
 * The changes, oldest first.
 */
changes: Array<Change>, };

export type Layout = { 
/**
 * The window's own JSON.
 */
layout: unknown, };

export type TaskState = "awaiting_approval" | "queued" | "starting" | "running" | "succeeded" | "failed" | "timed_out" | "cancelled" | "lost";

export type Task = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * The id of its project.
 */
project: string, 
/**
 * The id of the agent that hears of its end.
 */
owner: string | null, 
/**
 * A name for people.
 */
title: string, 
/**
 * Program and arguments.
 */
command: Array<string>, 
/**
 * Absolute path of the directory that it runs in.
 */
cwd: string, 
/**
 * Where its latest attempt stands.
 */
state: TaskState, 
/**
 * The exit code of its command.
 */
exit_code: number | null, 
/**
 * The number of the signal that ended its command.
 */
signal: number | null, 
/**
 * Its end in words.
 */
reason: string | null, 
/**
 * The how-manieth attempt it is, from 1.
 */
attempt: number, 
/**
 * The ask that it is joined to.
 */
joined_ask: string | null, 
/**
 * Bytes of output so far.
 */
log_bytes: number, 
/**
 * Some of the output is not kept.
 */
log_truncated: boolean, 
/**
 * A descendant still held the output when its command had ended and the drain was over.
 */
output_held: boolean, 
/**
 * Processes of it that are still there, in words.
 */
left_over: Array<string>, 
/**
 * Whether it has a terminal.
 */
tty: boolean, 
/**
 * The temp directory of its run; none before it was measured, and once it is over.
 */
temp?: TempUse | null, 
/**
 * When it was accepted.
 */
created_ms: number, 
/**
 * When its command began.
 */
started_ms: number | null, 
/**
 * When it was over.
 */
ended_ms: number | null, };

export type TaskOutput = { 
/**
 * Where it begins, in bytes of the stream.
 */
offset: number, 
/**
 * Ask for it next.
 */
next_offset: number, 
/**
 * Bytes of the stream so far.
 */
total: number, 
/**
 * Something between what was asked for and `offset` is not kept.
 */
truncated: boolean, 
/**
 * Nothing follows `next_offset`.
 */
over: boolean, 
/**
 * The output as text; control sequences are still in it.
 */
text: string, 
/**
 * The output as it is, in base64, when that was asked for.
 */
data?: string, };

export type MessageKind = "task_ended" | "ask_answered" | "ask_received" | "note";

export type MessageState = "pending" | "claimed" | "delivered" | "undeliverable";

export type Message = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * The id of the agent.
 */
agent: string, 
/**
 * What it is about.
 */
kind: MessageKind, 
/**
 * Where it stands.
 */
state: MessageState, 
/**
 * It may have been handed over before.
 */
repeated: boolean, 
/**
 * The id of its task or ask.
 */
about: string | null, 
/**
 * What it says.
 */
text: string, 
/**
 * When it was written.
 */
created_ms: number, };

export type AskState = "open" | "pending_final" | "answered" | "failed" | "cancelled" | "timed_out";

export type AfterChildren = "deliver" | "follow_up";

export type DeliveredBy = "call" | "inbox";

export type WaitingFor = "turn_queue" | "turn" | "children" | "follow_up" | "limit" | "attention" | "slot";

export type ChildKind = "task" | "ask";

export type AskChild = { 
/**
 * What kind of work it is.
 */
kind: ChildKind, 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * The command, or the prompt of an ask, on one line.
 */
command: string, 
/**
 * The word of its state, of a task or of an ask.
 */
state: string, 
/**
 * The exit code of a task's command.
 */
exit_code: number | null, 
/**
 * The number of the signal that ended a task's command.
 */
signal: number | null, 
/**
 * How long it took, in milliseconds; none while it goes on.
 */
duration_ms: number | null, 
/**
 * The end of its output, or the final of an ask; none while it goes on.
 */
tail: string | null, };

export type Ask = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * The id of its project.
 */
project: string, 
/**
 * The id of the agent that asks; none: the user.
 */
caller: string | null, 
/**
 * The name of that agent, also when it was removed.
 */
caller_name: string | null, 
/**
 * The id of the agent that is asked; none when it was removed.
 */
callee: string | null, 
/**
 * The name of that agent, also when it was removed.
 */
callee_name: string, 
/**
 * The question.
 */
prompt: string, 
/**
 * Where it stands.
 */
state: AskState, 
/**
 * The answer; also one that waits for children.
 */
final: string | null, 
/**
 * Its end in words, when that is not an answer.
 */
reason: string | null, 
/**
 * The caller's key: the same one attaches to this ask instead of asking again.
 */
key: string | null, 
/**
 * What is asked of the callee when its final waited for children.
 */
after_children: AfterChildren, 
/**
 * The ask that it is a child of.
 */
joined_ask: string | null, 
/**
 * Work that the callee started while it served the ask.
 */
children: Array<AskChild>, 
/**
 * How its answer reached the caller.
 */
delivered: DeliveredBy | null, 
/**
 * What it waits for.
 */
waiting_for: WaitingFor | null, 
/**
 * When it was accepted.
 */
created_ms: number, 
/**
 * When its time is up.
 */
deadline_ms: number | null, 
/**
 * When it was over.
 */
ended_ms: number | null, };

export type TurnKind = "ask" | "follow_up" | "wake" | "resume";

export type TurnState = "queued" | "starting" | "running" | "final" | "failed" | "interrupted" | "limited";

export type Turn = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * The id of the agent.
 */
agent: string, 
/**
 * The ask that it serves.
 */
ask: string | null, 
/**
 * Why it is run.
 */
kind: TurnKind, 
/**
 * Where it stands.
 */
state: TurnState, 
/**
 * What the agent is told.
 */
prompt: string, 
/**
 * What it answered.
 */
final: string | null, 
/**
 * Its end in words, when that is not a final.
 */
reason: string | null, 
/**
 * The run that carries it.
 */
run: string | null, 
/**
 * Ids of the messages that it carries.
 */
messages: Array<string>, 
/**
 * What it used; none when its program did not tell.
 */
usage?: Usage | null, 
/**
 * When it was put in line.
 */
created_ms: number, 
/**
 * When it was handed to the agent.
 */
started_ms: number | null, 
/**
 * When it was over.
 */
ended_ms: number | null, };

export type TurnEventKind = "text" | "thinking" | "tool" | "note";

export type TurnEvent = { 
/**
 * What kind of thing.
 */
kind: TurnEventKind, 
/**
 * The name of a tool.
 */
name: string | null, 
/**
 * What it says.
 */
text: string, };

export type TurnEvents = { 
/**
 * What was seen, in its order.
 */
events: Array<TurnEvent>, 
/**
 * Ask for it next, in bytes of the run's output.
 */
next_offset: number, 
/**
 * Nothing follows.
 */
over: boolean, };

export type TurnBrief = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * Why it is run.
 */
kind: TurnKind, 
/**
 * The ask that it serves.
 */
ask: string | null, 
/**
 * When it was handed to the agent.
 */
started_ms: number | null, };

export type Wake = { 
/**
 * How often it was tried.
 */
attempt: number, 
/**
 * When it is tried next.
 */
next_ms: number | null, 
/**
 * It is not tried any more, until the agent is started or something new arrives.
 */
given_up: boolean, 
/**
 * What went wrong, in words.
 */
reason: string, };

export type Limit = { 
/**
 * The id of the profile.
 */
profile: string, 
/**
 * Its name.
 */
profile_name: string, 
/**
 * What the agent's program said.
 */
reason: string, 
/**
 * The end that was told; none: unknown.
 */
until_ms: number | null, 
/**
 * When an agent tries next; none when the user wants all to wait.
 */
resume_ms: number | null, 
/**
 * An agent tries now.
 */
trying: boolean, 
/**
 * The user wants all to wait until he says otherwise.
 */
held: boolean, 
/**
 * Since when it holds.
 */
since_ms: number, 
/**
 * Names of the agents that have something to do.
 */
waiting: Array<string>, };

export type ApprovalState = "pending" | "approved" | "denied" | "expired";

export type Approval = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * The id of its task.
 */
task: string, 
/**
 * The id of the agent that wants it.
 */
agent: string | null, 
/**
 * The name of that agent.
 */
agent_name: string | null, 
/**
 * The id of the project.
 */
project: string, 
/**
 * Program and arguments, exactly.
 */
command: Array<string>, 
/**
 * The command on one line, without control characters.
 */
shown: string, 
/**
 * Absolute path of the directory that it would run in.
 */
cwd: string, 
/**
 * Where it stands.
 */
state: ApprovalState, 
/**
 * When it was asked for.
 */
created_ms: number, 
/**
 * When it expires.
 */
until_ms: number, };

export type WorkdirState = "creating" | "active" | "merged" | "abandoned" | "removing" | "tombstoned";

export type Workdir = { 
/**
 * 32 hex digits.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * The id of its project.
 */
project: string, 
/**
 * Its absolute path.
 */
path: string, 
/**
 * The branch that was made with it.
 */
branch: string | null, 
/**
 * The branch that its work goes to.
 */
base_branch: string | null, 
/**
 * The commit that it began from.
 */
base_commit: string | null, 
/**
 * The id of the agent that works in it.
 */
owner: string | null, 
/**
 * Where it stands.
 */
state: WorkdirState, 
/**
 * Something in it is not committed; none when that cannot be told.
 */
dirty: boolean | null, 
/**
 * Commits that were made in it.
 */
ahead: number | null, 
/**
 * Commits that its base has and it has not.
 */
behind: number | null, 
/**
 * Whether it may go: `safe`, `needs_consent` or `blocked`.
 */
verdict: string | null, 
/**
 * Why, in sentences; of one that was refused, why it stays.
 */
reasons: Array<string>, 
/**
 * Of a tombstone: why it went.
 */
why: string | null, 
/**
 * What brings it back.
 */
archive_ref: string | null, 
/**
 * What its archive could not keep.
 */
not_kept: Array<string>, 
/**
 * What is not as it was, in sentences.
 */
notes: Array<string>, 
/**
 * When it was accepted.
 */
created_ms: number, 
/**
 * When it was gone.
 */
ended_ms: number | null, };

export type DiffFile = { 
/**
 * From the root of the workdir.
 */
path: string, 
/**
 * Lines that were added; none for a file that is no text.
 */
added: number | null, 
/**
 * Lines that were taken away.
 */
deleted: number | null, };

export type WorkdirDiff = { 
/**
 * The id of the workdir.
 */
id: string, 
/**
 * As `git diff` prints it.
 */
text: string, 
/**
 * There is more than is told here.
 */
truncated: boolean, 
/**
 * The files in it.
 */
files: Array<DiffFile>, 
/**
 * Files that git does not know.
 */
untracked: Array<string>, };

export type WorkdirStopped = { 
/**
 * It stops, and nothing was changed.
 */
stopped: boolean, 
/**
 * Why it does not.
 */
reason: string | null, };

export type ResidueKind = "temp" | "run" | "log" | "worktree" | "husk" | "branch" | "process" | "archive" | "trash";

export type ResidueVerdict = "safe" | "needs_consent" | "blocked";

export type Residue = { 
/**
 * 32 hex digits, the same in each report.
 */
id: string, 
/**
 * What it is.
 */
kind: ResidueKind, 
/**
 * What people call it.
 */
name: string, 
/**
 * Where it is: a path, or the name of a branch or of a reference.
 */
path: string, 
/**
 * The id of its project.
 */
project: string | null, 
/**
 * The id of the agent that it is of.
 */
owner: string | null, 
/**
 * The id of the run that it is of.
 */
run: string | null, 
/**
 * Bytes on the disk.
 */
bytes: number, 
/**
 * All of it was counted; else there is more.
 */
counted: boolean, 
/**
 * How old it is, in milliseconds.
 */
age_ms: number | null, 
/**
 * Whether it may go.
 */
verdict: ResidueVerdict, 
/**
 * Why, in sentences.
 */
reasons: Array<string>, };

export type ResidueApplied = { 
/**
 * It was seen to be gone.
 */
removed: boolean, 
/**
 * Why it stays.
 */
refused: string | null, 
/**
 * Bytes that came free, as they were measured.
 */
freed_bytes: number, 
/**
 * 32 hex digits, the same in each report.
 */
id: string, 
/**
 * What it is.
 */
kind: ResidueKind, 
/**
 * What people call it.
 */
name: string, 
/**
 * Where it is: a path, or the name of a branch or of a reference.
 */
path: string, 
/**
 * The id of its project.
 */
project: string | null, 
/**
 * The id of the agent that it is of.
 */
owner: string | null, 
/**
 * The id of the run that it is of.
 */
run: string | null, 
/**
 * Bytes on the disk.
 */
bytes: number, 
/**
 * All of it was counted; else there is more.
 */
counted: boolean, 
/**
 * How old it is, in milliseconds.
 */
age_ms: number | null, 
/**
 * Whether it may go.
 */
verdict: ResidueVerdict, 
/**
 * Why, in sentences.
 */
reasons: Array<string>, };

export type ResidueProgress = { 
/**
 * One is at work.
 */
running: boolean, 
/**
 * Things that are to go.
 */
total: number, 
/**
 * Things that were tried.
 */
done: number, 
/**
 * Things that are gone.
 */
removed: number, 
/**
 * Bytes that came free.
 */
freed_bytes: number, 
/**
 * Somebody broke it off.
 */
cancelled: boolean, };
