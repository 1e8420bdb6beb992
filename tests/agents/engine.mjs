// What holds for one CLI with the whole app around it: an engine, its supervisors, the tools of agents, the command line. A case
// gets a world with that CLI alone, and throws when it fails.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { CLIS } from "./clis.mjs";
import { ShortLimit } from "./model/limits.mjs";

/** How long the scripted limit lasts, in seconds. */
const LIMIT_S = 6;

const HELLO = { match: "say hello", times: 0, text: "Hello there.\nHow are you?" };
const AGAIN = { match: "and again", times: 0, text: "Again." };

/** A command that goes on until the file `go` is there, beside the repository. */
const untilGo = (more) => `until [ -e ../go ]; do sleep 0.05; done; echo x >> ../ran; ${more}`;

/** A turn in which the agent starts a command that outlives the ask. */
const startsTask = (command) => [
  { match: "start it", after_tool: false, tool_calls: [{ name: "~run_in_background$", arguments: { command, detach: true } }] },
  { match: "start it", after_tool: true, times: 0, text: "It runs." },
];

/** The app quits in the middle of a turn, and the agent goes on with it at the next start, knowing what was `said` before. */
async function goesOnAfterQuit(world, said) {
  const waiting = world.ask("one", "take long");
  await world.model.held("long");
  await world.endEngine("SIGTERM");
  await world.startEngine();
  const answer = await waiting;
  assert.deepEqual([answer.state, answer.final], ["answered", "Back again."]);
  assert.ok(JSON.stringify(world.requests().at(-1).body).includes(said), "the history is there");
}

export const ENGINE = {
  "app: final": {
    quick: true,
    turns: [HELLO],
    async run(world, name) {
      await world.addAgent("one", name);
      const ask = await world.ask("one", "say hello");
      assert.deepEqual([ask.state, ask.final, ask.children], ["answered", "Hello there.\nHow are you?", []]);
      const [turn, ...more] = await world.turns("one");
      assert.deepEqual([turn.kind, turn.state, more], ["ask", "final", []]);
      assert.ok((await world.agent("one")).session_id, "the session is known");
    },
  },
  "app: woken by the end of a task": {
    quick: true,
    turns: [...startsTask(untilGo("echo R-77")), { match: "task ended", times: 0, text: "I have seen it." }],
    async run(world, name) {
      await world.addAgent("one", name);
      const ask = await world.ask("one", "start it");
      assert.deepEqual([ask.state, ask.final], ["answered", "It runs."]);
      const [task] = await world.ok("tasks", "list");
      assert.deepEqual([task.state, (await world.turns("one")).length], ["running", 1], "the task goes on, and the agent is idle");
      fs.writeFileSync(world.file("go"), "");
      const turns = await world.until("the wake", async () => {
        const all = await world.turns("one");
        return all.length > 1 && all.at(-1).state === "final" && all;
      });
      assert.deepEqual(turns.map((turn) => turn.kind), ["ask", "wake"]);
      const { user, body } = world.requests().at(-1);
      assert.ok(user.includes(task.id) && user.includes("R-77"), `the wake names the task: ${user}`);
      assert.ok(JSON.stringify(body).includes("It runs."), "it goes on in the same session");
      const messages = await world.messages("one", "task_ended");
      assert.deepEqual(messages.map((message) => [message.about, message.state]), [[task.id, "delivered"]]);
      assert.equal(world.read("ran"), "x\n", "the command ran once");
    },
  },
  "app: a limit, then resumed once": {
    quick: true,
    waits: true,
    script: (name, world) => {
      world.limit = new ShortLimit(CLIS[name].api, LIMIT_S);
      return { turns: [world.limit.turn("hit the limit"), { match: "hit the limit", times: 0, text: "Done at last." }, { match: "go on meanwhile", times: 0, text: "I went on." }] };
    },
    async run(world, name) {
      await world.addAgent("one", name);
      await world.addProfile("another", name);
      await world.addAgent("other", "another");
      const waiting = world.ask("one", "hit the limit");
      const held = await world.until("the limit", async () => (await world.call("limits_list"))[0]);
      assert.equal(held.profile_name, name);
      assert.equal((await world.agent("one")).state, "limited");
      const meanwhile = await world.ask("other", "go on meanwhile");
      assert.equal(meanwhile.final, "I went on.");
      const answer = await waiting;
      assert.deepEqual([answer.state, answer.final], ["answered", "Done at last."]);
      const turns = await world.turns("one");
      assert.deepEqual(turns.map((turn) => turn.state), ["limited", "final"], `it was tried once more, and not before: ${JSON.stringify(turns)}`);
      const [ofOther] = await world.turns("other");
      assert.ok(ofOther.started_ms < turns[1].started_ms, "the other one did not wait for it");
      assert.ok(turns[1].started_ms >= world.limit.ends_s * 1_000, "it waited for the reset");
      const after = world.requests().filter((entry) => /hit the limit/.test(entry.user) && !entry.status);
      assert.equal(after.length, 1, "the model was asked once after the reset");
      assert.deepEqual(await world.call("limits_list"), []);
    },
  },
  "app: a call, then a limit, then resumed": {
    waits: true,
    script: (name, world) => {
      world.limit = new ShortLimit(CLIS[name].api, LIMIT_S);
      const [start] = startsTask("echo x >> ../ran");
      return { turns: [start, { ...world.limit.turn("start it"), after_tool: true }, { match: "task ended", times: 0, text: "I have seen it." }, { match: "cut short", times: 0, text: "Done at last." }] };
    },
    async run(world, name) {
      await world.addAgent("one", name);
      const answer = await world.ask("one", "start it");
      assert.deepEqual([answer.state, answer.final], ["answered", "Done at last."]);
      const turns = await world.turns("one");
      assert.deepEqual(turns.filter((turn) => turn.ask).map((turn) => [turn.kind, turn.state]), [["ask", "limited"], ["resume", "final"]], JSON.stringify(turns));
      const tasks = await world.ok("tasks", "list");
      assert.equal(tasks.length, 1, `the tool was called once: ${JSON.stringify(tasks)}`);
      await world.until("the end of the task", async () => (await world.ok("tasks", "show", tasks[0].id)).ended_ms);
      assert.equal(world.read("ran"), "x\n");
      const last = world.requests().findLast((entry) => !entry.status);
      assert.ok(JSON.stringify(last.body).includes("echo x >> ../ran"), "it goes on in the same session, and knows of its call");
    },
  },
  "app: session goes on after a restart": {
    quick: true,
    turns: [HELLO, AGAIN],
    async run(world, name) {
      await world.addAgent("one", name);
      assert.equal((await world.ask("one", "say hello")).state, "answered");
      const { session_id: session } = await world.agent("one");
      await world.endEngine("SIGTERM");
      await world.startEngine();
      assert.equal((await world.ask("one", "and again")).final, "Again.");
      const history = JSON.stringify(world.requests().at(-1).body);
      for (const text of ["say hello", "How are you?"]) assert.ok(history.includes(text), `${text} is in the history`);
      assert.equal((await world.agent("one")).session_id, session);
    },
  },
  "app: quit in the middle of a turn": {
    turns: [HELLO, { match: "take long", hold: "long", text: "Too late." }, { match: "cut short", times: 0, text: "Back again." }],
    async run(world, name) {
      await world.addAgent("one", name);
      await world.ask("one", "say hello");
      await goesOnAfterQuit(world, "say hello");
    },
  },
  "app: quit in the middle of the first turn": {
    // There is nothing to go on with: the ask fails as interrupted.
    skip: (name) => ({ gemini: "it forgets a conversation that has no answer", opencode: "it tells its session no earlier than it has said something" })[name],
    turns: [{ match: "take long", hold: "long", text: "Too late." }, { match: "cut short", times: 0, text: "Back again." }],
    async run(world, name) {
      await world.addAgent("one", name);
      await goesOnAfterQuit(world, "take long");
    },
  },
  "app: quit in the middle of a turn whose session is lost": {
    turns: [HELLO, { match: "take long", hold: "long", text: "Too late." }, { match: "cut short", times: 0, text: "I know of nothing." }],
    async run(world, name) {
      await world.addAgent("one", name);
      await world.ask("one", "say hello");
      const waiting = world.call("ask_open", { id: "0".repeat(32), agent: "one", prompt: "take long" });
      const { id } = await waiting;
      await world.model.held("long");
      await world.endEngine("SIGTERM");
      for (const records of CLIS[name].records) fs.rmSync(path.join(world.user, records), { recursive: true });
      await world.startEngine();
      const ask = await world.until("the end of the ask", async () => {
        const found = (await world.call("asks_list")).find((one) => one.id === id);
        return found.ended_ms && found;
      });
      assert.equal(ask.state, "failed", JSON.stringify(ask));
      assert.match(ask.reason, /interrupted/);
      assert.ok(!world.requests().some((entry) => entry.user.includes("cut short")), "nobody is told to go on with what it does not know");
    },
  },
  "app: nothing is left": {
    quick: true,
    turns: [...startsTask("sleep 600 & sleep 600"), { match: "take long", hold: "long", text: "Too late." }],
    async run(world, name) {
      const role = world.file("role.md");
      fs.writeFileSync(role, "You are ROLE-7.\n");
      await world.ok("agent", "add", "one", "--project", "repo", "--profile", name, "--mode", "headless", "--role-file", role);
      assert.equal((await world.ask("one", "start it")).state, "answered");
      const interrupted = world.ask("one", "take long").catch((error) => error);
      await world.model.held("long");
      assert.ok(JSON.stringify(world.requests().at(-1).body).includes("ROLE-7"), "the model was told the role");
      assert.ok(world.traces.processes().length > 0, "there is something to end");
      await world.ok("agent", "stop", "one");
      await interrupted;
      const [task] = await world.ok("tasks", "list");
      await world.ok("tasks", "cancel", task.id);
      await world.until("the end of the task", async () => (await world.ok("tasks", "show", task.id)).ended_ms);
      await world.traces.nothingIsLeft();
      await world.endEngine("SIGTERM");
    },
  },
};
