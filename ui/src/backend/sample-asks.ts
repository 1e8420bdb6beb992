// Asks, turns and messages of the sample world, in every state there is.

import type { Agent, Ask, AskChild, Id, Turn, TurnEvent } from "../generated/api";
import { type FakeBackend, newId } from "./fake";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

const ANSWER = `The tests fail since **the lamp is lit twice**: once by \`keeper.start()\` and once by the timer that \`storm.ts\` left behind.

## What I found

1. \`src/storm.ts\` starts a timer and never clears it.
   - It goes on after the storm is over.
   - The second test of a file sees the first one's timer.
2. \`src/lamp.ts\` takes \`light()\` twice without a word.

\`\`\`ts
export function calm(): void {
  clearInterval(timer);   // this line is missing, and everything else follows from that
  timer = null;
}
\`\`\`

| test | before | after |
| --- | --- | --- |
| keeps the lamp lit in a storm | fails | passes |
| lights once | fails, now and then | passes |

- [x] a test that fails without the change
- [ ] the same for the horn, see https://example.org/lamp/issues/42.

> I have changed nothing but \`src/storm.ts\`.`;

const LONG_PROMPT = `Bring the keeper's log into one place. Today three files write it, each in its own way:

${Array.from({ length: 14 }, (_, n) => `${n + 1}. src/${["keeper", "storm", "lamp", "horn", "tide"][n % 5]}.ts writes lines of the form "${["LIT", "calm", "horn!", "tide:"][n % 4]} <time>", line ${40 + n * 13}`).join("\n")}

Keep the order of the lines as it is, and say which readers have to change.`;

const STEPS: TurnEvent[] = [
  { kind: "thinking", name: null, text: "The log is written in three places. If I take one writer for all of them, the readers have to know only one form. First I look who reads it at all." },
  { kind: "tool", name: "Grep", text: "\"writeLog(\" in src/" },
  { kind: "tool", name: "Read", text: "src/keeper.ts" },
  { kind: "text", name: null, text: "There are three writers and two readers. I move the writers to `src/log.ts` and leave the readers as they are." },
  { kind: "tool", name: "Bash", text: "npm test -- --run src/keeper.test.ts src/log.test.ts src/storm.test.ts --reporter=dot --no-color\n# only what is concerned" },
  { kind: "note", name: null, text: "The session is 62 % full." },
  { kind: "thinking", name: null, text: "Two of the tests look at the old form of a line. They are right to: a reader does, too." },
];

interface AskSample { caller?: Agent; callee: Agent; prompt: string; ago_ms: number; took_ms?: number; part?: Partial<Ask> }

export async function addSampleAsks(backend: FakeBackend): Promise<void> {
  const { asks } = backend;
  const agent = (name: string): Agent => backend.world.agents.find((each) => each.name === name)!;
  const now = Date.now();
  const addAsk = ({ caller, callee, prompt, ago_ms, took_ms, part }: AskSample): Ask => {
    const ask: Ask = {
      id: newId(), project: callee.project, caller: caller?.id ?? null, caller_name: caller?.name ?? null, callee: callee.id, callee_name: callee.name, prompt, state: "answered", final: null, reason: null,
      key: null, after_children: "deliver", joined_ask: null, children: [], delivered: caller ? "call" : null, waiting_for: null, created_ms: now - ago_ms,
      deadline_ms: null, ended_ms: took_ms === undefined ? null : now - ago_ms + took_ms, ...part,
    };
    asks.put(ask);
    return ask;
  };
  const addTurn = (ask: Ask | null, callee: Agent, part: Partial<Turn>, events?: TurnEvent[]): Turn => {
    const created_ms = part.created_ms ?? ask?.created_ms ?? now;
    const turn: Turn = {
      id: newId(), agent: callee.id, ask: ask?.id ?? null, kind: "ask", state: "final", prompt: ask?.prompt ?? "", final: ask?.final ?? null, reason: null, run: newId(), messages: [],
      created_ms, started_ms: created_ms + 300, ended_ms: ask?.ended_ms ?? null, ...part,
    };
    asks.putTurn(turn, events);
    return turn;
  };
  const child = (kind: AskChild["kind"], id: Id, command: string, part: Partial<AskChild> = {}): AskChild => ({ kind, id, command, state: "running", exit_code: null, signal: null, duration_ms: null, tail: null, ...part });
  const [scout, tester, planner, builder, reviewer] = ["scout", "tester", "planner", "builder", "reviewer"].map(agent) as [Agent, Agent, Agent, Agent, Agent];

  // What scout did before.
  const first = addAsk({ callee: scout, prompt: "Why do the keeper's tests fail now and then?", ago_ms: 52 * MINUTE, took_ms: 94 * SECOND, part: { final: ANSWER, children: [
    child("task", newId(), "npm test -- --run src/keeper.test.ts", { state: "succeeded", exit_code: 0, duration_ms: 21_400, tail: "Test Files  1 passed (1)\n     Tests  4 passed (4)" }),
  ] } });
  addTurn(first, scout, {}, STEPS.slice(0, 4));
  const failed = addAsk({ callee: scout, prompt: "Mend the horn the same way.", ago_ms: 41 * MINUTE, took_ms: 12 * SECOND, part: { state: "failed", reason: "exited 1: API Error 529: the model is overloaded" } });
  addTurn(failed, scout, { state: "failed", final: null, reason: failed.reason });
  const note = { id: newId(), agent: scout.id, kind: "note" as const, text: "The tide tables of 2027 are in data/tides.csv now. Use them in place of the old ones.", about: null };
  asks.tell(note);
  const woken = backend.asks.messages.at(-1)!;
  woken.state = "delivered";
  woken.created_ms = now - 36 * MINUTE;
  addTurn(null, scout, {
    kind: "wake", prompt: `Message ${note.id} (note): ${note.text}`, messages: [note.id], created_ms: now - 36 * MINUTE, ended_ms: now - 36 * MINUTE + 9_000, final: "Noted. `src/tide.ts` reads `data/tides.csv` from now on.",
  });
  const byPlanner = addAsk({ caller: planner, callee: scout, prompt: "Which files read the keeper's log? Answer with paths only.", ago_ms: 22 * MINUTE, took_ms: 8 * SECOND, part: { final: "`src/report.ts`\n`src/harbour/board.ts`" } });
  addTurn(byPlanner, scout, {});

  // What it is at, and what waits for it.
  const waiting = addAsk({ callee: tester, caller: scout, prompt: "Run the whole suite on the branch log-in-one-place and say what fails.", ago_ms: 95 * SECOND, part: { state: "pending_final", waiting_for: "children", final: "I started the suite; the result comes with this answer." } });
  const [suite, e2e] = backend.tasks.list({ project: scout.project }).filter(({ state }) => state === "starting" || state === "running");
  const suiteChildren = [suite, e2e].flatMap((task) => (task ? [child("task", task.id, task.command.at(-1)!)] : []));
  for (const { id } of suiteChildren) backend.tasks.set(id, { joined_ask: waiting.id });
  const big = addAsk({ callee: scout, prompt: LONG_PROMPT, ago_ms: 3 * MINUTE + 12 * SECOND, part: { state: "open", waiting_for: "turn", deadline_ms: now + 27 * MINUTE } });
  asks.put({ ...waiting, joined_ask: big.id, children: suiteChildren });
  asks.put({ ...big, children: [
    child("ask", waiting.id, waiting.prompt),
    child("task", newId(), "npx tsc --noEmit", { state: "succeeded", exit_code: 0, duration_ms: 6_200, tail: "" }),
  ] });
  addTurn(waiting, tester, { ended_ms: now - 80 * SECOND });
  const current = addTurn(big, scout, { state: "running", final: null, started_ms: now - 3 * MINUTE - 11 * SECOND, ended_ms: null }, STEPS);
  const nextUp = addAsk({ callee: scout, prompt: "And the same for the harbour's board, when you are done.", ago_ms: 70 * SECOND, part: { state: "open", waiting_for: "turn_queue" } });
  addTurn(nextUp, scout, { state: "queued", final: null, run: null, started_ms: null, ended_ms: null });
  const third = addAsk({ caller: planner, callee: scout, prompt: "Is there a test for a lamp without oil?", ago_ms: 30 * SECOND, part: { state: "open", waiting_for: "turn_queue", delivered: null } });
  addTurn(third, scout, { state: "queued", final: null, run: null, started_ms: null, ended_ms: null });

  // Others: one that went wrong for what it waited for, one whose time was up, one that was cancelled, one that needs somebody.
  const broken = addAsk({ caller: planner, callee: builder, prompt: "Build a release and tell me its size.", ago_ms: 64 * MINUTE, took_ms: 12 * MINUTE, part: {
    state: "failed", reason: "its task cargo test -p lamp failed: killed by signal 9", final: "The build runs in the background.", delivered: "inbox",
    children: [child("task", newId(), "cargo test -p lamp", { state: "failed", signal: 9, duration_ms: 84_000, tail: "   Compiling lamp v0.3.0\nerror: could not compile `lamp` (lib) due to 1 previous error" }), child("task", newId(), "cargo build --release", { state: "cancelled", signal: 15, duration_ms: 80_000 })],
  } });
  void broken;
  addAsk({ caller: builder, callee: reviewer, prompt: "Please look over the change in src/storm.ts.", ago_ms: 6 * MINUTE, part: { state: "open", waiting_for: "attention", delivered: null } });
  addAsk({ callee: tester, prompt: "Soak the keeper for half an hour.", ago_ms: 130 * MINUTE, took_ms: 30 * MINUTE, part: { state: "timed_out", reason: "timed out after 30 min 00 s" } });
  addAsk({ callee: builder, prompt: "Try the new linker.", ago_ms: 190 * MINUTE, took_ms: 2 * MINUTE, part: { state: "cancelled", reason: "cancelled by you" } });

  // Inboxes.
  for (const [kind, text, ago_ms] of [
    ["task_ended", "Task npm run build succeeded after 8.3 s.", 61 * SECOND], ["ask_answered", "scout answered your ask \"Which files read the keeper's log?\": src/report.ts, src/harbour/board.ts", 21 * MINUTE],
    ["note", "Do not touch main before the release is out.\nThe branch for everything else is `next`.", 12 * MINUTE],
  ] as const) {
    asks.tell({ id: newId(), agent: planner.id, kind, text, about: kind === "ask_answered" ? byPlanner.id : kind === "task_ended" ? backend.tasks.list({ project: planner.project })[5]!.id : null });
    asks.messages.at(-1)!.created_ms = now - ago_ms;
    if (kind === "ask_answered") asks.messages.at(-1)!.state = "delivered";
  }
  asks.tell({ id: newId(), agent: builder.id, kind: "ask_received", text: "planner asks: Build a release and tell me its size.", about: broken.id });
  for (const each of [scout, tester, planner, builder]) asks.recount(each.id);
  backend.setAgent(scout.id, { state: "working", turn: { id: current.id, kind: "ask", ask: big.id, started_ms: current.started_ms } });
  backend.setAgent(tester.id, { waiting_on: suiteChildren.map(({ id }) => id) });
  backend.setAgent(reviewer.id, { state: "needs_attention" });
  backend.setAgent(builder.id, { wake: { attempt: 5, next_ms: null, given_up: true, reason: "codex exited 101 at once: not logged in" } });
}
