// Sets a fresh machine up: system packages, Rust, the npm packages, the window's interface. Everything that is there already is left
// alone, so that a second run takes a moment. `npm start` and `npm test` begin with it; `npm run setup` does it alone.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isAtLeast, output, run, say, Stop, tellStops } from "./say.mjs";
import { hashOf, readStamp, writeStamp } from "./stamp.mjs";
import { systemPackages } from "./system.mjs";
import { install, isInstalled } from "../tests/agents/clis.mjs";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGES_STAMP = "node_modules/.carillon-stamp";
/** The agent CLIs that every run of the tests starts; `npm run test:agents` starts more. */
export const AGENT_CLIS = ["claude", "codex"];
const UI_STAMP = "node_modules/.carillon-ui-stamp";
const NEXTEST = ["install", "cargo-nextest", "--locked", "--no-default-features", "--features", "default-no-update"];

/** Makes everything ready for `purpose`, "start", "package" or "test", short of the Rust build. */
export async function setUp(purpose) {
  node();
  // What only the user can bring comes first: nobody should wait for packages to be told of it.
  rust(purpose);
  await systemPackages(purpose);
  await npmPackages();
  await userInterface();
  if (purpose === "test") {
    await nextest();
    agentClis();
  }
}

function node() {
  const need = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8")).engines.node.replace(/^\D+/, "");
  if (!isAtLeast(process.versions.node, need)) {
    throw new Stop(`Node ${need} or later is needed; this is ${process.versions.node}.`, "Install a current Node 20, 22 or later from nodejs.org or your system's packages.");
  }
  say.done(`Node ${process.versions.node}`);
}

function rust(purpose) {
  // rustup writes its folder into the shell's profile; a shell that was opened before does not know it yet.
  const usual = path.join(process.env.CARGO_HOME ?? path.join(os.homedir(), ".cargo"), "bin");
  if (output("cargo", ["--version"]) === null && fs.existsSync(path.join(usual, "cargo"))) {
    process.env.PATH = `${usual}${path.delimiter}${process.env.PATH}`;
  }
  const need = /^rust-version\s*=\s*"([^"]+)"/m.exec(fs.readFileSync(path.join(ROOT, "Cargo.toml"), "utf8"))[1];
  const have = output("rustc", ["--version"], { cwd: ROOT })?.split(" ")[1];
  if (!have || output("cargo", ["--version"], { cwd: ROOT }) === null) {
    throw new Stop(`Rust ${need} or later is needed; neither cargo on the PATH nor ${usual} has it.`, "Install it with rustup, as rustup.rs says, open a new terminal and try again.");
  }
  if (!isAtLeast(have, need)) throw new Stop(`Rust ${need} or later is needed; this is ${have}.`, "Run this, then try again:\nrustup update stable");
  if (purpose === "test") {
    for (const tool of ["fmt", "clippy"]) {
      if (output("cargo", [tool, "--version"], { cwd: ROOT }) === null) {
        throw new Stop(`The tests need cargo ${tool}.`, "Run this, then try again:\nrustup component add rustfmt clippy");
      }
    }
  }
  say.done(`Rust ${have}`);
}

async function npmPackages() {
  const want = hashOf(ROOT, ["package-lock.json"]);
  const stamp = path.join(ROOT, PACKAGES_STAMP);
  if (readStamp(stamp) !== want) {
    say.busy("installing the npm packages");
    if ((await npm(["ci", "--include=dev", "--no-audit", "--no-fund"])) !== 0) {
      throw new Stop("The npm packages could not be installed.", "What npm said stands above. Is the network there? If npm calls package-lock.json out of step, that is a fault of this version: please report it.");
    }
    writeStamp(stamp, want);
  }
  say.done("npm packages");
}

/** Runs npm: the one that runs us where there is one, so that it is the same version. */
export function npm(args, env = process.env) {
  const own = process.env.npm_execpath;
  const options = { cwd: ROOT, env };
  return own?.endsWith(".js") ? run(process.execPath, [own, ...args], options) : run("npm", args, options);
}

/** The window's interface is embedded in the binary, so it comes before the Rust build. */
async function userInterface() {
  // The stamp holds what went in and what came out: a build by hand from other sources is noticed, too.
  const made = () => `${hashOf(ROOT, ["package-lock.json", "ui"], ["ui/dist"])} ${hashOf(ROOT, ["ui/dist"])}`;
  const stamp = path.join(ROOT, UI_STAMP);
  if (readStamp(stamp) !== made()) {
    say.busy("building the interface");
    if ((await npm(["run", "--silent", "build:ui"])) !== 0) throw new Stop("The interface could not be built; what is wrong stands above.");
    writeStamp(stamp, made());
  }
  say.done("interface");
}

async function nextest() {
  if (output("cargo", ["nextest", "--version"], { cwd: ROOT }) === null) {
    say.busy("installing the test runner cargo-nextest; it is compiled here, once, which takes several minutes");
    // It runs tests, it does not compute: without link-time optimisation it is ready in half the time.
    const env = { ...process.env, CARGO_PROFILE_RELEASE_LTO: "off", CARGO_PROFILE_RELEASE_CODEGEN_UNITS: "16", CARGO_PROFILE_RELEASE_OPT_LEVEL: "1" };
    if ((await run("cargo", NEXTEST, { cwd: os.tmpdir(), env })) !== 0) {
      throw new Stop("cargo-nextest could not be installed.", `Run this, then try again:\ncargo ${NEXTEST.join(" ")}`);
    }
  }
  say.done("cargo-nextest");
}

/** One that cannot be had stops nobody: its tests are told as not run. */
function agentClis() {
  for (const name of AGENT_CLIS) {
    if (!isInstalled(name)) say.busy(`installing the agent CLI ${name} for the tests, once, outside the repository`);
    const { version, problem } = install(name);
    if (problem) say.bad(`${name}: ${problem}; its tests will not be run`);
    else say.done(`${name} ${version}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const purpose = process.argv[2] ?? "start";
  if (!["start", "package", "test"].includes(purpose)) {
    console.error("Usage: npm run setup [-- start|package|test]");
    process.exit(2);
  }
  await tellStops(() => setUp(purpose));
}
