// What holds for a CLI's own interface in a terminal of the engine's: prompts are typed in when it is free, its hooks tell when a
// turn is over, and what the user has begun to type stays as it is. The user's keys come the way the window sends them.

import assert from "node:assert/strict";
import { CLIS } from "./clis.mjs";
import { ShortLimit } from "./model/limits.mjs";

/** Between the end of a text and Enter, as a person's hand would leave it, in milliseconds. What follows at once is taken for a paste. */
const BEFORE_ENTER_MS = 600;

/** An interface that shows the same for so long has drawn itself, in milliseconds. */
const QUIET_MS = 1_000;

/** Longer than Claude Code lets a call go on before it puts it aside, unless it is told not to, in milliseconds. */
const LONG_CALL_MS = 130_000;

/** How long the scripted limit lasts, in seconds. */
const LIMIT_S = 6;

/** How long a title takes, in milliseconds: until after the prompt is surely handed over, and before its answer is whole. */
const TITLE_MS = 1_500;

/** A model that takes so long for each letter, in milliseconds. */
const SLOW_CHAR_MS = 150;

/** So much later than the end of an inner agent the outer one's comes, in milliseconds. */
const INNER_AHEAD_MS = 2_000;

/** How a CLI starts itself once more in its own shell. */
const INNER = {
  gemini: (program) => ({ name: "~shell", arguments: { command: `${program} --skip-trust -m gemini-2.5-flash -p 'inner question'` } }),
  opencode: (program) => ({ name: "~^bash$", arguments: { command: `${program} run 'inner question'`, description: "asks another one" } }),
};

const HELLO = { match: "say hello", times: 0, text: "Hello there.\nHow are you?" };
const SEEN = { match: "task ended|note for later", times: 0, text: "I have seen it." };

export const PANES = {
  "app: terminal: asked, and woken by the end of a task": {
    quick: true,
    interactive: true,
    turns: [HELLO, SEEN],
    async run(world, name) {
      await up(world, name);
      const ask = await world.ask("one", "say hello");
      assert.deepEqual([ask.state, ask.final], ["answered", "Hello there.\nHow are you?"]);
      const task = await world.ok("run", "--owner", "one", "--", "sh", "-c", "echo R-77");
      await world.until("the wake", async () => (await world.turns("one")).at(-1).kind === "wake");
      await over(world, 2);
      const { user, body } = world.requests().at(-1);
      assert.ok(user.includes(task.id) && user.includes("R-77"), `the wake names the task: ${user}`);
      assert.ok(JSON.stringify(body).includes("How are you?"), "it goes on in the same session");
      const messages = await world.messages("one", "task_ended");
      assert.deepEqual(messages.map((message) => [message.about, message.state]), [[task.id, "delivered"]]);
    },
  },
  "app: terminal: a half-typed line stays": {
    quick: true,
    interactive: true,
    turns: [HELLO, SEEN, { match: "my own thought", times: 0, text: "A good thought." }],
    async run(world, name) {
      await up(world, name);
      await type(world, "my own");
      await world.ok("send", "one", "a note for later");
      // What stands in the line outlives the engine that saw it typed.
      await world.crash();
      await world.addAgent("two", name);
      assert.equal((await world.ask("two", "say hello")).state, "answered", "others go on meanwhile");
      assert.deepEqual((await world.messages("one", "note")).map((message) => message.state), ["pending"]);
      assert.ok(!world.requests().some((entry) => entry.user.includes("note for later")), "nothing was typed into the user's line");
      await type(world, " thought");
      await new Promise((resolve) => setTimeout(resolve, BEFORE_ENTER_MS));
      await world.call("terminal_write", { run: await run(world), data: "\r" });
      await world.until("the note", async () => (await world.messages("one", "note"))[0].state === "delivered");
      const told = world.requests().map((entry) => entry.user.trim());
      const mine = told.findIndex((user) => user.endsWith("my own thought"));
      const note = told.findIndex((user) => user.includes("note for later"));
      assert.ok(mine >= 0 && note > mine, `the user's line came whole, and the note after it: ${JSON.stringify(told)}`);
      assert.ok(!told[note].endsWith("thought") && !told[mine].includes("note"), "each for itself");
    },
  },
  "app: terminal: what names a conversation is no answer": {
    interactive: true,
    // Whoever asks for a title, at once or when the first words are there, gets it before the answer is whole.
    script: () => ({ turns: [{ ...HELLO, chunk: 1, chunk_delay: SLOW_CHAR_MS }], side: { text: "A title", delay: TITLE_MS } }),
    async run(world, name) {
      await up(world, name);
      const ask = await world.ask("one", "say hello");
      assert.deepEqual([ask.state, ask.final], ["answered", "Hello there.\nHow are you?"]);
    },
  },
  "app: terminal: the end of an inner agent is no end": {
    interactive: true,
    skip: (name) => (["claude", "codex"].includes(name) ? "what it starts in its shell knows nothing of its hooks" : null),
    script: (name, world) => ({
      turns: [
        { match: "start another", after_tool: false, tool_calls: [INNER[name](world.programs[name])] },
        { match: "inner question", times: 0, text: "From within." },
        { match: "start another", after_tool: true, times: 0, delay: INNER_AHEAD_MS, text: "It said: {{tool_result}}" },
      ],
    }),
    async run(world, name) {
      const profile = CLIS[name].args;
      CLIS[name].args = [...profile, ...(name === "gemini" ? ["--yolo"] : ["--auto"])];
      try {
        await world.addProfile("free", name);
      } finally {
        CLIS[name].args = profile;
      }
      await up(world, "free", name);
      const ask = await world.ask("one", "start another");
      assert.equal(ask.state, "answered", JSON.stringify(ask));
      assert.match(ask.final, /^It said: [\s\S]*From within\./, ask.final);
      assert.ok(world.requests(name).some((entry) => /inner question/.test(entry.user)), "there was an inner one");
    },
  },
  "app: terminal: a limit, then resumed once": {
    waits: true,
    interactive: true,
    skip: (name) => (name === "gemini" ? "its interface tells nobody of limits" : null),
    script: (name, world) => {
      world.limit = new ShortLimit(CLIS[name].api, LIMIT_S);
      return { turns: [world.limit.turn("hit the limit"), { match: "hit the limit", times: 0, text: "Done at last." }] };
    },
    async run(world, name) {
      await up(world, name);
      const answer = await world.ask("one", "hit the limit");
      assert.deepEqual([answer.state, answer.final], ["answered", "Done at last."]);
      const after = world.requests().filter((entry) => /hit the limit/.test(entry.user) && !entry.status);
      assert.equal(after.length, 1, "the model was asked once after the reset");
      assert.ok(Date.now() >= world.limit.ends_s * 1_000, "it waited for the reset");
      await world.until("the end of the limit", async () => (await world.call("limits_list")).length === 0);
    },
  },
  "app: terminal: a limit while the engine is dead": {
    waits: true,
    interactive: true,
    skip: (name) => ({ gemini: "its interface tells nobody of limits", opencode: "it goes on by itself" })[name],
    script: (name, world) => {
      world.limit = new ShortLimit(CLIS[name].api, LIMIT_S);
      return { turns: [{ ...world.limit.turn("hit the limit"), hold: "limit" }, { match: "hit the limit|cut short", times: 0, text: "Done at last." }] };
    },
    async run(world, name) {
      await up(world, name);
      const asked = world.ask("one", "hit the limit");
      asked.catch(() => {});
      await world.model.held("limit");
      await world.until("the turn", async () => (await world.turns("one"))[0].state === "running");
      await world.crash(async () => {
        world.model.release("limit");
        await world.until("the refusal", () => world.requests().some((entry) => entry.status));
      });
      const ask = await asked;
      assert.deepEqual([ask.state, ask.final], ["answered", "Done at last."]);
      assert.deepEqual((await world.turns("one")).map((turn) => turn.state), ["limited", "final"]);
    },
  },
  "app: terminal: a call of 130 s": {
    slow: true,
    waits: true,
    interactive: true,
    turns: [
      { match: "ask the other one", after_tool: false, tool_calls: [{ name: "~ask_agent$", arguments: { agent: "two", prompt: "take long" } }] },
      { match: "ask the other one", after_tool: true, text: "It said: {{tool_result}}" },
      { match: "take long", hold: "long", times: 0, text: "Worth the wait." },
    ],
    async run(world, name) {
      await up(world, name);
      await world.addAgent("two", name);
      const asked = world.ask("one", "ask the other one");
      asked.catch(() => {});
      await world.model.held("long");
      await new Promise((resolve) => setTimeout(resolve, LONG_CALL_MS));
      world.model.release("long");
      const ask = await asked;
      assert.equal(ask.state, "answered", JSON.stringify(ask));
      assert.ok(ask.final.includes("Worth the wait."), ask.final);
      await over(world, 1);
      assert.deepEqual(await world.messages("one", "ask_answered"), [], "the call itself brought the answer");
    },
  },
  "app: terminal: a turn ends while the engine is dead": {
    interactive: true,
    turns: [{ match: "take long", hold: "long", text: "Worth the wait." }],
    async run(world, name) {
      await up(world, name);
      const asked = world.ask("one", "take long");
      asked.catch(() => {});
      await world.model.held("long");
      await world.until("the turn", async () => (await world.turns("one"))[0].state === "running");
      await world.crash(async () => {
        const before = world.leftHooks();
        world.model.release("long");
        await world.until("the word that the program leaves", () => world.leftHooks() > before);
      });
      const ask = await asked;
      assert.deepEqual([ask.state, ask.final, (await world.turns("one")).length], ["answered", "Worth the wait.", 1]);
    },
  },
};

const run = async (world) => (await world.agent("one")).run.id;
const screen = async (world) => world.screen(await run(world));

/** Starts the agent's interface and waits until it has drawn itself. */
async function up(world, profile, name = profile) {
  await world.addAgent("one", profile, "terminal");
  await world.ok("agent", "start", "one");
  let [shown, since] = ["", Date.now()];
  await world.until(`the interface, which shows ${shown}`, async () => {
    const text = await screen(world);
    if (text !== shown) [shown, since] = [text, Date.now()];
    return CLIS[name].ready.test(shown.replace(/\s+/g, " ")) && Date.now() - since > QUIET_MS;
  });
}

/** Types a text as a person does, and waits until it stands on the screen. */
async function type(world, text) {
  for (const key of text) await world.call("terminal_write", { run: await run(world), data: key });
  await world.until(`${text} on the screen`, async () => (await screen(world)).includes(text.trim()));
}

/** Waits until the agent has had so many turns and all are over. */
async function over(world, count) {
  const turns = await world.until(`the end of turn ${count}`, async () => {
    const all = await world.turns("one");
    return all.length >= count && all.every((turn) => turn.ended_ms) && all;
  });
  assert.deepEqual(turns.map((turn) => turn.state), Array(count).fill("final"), JSON.stringify(turns));
}
