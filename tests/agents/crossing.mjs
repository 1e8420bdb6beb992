// Agents of two different CLIs: one asks the other, which starts work in the background and ends its turn at once. Whatever happens
// to the engine meanwhile, the first one's call of the tool returns the one answer, with what became of the work.

import assert from "node:assert/strict";
import fs from "node:fs";
import { CLIS } from "./clis.mjs";

/** Who asks whom: each is once the caller and once the callee. */
export function ringOf(names) {
  return names.length < 2 ? [] : names.map((name, at) => [name, names[(at + 1) % names.length]]);
}

/** What the callee starts; it goes on until the file `go` is there, beside the repository, and fails if `bad` is. */
const COMMAND = "echo x >> ../ran; until [ -e ../go ]; do sleep 0.05; done; echo R-77; [ ! -e ../bad ] || exit 3";

export function script([caller, callee]) {
  const [asks, works] = [CLIS[caller].api, CLIS[callee].api];
  return {
    turns: [
      { api: asks, match: "ask the other one", after_tool: false, tool_calls: [{ name: "~ask_agent$", arguments: { agent: "callee", prompt: "do the work" } }] },
      { api: asks, match: "ask the other one", after_tool: true, text: "It said: {{tool_result}}" },
      { api: works, match: "do the work", after_tool: false, tool_calls: [{ name: "~run_in_background$", arguments: { command: COMMAND } }] },
      { api: works, match: "do the work", after_tool: true, text: "started" },
    ],
  };
}

export const CROSSING = {
  "app: asks another CLI, with work in the background": {
    quick: true,
    async run(world, pair) {
      const { asked } = await begin(world, pair);
      fs.writeFileSync(world.file("go"), "");
      await check(world, pair, await asked);
    },
  },
  "app: engine killed while the work goes on": {
    quick: true,
    async run(world, pair) {
      const { asked } = await begin(world, pair);
      await world.crash();
      fs.writeFileSync(world.file("go"), "");
      await check(world, pair, await asked);
    },
  },
  "app: work ends while the engine is dead": {
    async run(world, pair) {
      const { asked } = await begin(world, pair);
      await world.crash(async () => {
        fs.writeFileSync(world.file("go"), "");
        await world.until("the end of the work", () => !world.traces.processes().some(({ name }) => name === "sh"));
      });
      await check(world, pair, await asked);
    },
  },
  "app: the work of another CLI fails": {
    async run(world, pair) {
      const { asked } = await begin(world, pair);
      fs.writeFileSync(world.file("bad"), "");
      fs.writeFileSync(world.file("go"), "");
      const answer = await asked;
      const results = world.requests(pair[0]).flatMap((entry) => entry.toolResults);
      assert.equal(results.length, 1, JSON.stringify(results));
      const inner = (await world.call("asks_list")).find((ask) => ask.callee_name === "callee");
      const [child] = inner.children;
      assert.deepEqual([inner.state, inner.delivered, child.state, child.exit_code], ["failed", "call", "failed", 3]);
      for (const words of ["failed", child.id, "R-77"]) assert.ok(results[0].includes(words), `${words} is in ${results[0]}`);
      assert.equal(answer.state, "answered", "the caller itself has answered, and says what it was told");
      assert.ok(answer.final.includes("failed"), answer.final);
    },
  },
};

/** Up to where the callee has said its final and its work goes on. Answers { asked }, the promise of the user's own ask. */
async function begin(world, [caller, callee]) {
  await world.addAgent("caller", caller);
  await world.addAgent("callee", callee);
  const asked = world.ask("caller", "ask the other one");
  asked.catch(() => {});
  const pending = async () => (await world.call("asks_list")).some((ask) => ask.callee_name === "callee" && ask.state === "pending_final");
  await Promise.race([world.until("the pending final", pending), asked.then((ask) => assert.fail(`it was over too early: ${JSON.stringify(ask)}`))]);
  assert.equal(world.read("ran"), "x\n", "the work has begun");
  return { asked };
}

async function check(world, [caller], answer) {
  assert.equal(answer.state, "answered", JSON.stringify(answer));
  const results = world.requests(caller).flatMap((entry) => entry.toolResults);
  const told = results.filter((result) => result.includes("R-77"));
  assert.equal(told.length, 1, `the caller's model got one answer: ${JSON.stringify(results)}`);
  assert.equal(results.length, 1, `and nothing besides: ${JSON.stringify(results)}`);
  for (const words of ["started", "succeeded", "R-77"]) {
    assert.ok(told[0].includes(words), `${words} is in ${told[0]}`);
    assert.ok(answer.final.includes(words), `${words} is in the final: ${answer.final}`);
  }
  const asks = await world.call("asks_list");
  assert.equal(asks.length, 2, "the user's ask and the caller's");
  const inner = asks.find((ask) => ask.callee_name === "callee");
  const [child, ...more] = inner.children;
  assert.deepEqual([inner.state, inner.final, inner.delivered, more], ["answered", "started", "call", []]);
  assert.deepEqual([child.kind, child.state, child.exit_code, child.tail], ["task", "succeeded", 0, "R-77"]);
  assert.equal(world.read("ran"), "x\n", "the work was done once");
  for (const name of ["caller", "callee"]) {
    const turns = await world.turns(name);
    assert.deepEqual(turns.map((turn) => [turn.kind, turn.state]), [["ask", "final"]], `${name} had one turn`);
    for (const kind of ["task_ended", "ask_answered"]) assert.deepEqual(await world.messages(name, kind), [], `${name} is told nothing twice`);
  }
}
