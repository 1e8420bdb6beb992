// npm start [-- ARGUMENTS]: sets up, builds, and opens the window. What stands after `--` goes to the app: --demo, or a repository.

import { spawn } from "node:child_process";
import os from "node:os";
import path from "node:path";
import { run, say, Stop, tellStops } from "./say.mjs";
import { ROOT, setUp } from "./setup.mjs";

/** Where cargo puts what it builds: the caller may have chosen another place. */
const BINARIES = path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "release");
/** A key press reaches us from the terminal and again from npm, which hands it on: within this time it is the same one. */
const SAME_SIGNAL_MS = 500;

if (!process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
  say.bad("There is no display: neither DISPLAY nor WAYLAND_DISPLAY is set, so no window can open.");
  console.error("  Carillon also runs without a window. Build and start it like this:");
  console.error(`  cargo build --release -p carillon-cli && ${path.join(BINARIES, "carillon")} serve`);
  process.exit(2);
}
await tellStops(async () => {
  await setUp("start");
  say.busy("building Carillon (the first time takes several minutes)");
  if ((await run("cargo", ["build", "--release", "-p", "carillon-cli", "-p", "carillon-desktop"], { cwd: ROOT })) !== 0) {
    throw new Stop("Carillon could not be built; what is wrong stands above.");
  }
  say.done("Carillon");
});
open(process.argv.slice(2));

/** Opens the window and ends as it ends. */
function open(args) {
  // Its own session: a key press in the terminal then reaches it once, from here, and not a second time from the terminal itself.
  // The second signal means "at once" to the app.
  const app = spawn(path.join(BINARIES, "carillon-desktop"), args, {
    cwd: process.env.INIT_CWD ?? process.cwd(),
    env: withoutNpm(process.env),
    stdio: "inherit",
    detached: true,
  });
  const handedOn = new Map();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
    process.on(signal, () => {
      const now = performance.now();
      if (now - (handedOn.get(signal) ?? -Infinity) < SAME_SIGNAL_MS) return;
      handedOn.set(signal, now);
      app.kill(signal);
    });
  }
  app.once("error", (error) => {
    say.bad(`Carillon could not be started: ${error.message}`);
    process.exit(1);
  });
  app.once("exit", (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
}

/** The environment as it was before npm: what npm adds for its scripts has no business in the agents that the app starts. */
function withoutNpm(env) {
  const added = /^(npm_|INIT_CWD$|COLOR$)/;
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !added.test(name)));
  // npm fills these in when the user has not; the values below are the ones that it fills in.
  if (own.NODE === process.execPath) delete own.NODE;
  if (own.EDITOR === "vi") delete own.EDITOR;
  const isNpms = (folder) => folder.endsWith("/node_modules/.bin") || folder.endsWith("/node-gyp-bin");
  own.PATH = (env.PATH ?? "").split(path.delimiter).filter((folder) => !isNpms(folder)).join(path.delimiter);
  return own;
}
