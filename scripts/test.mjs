// npm test [-- STAGE...]: sets up and runs every check and test, or only the named stages. Ends with "N passed, N failed" over all.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { honest, nextestCounts, nodeCounts } from "./counts.mjs";
import { Leftovers } from "./leftovers.mjs";
import { run, runReading, say, tellStops } from "./say.mjs";
import { AGENT_CLIS, npm, ROOT, setUp } from "./setup.mjs";
import { CACHE as AGENTS_CACHE } from "../tests/agents/clis.mjs";

const TARGET = path.join(ROOT, "target");
/** Where nobody edits, the lock file must fit as it is. */
const LOCKED = process.env.CI ? ["--locked"] : [];
/** One build for everything: with all targets at once, features are the same in each later step and nothing is compiled twice. */
const ALL = ["--workspace", "--all-targets", ...LOCKED];

/** In the order in which they run: what is quick and what others need comes first. */
const STAGES = {
  format: (env) => check(run("cargo", ["fmt", "--all", "--check"], { cwd: ROOT, env })),
  scripts,
  types: (env) => check(npm(["run", "--silent", "check:ui"], env)),
  interface: userInterface,
  clippy: (env) => check(run("cargo", ["clippy", ...ALL, "--", "-D", "warnings"], { cwd: ROOT, env })),
  rust,
  guard: (env) => counted(process.execPath, ["--test", "--test-reporter=spec", "tests/guard/proof.mjs"], env, nodeCounts),
  inspector,
  agents,
  window: windowJourneys,
  appimage: appImage,
};

/** Those that run on the binary, and so under our own guard. */
const GUARDED = ["rust", "guard", "inspector", "agents", "window", "appimage"];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in STAGES));
if (unknown.length > 0) {
  console.error(`There is no stage ${unknown.join(", ")}; there are: ${Object.keys(STAGES).join(", ")}`);
  process.exit(2);
}
await tellStops(() => setUp("test"));
const leftovers = new Leftovers(ROOT);
const home = isolatedHome();
const sum = { passed: 0, failed: 0, skipped: 0 };
const bad = [];
try {
  for (const [name, stage] of Object.entries(STAGES)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    const began = performance.now();
    const { passed, failed } = await stage(home.env);
    sum.passed += passed;
    sum.failed += failed;
    const text = `${name}: ${passed} passed, ${failed} failed (${((performance.now() - began) / 1000).toFixed(0)} s)`;
    if (failed > 0) bad.push(text);
    (failed > 0 ? say.bad : say.done)(text);
  }
  if (chosen.length === 0 || chosen.some((name) => GUARDED.includes(name))) countLeftovers();
  countNotRun();
} finally {
  home.remove();
  leftovers.remove();
}
for (const text of bad) say.bad(text);
console.log(`${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ""}`);
process.exit(sum.failed === 0 && sum.passed > 0 ? 0 : 1);

/** A home, configuration and runtime folder of the tests' own: nothing of the user's is read or written. Cargo's and rustup's stay. */
function isolatedHome() {
  const folder = path.join(TARGET, "test-home");
  fs.rmSync(folder, { recursive: true, force: true });
  // The mode is for this folder alone: tests run their own program below it as another user, too.
  fs.mkdirSync(TARGET, { recursive: true });
  fs.mkdirSync(folder, { mode: 0o700 });
  // Sockets stand in it, whose paths are short.
  const runtime = fs.mkdtempSync(path.join(os.tmpdir(), "ct-"));
  const gitconfig = path.join(folder, ".gitconfig");
  fs.writeFileSync(gitconfig, "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n");
  const foreign = /^(GIT_|XDG_|CARILLON_|npm_|INIT_CWD$|CLAUDE|CODEX_|GEMINI_|OPENCODE|TMUX|NEXTEST)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
  Object.assign(env, {
    HOME: folder,
    CARGO_HOME: process.env.CARGO_HOME ?? path.join(os.homedir(), ".cargo"),
    RUSTUP_HOME: process.env.RUSTUP_HOME ?? path.join(os.homedir(), ".rustup"),
    XDG_RUNTIME_DIR: runtime,
    GIT_CONFIG_GLOBAL: gitconfig,
    GIT_CONFIG_NOSYSTEM: "1",
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    CARILLON_TEST_NOT_RUN: path.join(folder, "not-run"),
    ...leftovers.env,
  });
  return { env, remove: () => fs.rmSync(runtime, { recursive: true, force: true }) };
}

/** A check that passes or fails as a whole counts as one test. */
async function check(ending) {
  return (await ending) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** The run as a whole is a test, too: it leaves nothing behind. */
function countLeftovers() {
  const found = leftovers.found();
  const text = found.length === 0 ? "nothing is left behind" : `left behind: ${found.join(", ")}`;
  if (found.length > 0) bad.push(text);
  (found.length > 0 ? say.bad : say.done)(text);
  sum[found.length > 0 ? "failed" : "passed"] += 1;
}

/** A test that could not run here, or not in full (no root, no mount), proves nothing, whatever its runner says. */
function countNotRun() {
  if (!fs.existsSync(home.env.CARILLON_TEST_NOT_RUN)) return;
  const told = fs.readFileSync(home.env.CARILLON_TEST_NOT_RUN, "utf8").split("\n").filter(Boolean);
  const tests = new Set(told.map((line) => line.slice(0, line.indexOf(": "))));
  for (const line of new Set(told)) say.bad(`not run here: ${line}`);
  say.bad(`skipped, ${tests.size}`);
  sum.passed -= tests.size;
  sum.skipped += tests.size;
}

/** As `counted`, under our own guard: what its rules name is reaped, told, and no success. */
function guarded(program, args, env, read) {
  return counted(...leftovers.guarded(path.join(TARGET, "debug/carillon"), program, args), env, read);
}

/** Runs a test runner whose counts `read` finds in what it prints. */
async function counted(program, args, env, read) {
  let text = "";
  const code = await runReading(program, args, { cwd: ROOT, env }, (piece) => (text = (text + piece).slice(-20_000)));
  return honest(code, read(text));
}

function scripts(env) {
  const tests = fs.readdirSync(path.join(ROOT, "scripts")).filter((name) => name.endsWith(".test.mjs")).map((name) => `scripts/${name}`);
  tests.push("tests/agents/plugin.test.mjs");
  return counted(process.execPath, ["--test", "--test-reporter=spec", ...tests], env, nodeCounts);
}

async function userInterface(env) {
  const report = path.join(TARGET, "interface-tests.json");
  fs.rmSync(report, { force: true });
  const code = await npm(["run", "--silent", "test:ui", "--", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`], env);
  const counts = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, "utf8")) : {};
  // Their own account stands thousands of lines above the end of a log.
  for (const { assertionResults = [] } of counts.testResults ?? []) {
    for (const { status, fullName, failureMessages } of assertionResults) if (status === "failed") bad.push(`interface: ${fullName}: ${failureMessages.join(" ").slice(0, 500)}`);
  }
  return honest(code, { passed: counts.numPassedTests ?? 0, failed: counts.numFailedTests ?? 0 });
}

async function rust(env) {
  if ((await run("cargo", ["build", ...ALL], { cwd: ROOT, env })) !== 0) return { passed: 0, failed: 1 };
  const color = process.stdout.isTTY ? "always" : "never";
  return guarded("cargo", ["nextest", "run", "--workspace", ...LOCKED, "--color", color], env, nextestCounts);
}

/** Somebody else's client of our tools. */
async function inspector(env) {
  if ((await run("cargo", ["build", ...ALL, "--quiet"], { cwd: ROOT, env })) !== 0) return { passed: 0, failed: 1 };
  return guarded(process.execPath, ["--test", "--test-reporter=spec", "tests/mcp/inspector.mjs"], env, nodeCounts);
}

/** The real agent CLIs against a scripted model. One that could not be installed is told as not run, at the end as well. */
async function agents(env) {
  const report = path.join(TARGET, "agents-tests.json");
  fs.rmSync(report, { force: true });
  if ((await run("cargo", ["build", ...ALL, "--quiet"], { cwd: ROOT, env })) !== 0) return { passed: 0, failed: 1 };
  const words = ["--quick", "--installed", "--jobs=3", `--report=${report}`, ...AGENT_CLIS];
  const command = leftovers.guarded(path.join(TARGET, "debug/carillon"), process.execPath, ["tests/agents/run.mjs", ...words]);
  const code = await run(...command, { cwd: ROOT, env: { ...env, CARILLON_AGENTS_CACHE: AGENTS_CACHE } });
  const counts = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, "utf8")) : { passed: 0, failed: 1, table: {} };
  const missing = AGENT_CLIS.filter((name) => counts.table[name]?.problem);
  for (const name of missing) bad.push(`agents: ${name} not run: ${counts.table[name].problem}`);
  // With none of them nothing has failed, and nothing has passed.
  return missing.length === AGENT_CLIS.length ? { passed: 0, failed: 0 } : honest(code, counts);
}

async function windowJourneys(env) {
  const report = path.join(TARGET, "window-tests.json");
  fs.rmSync(report, { force: true });
  if ((await run("cargo", ["build", ...ALL, "--quiet"], { cwd: ROOT, env })) !== 0) return { passed: 0, failed: 1 };
  const code = await run(...leftovers.guarded(path.join(TARGET, "debug/carillon"), process.execPath, ["tests/e2e/run.mjs", `--report=${report}`]), { cwd: ROOT, env });
  return honest(code, fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, "utf8")) : { passed: 0, failed: 1 });
}

/** Packs what the tests have built and walks through the packed file. */
async function appImage(env) {
  const report = path.join(TARGET, "appimage-tests.json");
  fs.rmSync(report, { force: true });
  if ((await run("cargo", ["build", ...ALL, "--quiet"], { cwd: ROOT, env })) !== 0) return { passed: 0, failed: 1 };
  const code = await run(...leftovers.guarded(path.join(TARGET, "debug/carillon"), process.execPath, ["tests/appimage/run.mjs", `--report=${report}`]), { cwd: ROOT, env });
  return honest(code, fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, "utf8")) : { passed: 0, failed: 1 });
}
