// npm run soak: the rounds of the crash tests at random moments, ten times as many as `npm test` runs: 100 with agents, 200 with tasks.
// CARILLON_SEED, CARILLON_ROUNDS and CARILLON_TASK_ROUNDS are taken from the environment when they are set.

import { run, say, tellStops } from "./say.mjs";
import { ROOT, setUp } from "./setup.mjs";

const ROUNDS = { CARILLON_ROUNDS: "100", CARILLON_TASK_ROUNDS: "200" };

await tellStops(() => setUp("test"));
// The tests have data directories of their own; one that this shell points at must not become theirs.
const { CARILLON_HOME: _, ...env } = { ...ROUNDS, ...process.env };
const began = performance.now();
const args = ["nextest", "run", "--profile", "soak", "-p", "carillon-cli", "-E", "test(rounds) or test(at_random)"];
const code = await run("cargo", args, { cwd: ROOT, env });
const minutes = ((performance.now() - began) / 60_000).toFixed(1);
const what = `${env.CARILLON_ROUNDS} rounds with agents and ${env.CARILLON_TASK_ROUNDS} with tasks, killed at random moments (${minutes} min)`;
(code === 0 ? say.done : say.bad)(`soak: ${what}: ${code === 0 ? "nothing lost, nothing left behind" : "failed, see above"}`);
process.exit(code);
