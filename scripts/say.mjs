// What the scripts say and how they run other programs. No packages: these scripts run before any is installed.

import { spawn, spawnSync } from "node:child_process";

/** A reason to stop, with the way out: both are for the person who typed the command. */
export class Stop extends Error {
  constructor(message, wayOut) {
    super(message);
    this.wayOut = wayOut;
  }
}

export const say = {
  done: (text) => console.log(`✓ ${text}`),
  busy: (text) => console.log(`… ${text}`),
  bad: (text) => console.error(`✗ ${text}`),
};

/** Runs `main`; a Stop is told with its way out and ends with 1. */
export async function tellStops(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    say.bad(error.message);
    if (error.wayOut) console.error(`  ${error.wayOut.replaceAll("\n", "\n  ")}`);
    process.exit(1);
  }
}

/** What a quick program printed, or null when it is missing or failed. */
export function output(program, args, options = {}) {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], ...options });
  return status === 0 ? stdout.trim() : null;
}

/** Runs a program to its end with our own output, and answers its exit code (128 + n for a signal, 127 when it is missing). */
export function run(program, args, options = {}) {
  return runReading(program, args, options, null);
}

/** As `run`, and hands each piece of its output to `heard` as well as to the screen. */
export function runReading(program, args, options, heard) {
  const stdio = heard ? ["ignore", "pipe", "pipe"] : ["inherit", "inherit", "inherit"];
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio, ...options });
    if (heard) {
      for (const [from, to] of [[child.stdout, process.stdout], [child.stderr, process.stderr]]) {
        from.on("data", (bytes) => {
          to.write(bytes);
          heard(bytes.toString());
        });
      }
    }
    child.once("error", () => resolve(127));
    child.once("close", (code, signal) => resolve(code ?? 128 + (SIGNAL_NUMBERS[signal] ?? 0)));
  });
}

const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15 };

/** Whether version `have` ("1.95.0") is at least `need` ("1.95"). */
export function isAtLeast(have, need) {
  const parts = (version) => version.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const [h, n] = [parts(have), parts(need)];
  for (let at = 0; at < 3; at += 1) {
    if ((h[at] ?? 0) !== (n[at] ?? 0)) return (h[at] ?? 0) > (n[at] ?? 0);
  }
  return true;
}
