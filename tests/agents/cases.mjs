// What every adapter must do on the real CLI. A case gets a stage on which nothing ran before, and throws when it fails.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { limited } from "./model/limits.mjs";

/** How far a reset may be from the scripted one: Codex writes minutes. In milliseconds. */
const RESET_SLACK_MS = 90_000;
const TWO_HOURS_S = 7_200;

const ASK = { match: "ask bob", after_tool: false, tool_calls: [{ name: "~ask_agent$", arguments: { agent: "bob", prompt: "2+2?" } }] };
const TOLD = { match: "ask bob", after_tool: true, times: 0, text: "Bob said: {{tool_result}}" };
const HELLO = { match: "say hello", times: 0, text: "Hello there.\nHow are you?" };

/** Long enough to be seen in pieces, and without a repetition, which Gemini CLI would take for a loop. */
const HALF = Array.from({ length: 60 }, (_, at) => `Half of answer ${at * at}.`).join(" ");

/** Without a word on when the limit ends. */
const LIMITS_WITHOUT_RESET = {
  anthropic: { status: 429, type: "rate_limit_error", message: "limited" },
  responses: { status: 429, body: { error: { type: "usage_limit_reached", message: "The usage limit has been reached", plan_type: "plus" } } },
  chat: { status: 429, type: "rate_limit_error", message: "Rate limit reached" },
  gemini: { status: 429, type: "RESOURCE_EXHAUSTED", message: "q", details: [{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId: "GenerateRequestsPerDay", quotaMetric: "x" }] }] },
};

const wordsOfLimits = "You've hit your usage limit. You've hit your 5-hour limit · resets 8:23pm (UTC). 429 Too Many Requests, try again at 8:33 PM.";

const isAcp = (stage) => stage.cli.adapter === "acp";

export const CASES = {
  "final": {
    turns: [HELLO],
    async run(stage) {
      const turn = await stage.turn({ prompt: "say hello" });
      assert.deepEqual(turn.end, { kind: "final", text: "Hello there.\nHow are you?" });
      assert.ok(turn.session, "the session's id is known");
      if (turn.planned_session) assert.equal(turn.session, turn.planned_session);
      assert.ok(turn.seen.some((seen) => seen.text?.includes("Hello")), "the text is seen while it runs");
      if (turn.usage) assert.deepEqual([turn.usage.input_tokens, turn.usage.output_tokens], [100, 20]);
      assert.deepEqual(stage.again(turn), turn.outcome, "the outcome can be read again");
      assert.ok(!turn.argv.some((arg) => arg.includes("say hello")), "the prompt stands in no argument");
    },
  },
  "role": {
    quick: true,
    turns: [HELLO],
    async run(stage) {
      const turn = await stage.turn({ prompt: "say hello", role: "You are ROLE-7.\nYou sing \"high\"." });
      assert.equal(turn.end.kind, "final");
      const [request] = stage.requests();
      assert.ok(JSON.stringify(request.body).includes("ROLE-7"), "the model was told the role");
    },
  },
  "session resumed": {
    quick: true,
    turns: [HELLO, { match: "and again", times: 0, text: "Again." }, { match: "third", times: 0, text: "Third." }],
    skip: (stage) => (stage.name === "acp-gemini" ? "Gemini CLI loses a conversation that is loaded by this protocol" : null),
    async run(stage) {
      const first = await stage.turn({ prompt: "say hello", mcp: true });
      const second = await stage.turn({ prompt: "and again", resume: first.session, mcp: true });
      assert.deepEqual(second.end, { kind: "final", text: "Again." });
      assert.equal(second.session, first.session);
      const third = await stage.turn({ prompt: "third", resume: second.session, mcp: true });
      assert.deepEqual(third.end, { kind: "final", text: "Third." });
      const history = JSON.stringify(stage.requests().at(-1).body);
      for (const text of ["say hello", "How are you?", "and again", "Again."]) assert.ok(history.includes(text), `${text} is in the history`);
    },
  },
  "MCP call": {
    quick: true,
    turns: [ASK, TOLD],
    async run(stage) {
      const turn = await stage.turn({ prompt: "ask bob", mcp: true, role: "You are alice." });
      assert.equal(turn.end.kind, "final");
      assert.match(turn.end.text, /^Bob said: [\s\S]*bob says ANSWER-42 to 2\+2\?/);
      assert.ok(turn.seen.some((seen) => seen.tool?.includes("ask_agent")), "the call is seen");
      const { started } = stage.mcpNotes().find((entry) => entry.started);
      assert.equal(started.CARILLON_RUN, stage.mark, "the server has its variables");
      assert.ok(!turn.argv.join(" ").includes("secret-"), "no secret stands in an argument");
      for (const file of turn.files) assert.equal(fs.statSync(file).mode & 0o777, 0o600, file);
    },
  },
  "MCP call of 70 s": {
    slow: true,
    skip: (stage) => (stage.name === "acp-opencode" ? "OpenCode's own limit of 60 s holds for servers that it is given by this protocol" : null),
    turns: [{ ...ASK, tool_calls: [{ name: "~ask_agent$", arguments: { agent: "bob", prompt: "2+2?", wait_ms: 70_000 } }] }, TOLD],
    async run(stage) {
      const turn = await stage.turn({ prompt: "ask bob", mcp: true });
      assert.equal(turn.end.kind, "final");
      assert.match(turn.end.text, /ANSWER-42/);
    },
  },
  "limit with its reset": {
    quick: true,
    script: (stage) => ({ turns: [{ match: "hit the limit", times: 0, error: limited(stage.cli.api, TWO_HOURS_S) }] }),
    skip: (stage) =>
      ({ "acp-opencode": "OpenCode retries for ever and tells nothing of it by this protocol", "acp-gemini": "this protocol loses the reset" })[stage.name],
    async run(stage) {
      const turn = await stage.turn({ prompt: "hit the limit" });
      assert.equal(turn.end.kind, "limited", JSON.stringify(turn.end));
      assert.ok(turn.end.reason, "it says why");
      const off = turn.end.resets_at_ms - (Date.now() + TWO_HOURS_S * 1_000);
      assert.ok(Math.abs(off) < RESET_SLACK_MS, `the reset is ${off} ms off`);
      if (stage.name === "claude") assert.deepEqual(turn.end.windows, ["five_hour"]);
    },
  },
  "limit without a reset": {
    script: (stage) => ({ turns: [{ match: "hit the limit", times: 0, error: LIMITS_WITHOUT_RESET[stage.cli.api] }] }),
    skip: (stage) => (stage.name === "acp-opencode" ? "OpenCode retries for ever and tells nothing of it by this protocol" : null),
    async run(stage) {
      const turn = await stage.turn({ prompt: "hit the limit" });
      assert.equal(turn.end.kind, "limited", JSON.stringify(turn.end));
      assert.equal(turn.end.resets_at_ms, null, "nothing is made up");
    },
  },
  "an agent that talks of limits": {
    quick: true,
    turns: [{ match: "recite", times: 0, text: wordsOfLimits }],
    async run(stage) {
      const turn = await stage.turn({ prompt: "recite" });
      assert.deepEqual(turn.end, { kind: "final", text: wordsOfLimits });
    },
  },
  "refused request": {
    turns: [{ match: "be refused", times: 0, error: { status: 400, type: "invalid_request_error", message: "the moon is in the way" } }],
    async run(stage) {
      const turn = await stage.turn({ prompt: "be refused" });
      assert.equal(turn.end.kind, "failed", JSON.stringify(turn.end));
      assert.match(turn.end.reason, /the moon is in the way/);
    },
  },
  "refused after it spoke": {
    quick: true,
    turns: [{ ...ASK, text: "Let me look first." }, { after_tool: true, times: 0, error: { status: 400, type: "invalid_request_error", message: "too late" } }],
    async run(stage) {
      const turn = await stage.turn({ prompt: "ask bob", mcp: true });
      assert.equal(turn.end.kind, "failed", JSON.stringify(turn.end));
    },
  },
  "dropped connection": {
    skip: (stage) => (stage.name === "acp-opencode" ? "by this protocol a new try looks like the rest of the broken one" : null),
    turns: [{ match: "say hello", times: 1, drop: "mid", chunk_delay: 10, text: HALF }, HELLO],
    async run(stage) {
      const turn = await stage.turn({ prompt: "say hello" });
      // Some try again, some give up. Half an answer is never the final.
      if (turn.end.kind === "final") assert.equal(turn.end.text, "Hello there.\nHow are you?");
      else assert.equal(turn.end.kind, "failed", JSON.stringify(turn.end));
    },
  },
  "unknown session": {
    quick: true,
    turns: [HELLO],
    async run(stage) {
      const id = stage.cli.api === "chat" ? "ses_0123456789abcdefghijABCDEF" : randomUUID();
      const turn = await stage.turn({ prompt: "say hello", resume: id });
      assert.equal(turn.end.kind, "unknown_session", JSON.stringify(turn.end));
      assert.equal(stage.requests().length, 0, "the model was not asked");
    },
  },
  "no answer": {
    turns: [{ match: "be silent", times: 0, text: "" }],
    async run(stage) {
      const turn = await stage.turn({ prompt: "be silent" });
      assert.ok(["no_answer", "failed"].includes(turn.end.kind), JSON.stringify(turn.end));
    },
  },
  "cut short and resumed": {
    quick: true,
    turns: [HELLO, { match: "take long", hold: "long", text: "Too late." }, { times: 0, text: "Back again." }],
    skip: (stage) => (stage.name === "acp-gemini" ? "Gemini CLI loses a conversation that is loaded by this protocol" : null),
    async run(stage) {
      const first = await stage.turn({ prompt: "say hello" });
      const cut = await stage.turn({ prompt: "take long", resume: first.session }, async () => {
        await stage.model.held("long");
        stage.endProcesses();
      });
      assert.equal(cut.end.kind, "failed", JSON.stringify(cut.end));
      const turn = await stage.turn({ prompt: "go on", resume: first.session });
      assert.deepEqual(turn.end, { kind: "final", text: "Back again." });
      assert.ok(JSON.stringify(stage.requests().at(-1).body).includes("say hello"), "the history is there");
    },
  },
  "nothing is left": {
    quick: true,
    turns: [ASK, TOLD],
    async run(stage) {
      const before = new Set(fs.readdirSync(os.tmpdir()));
      const turn = await stage.turn({ prompt: "ask bob", mcp: true, role: "You are alice." });
      assert.equal(turn.end.kind, "final");
      assert.deepEqual(stage.configuration(), stage.before, "the user's settings are as they were");
      for (const [file, text] of Object.entries(stage.configuration())) assert.ok(!text.includes("carillon"), file);
      const git = spawnSync("git", ["status", "--porcelain", "--ignored"], { cwd: stage.repository, encoding: "utf8", env: stage.env() });
      assert.equal(git.stdout, "", "the repository is as it was");
      // Others use the same directory: only what such a CLI would leave counts.
      const made = fs.readdirSync(os.tmpdir()).filter((name) => !before.has(name) && /claude|^cc-|codex|gemini|opencode|\.so$|node-compile/i.test(name));
      assert.deepEqual(made, [], "nothing stands outside the run's own temp directory");
      assert.deepEqual(await gone(stage), [], "no process is left");
      if (isAcp(stage)) assert.equal(turn.signal, null);
    },
  },
};

/** What holds for the CLI's own interface in a terminal. */
Object.assign(CASES, {
  "terminal: turns told by hooks": {
    turns: [HELLO, ASK, TOLD],
    skip: (stage) => (isAcp(stage) ? "this protocol has no interface for a terminal" : null),
    async run(stage) {
      const terminal = stage.terminal({ mcp: true, role: "You are ROLE-7." });
      try {
        await terminal.quiet();
        await terminal.say("say hello");
        const first = await terminal.told("turn_ended");
        assert.deepEqual(first, { kind: "turn_ended", text: "Hello there.\nHow are you?", background_tasks: 0 });
        const calls = terminal.hooks().length;
        await terminal.quiet();
        await terminal.say("ask bob\nplease");
        const second = await terminal.told("turn_ended", calls);
        assert.match(second.text, /ANSWER-42/);
        assert.ok(terminal.hooks().some((call) => call.session), "the session is known");
        if (stage.name !== "codex") assert.ok(terminal.hooks().some((call) => call.seen?.kind === "prompt_submitted"));
        assert.ok(JSON.stringify(stage.requests().map((request) => request.body)).includes("ROLE-7"), "the model was told the role");
        // Codex notes there by itself which of its hints were shown.
        for (const [file, text] of Object.entries(stage.configuration())) assert.ok(!text.includes("carillon"), file);
      } finally {
        await terminal.stop(stage);
      }
    },
  },
  "terminal: what names a conversation is no turn": {
    turns: [{ ...HELLO, chunk: 1, chunk_delay: 150 }],
    skip: (stage) => (isAcp(stage) ? "this protocol has no interface for a terminal" : null),
    async run(stage) {
      const terminal = stage.terminal({});
      try {
        await terminal.quiet();
        await terminal.say("say hello");
        assert.equal((await terminal.told("turn_ended")).text, "Hello there.\nHow are you?");
      } finally {
        await terminal.stop(stage);
      }
    },
  },
  "terminal: limit told by a hook": {
    script: (stage) => ({ turns: [{ match: "hit the limit", times: 0, error: limited(stage.cli.api, TWO_HOURS_S) }] }),
    skip: (stage) => (isAcp(stage) ? "this protocol has no interface for a terminal" : ({ codex: "it tells nobody of limits; its record does", gemini: "its interface tells nobody of limits" })[stage.name] ?? null),
    async run(stage) {
      const terminal = stage.terminal({});
      try {
        await terminal.quiet();
        await terminal.say("hit the limit");
        const told = await terminal.told("limited");
        assert.ok(told.reason, "it says why");
        const off = told.resets_at_ms - (Date.now() + TWO_HOURS_S * 1_000);
        assert.ok(Math.abs(off) < RESET_SLACK_MS, `the reset is ${off} ms off`);
      } finally {
        await terminal.stop(stage);
      }
    },
  },
  "terminal and turn share a session": {
    turns: [HELLO, { match: "and again", times: 0, text: "Again." }],
    skip: (stage) => (isAcp(stage) ? "this protocol has no interface for a terminal" : null),
    async run(stage) {
      const turn = await stage.turn({ prompt: "say hello" });
      const terminal = stage.terminal({ resume: turn.session });
      try {
        await terminal.quiet();
        await terminal.say("and again");
        assert.equal((await terminal.told("turn_ended")).text, "Again.");
      } finally {
        await terminal.stop(stage);
      }
      const history = JSON.stringify(stage.requests().at(-1).body);
      assert.ok(history.includes("say hello") && history.includes("How are you?"), "the history is there");
    },
  },
});

/** Processes that are still there after a moment. */
async function gone(stage) {
  const until = Date.now() + 3_000;
  while (stage.processes().length > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
  return stage.processes();
}
