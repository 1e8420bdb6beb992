// A CLI's own interface in a terminal of the tests' own: `script` gives the terminal, and what programs ask a terminal is
// answered here, as far as they wait for it.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

/** Longest wait for anything that a terminal should do, in milliseconds. */
const WAIT_MAX_MS = 60_000;

/** An interface that has not written for so long waits for its user, in milliseconds. */
const QUIET_MS = 1_500;

/** What a program asks, and what xterm would answer. */
const ANSWERS = [
  ["\x1b[6n", "\x1b[1;1R"],
  ["\x1b[c", "\x1b[?62;c"],
  ["\x1b[0c", "\x1b[?62;c"],
];

export class Terminal {
  constructor(stage, order, program) {
    const files = stage.make(`terminal-${(stage.terminals = (stage.terminals ?? 0) + 1)}`);
    this.hooksFile = path.join(files, "hooks");
    const file = path.join(files, "order.json");
    const more = { TEST_HOOKS: this.hooksFile, TEST_ADAPTER: stage.cli.adapter };
    fs.writeFileSync(file, JSON.stringify({ ...order, files_dir: files, profile_env: { ...order.profile_env, ...more } }));
    const command = `stty rows 40 cols 120; exec '${program}' terminal '${file}'`;
    this.child = spawn("script", ["-qfec", command, "/dev/null"], { env: stage.env(), cwd: stage.repository, stdio: ["pipe", "pipe", "inherit"] });
    this.ready = stage.cli.ready;
    this.text = "";
    this.changed = Date.now();
    this.child.stdin.on("error", () => {});
    this.child.stdout.setEncoding("utf8");
    this.child.stdout.on("data", (piece) => this.take(piece));
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
  }

  take(text) {
    this.text += text;
    this.changed = Date.now();
    for (const [asked, answer] of ANSWERS) if (text.includes(asked)) this.child.stdin.write(answer);
  }

  /** What hooks have told so far. */
  hooks() {
    if (!fs.existsSync(this.hooksFile)) return [];
    const lines = fs.readFileSync(this.hooksFile, "utf8").split("\n");
    // What stands after the last line's end is not whole yet.
    return lines.slice(0, -1).map((line) => JSON.parse(line));
  }

  /** Waits until `what()` is something, and answers it. */
  async until(name, what) {
    const end = Date.now() + WAIT_MAX_MS;
    while (Date.now() < end) {
      const found = what();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`no ${name}; hooks: ${JSON.stringify(this.hooks())}; screen: ${JSON.stringify(plain(this.text).slice(-600))}`);
  }

  /** Waits until the interface is up and waits for its user. */
  quiet() {
    return this.until("quiet", () => this.ready.test(plain(this.text)) && Date.now() - this.changed > QUIET_MS);
  }

  /** Pastes a text, as a wake does, and sends it. */
  async say(text) {
    this.child.stdin.write(`\x1b[200~${text}\x1b[201~`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    this.child.stdin.write("\r");
  }

  /** The first thing of a kind that a hook told, after `from` calls. */
  told(kind, from = 0) {
    return this.until(`hook of the kind ${kind}`, () => this.hooks().slice(from).map((call) => call.seen).find((seen) => seen?.kind === kind));
  }

  async stop(stage) {
    stage.endProcesses("SIGTERM");
    const late = setTimeout(() => this.child.kill("SIGKILL"), 5_000);
    this.child.stdin.end();
    await this.ended;
    clearTimeout(late);
  }
}

const plain = (text) => text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, " ").replace(/\s+/g, " ");
