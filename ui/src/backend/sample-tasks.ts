// Tasks of the sample world, in every state there is.

import type { Agent, Id, Task } from "../generated/api";
import type { FakeBackend } from "./fake";
import { CountingLog } from "./fake-log";
import type { TaskEnd } from "./fake-tasks";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const SECOND = 1000;
const MINUTE = 60 * SECOND;

const REPORT = [
  "\u001b[1m> atlas@2.4.0 test\u001b[0m", "> vitest run", "",
  "\u001b[32m✓\u001b[0m src/tiles.test.ts \u001b[2m(18 tests)\u001b[0m", "\u001b[32m✓\u001b[0m src/lamp.test.ts \u001b[2m(38 tests)\u001b[0m",
  "\u001b[31m✗\u001b[0m src/keeper.test.ts \u001b[2m(4 tests)\u001b[0m", "   \u001b[31m× keeps the lamp lit in a storm\u001b[0m", "     \u001b[38;5;208mexpected\u001b[0m 1 \u001b[38;2;120;160;255mreceived\u001b[0m 0",
  "     at src/keeper.ts:42:7", "", "\u001b[41;97m FAIL \u001b[0m 1 of 60 tests", "",
].join("\n");

export async function addSampleTasks(backend: FakeBackend): Promise<Task[]> {
  const { agents, projects } = backend.world;
  const agent = (name: string): Agent => agents.find((each) => each.name === name)!;
  const now = Date.now();
  const add = async (line: string, owner: string | null, ago_ms: number): Promise<Id> => {
    const task = await backend.call("task_add", { project: owner === "docs" ? projects[1]!.id : projects[0]!.id, owner: owner === null ? undefined : agent(owner).id, command: ["sh", "-c", line] });
    backend.tasks.set(task.id, { created_ms: now - ago_ms });
    return task.id;
  };
  const over = async (line: string, owner: string | null, ago_ms: number, took_ms: number, how: TaskEnd, output = REPORT): Promise<Id> => {
    const id = await add(line, owner, ago_ms + took_ms);
    backend.tasks.set(id, { started_ms: now - ago_ms - took_ms });
    backend.tasks.print(id, output);
    backend.tasks.end(id, how);
    backend.tasks.set(id, { ended_ms: now - ago_ms });
    return id;
  };
  await over("cargo fmt --check", "builder", 95 * MINUTE, 1_400, {}, "");
  const big = await over("./scripts/replay.sh --all --trace", "builder", 70 * MINUTE, 41 * MINUTE, {});
  backend.tasks.setLog(big, new CountingLog(2 * GIB, 32 * MIB));
  await over("make bench", "planner", 52 * MINUTE, 30 * MINUTE, { state: "lost", reason: "lost: the machine was restarted" });
  await over("curl -fsS https://example.org/tiles.tar | tar x", null, 44 * MINUTE, 10 * MINUTE, { state: "timed_out", reason: "timed out", signal: 15 });
  await over("./soak --forever", "planner", 30 * MINUTE, 12 * MINUTE, { state: "cancelled", reason: "cancelled by you", signal: 15 });
  await over("cargo test -p lamp", "builder", 12 * MINUTE, 84 * SECOND, { signal: 9, reason: "killed by signal 9 (SIGKILL)" });
  const retried = await over("npm test", "planner", 4 * MINUTE, 37 * SECOND, { exit_code: 1 });
  backend.tasks.set(retried, { attempt: 2 });
  const held = await over("npm run build", "planner", MINUTE, 8_300, {});
  backend.tasks.set(held, { output_held: true, left_over: ["gpg-agent (pid 4711): kept, it is a shared daemon"] });
  const first = await add("npm run e2e -- --headed", "planner", 205 * SECOND);
  backend.tasks.set(first, { started_ms: now - 205 * SECOND });
  backend.tasks.print(first, REPORT.repeat(40));
  await add("cargo build --release", "builder", 48 * SECOND);
  await add("cargo clippy --all-targets -- -D warnings", "builder", 20 * SECOND);
  await add("./scripts/flood.sh", null, 10 * SECOND);
  await add("mdbook build && exit 3", "docs", 2 * SECOND);
  return backend.tasks.list({});
}
