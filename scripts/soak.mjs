// npm run soak: the rounds of the crash tests at random moments, ten times as many as `npm test` runs: 100 with agents, 200 with tasks;
// then random worlds of a user's things beside ours, and the screen model on random streams, with seeds that `npm test` does not use.
// CARILLON_SEED, CARILLON_ROUNDS, CARILLON_TASK_ROUNDS, CARILLON_WORLDS, PROPTEST_CASES and PROPTEST_RNG_SEED are taken from the
// environment when they are set.

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
const seed = env.PROPTEST_RNG_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const streams = { PROPTEST_CASES: "20000", ...env, PROPTEST_RNG_SEED: seed };
const drawn = await run("cargo", ["nextest", "run", "--profile", "soak", "-p", "carillon-screen"], { cwd: ROOT, env: streams });
(drawn === 0 ? say.done : say.bad)(`soak: ${streams.PROPTEST_CASES} random streams with PROPTEST_RNG_SEED=${seed}: ${drawn === 0 ? "all as they were" : "failed, see above"}`);
const first = env.CARILLON_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const worlds = { CARILLON_WORLDS: "40", ...env, CARILLON_SEED: first };
const tried = await run("cargo", ["nextest", "run", "--profile", "soak", "-p", "carillon-tidy", "-p", "carillon-cli", "-E", "test(worlds)"], { cwd: ROOT, env: worlds });
const kept = tried === 0 ? "all that is the user's is as it was" : "failed, see above";
(tried === 0 ? say.done : say.bad)(`soak: twice ${worlds.CARILLON_WORLDS} worlds with CARILLON_SEED=${first}: ${kept}`);
process.exit(code || drawn || tried);
