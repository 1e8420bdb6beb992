// One journey's stage: a display, a session bus, a data directory and a home of its own, and the app on them.
//
// The app is started in one of two ways. `drive` hands the window to WebDriver, which types and clicks in it. `launch` starts it as a
// person would, so that its exit code, its output and its window's close button are the real ones.

import { spawn, spawnSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { carriers, descendants, isAlive, processes } from "./processes.mjs";
import { poll, within } from "./wait.mjs";
import { WebDriver } from "./wd.mjs";
import * as x11 from "./x11.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BINARIES = process.env.CARILLON_BINARIES ?? path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "debug");
export const DESKTOP = path.join(BINARIES, "carillon-desktop");
export const CARILLON = path.join(BINARIES, "carillon");
/** Where pictures and logs are kept. */
export const PICTURES = path.join(ROOT, "target/e2e");

/** Ends a process that we started and waits until it is gone. */
async function end(child, signal = "SIGTERM") {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  try {
    await within(gone, `the end of ${child.spawnfile}`, 5_000);
  } catch {
    child.kill("SIGKILL");
    await gone;
  }
}

/** A virtual display with a cookie of its own. */
export class Display {
  static async start(folder) {
    const cookie = crypto.randomBytes(16);
    const authority = path.join(folder, `xauthority-${cookie.toString("hex", 0, 4)}`);
    fs.writeFileSync(authority, authorityFile(cookie), { mode: 0o600 });
    const screen = ["-screen", "0", "1280x800x24"];
    const server = spawn("Xvfb", ["-displayfd", "3", ...screen, "-nolisten", "tcp", "-auth", authority], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const number = new Promise((resolve, reject) => {
      server.stdio[3].once("data", (bytes) => resolve(bytes.toString().trim()));
      server.once("error", reject).once("exit", (code) => reject(new Error(`Xvfb ended with ${code}`)));
    });
    return new Display(server, await within(number, "Xvfb"), cookie, authority);
  }

  constructor(server, number, cookie, authority) {
    Object.assign(this, { server, number, cookie, authority });
  }

  get env() {
    return { DISPLAY: `:${this.number}`, XAUTHORITY: this.authority };
  }

  /** Runs `use` with a connection to the display. */
  async with(use) {
    const connection = await x11.connect(this.number, this.cookie);
    try {
      return await use(connection);
    } finally {
      connection.close();
    }
  }

  kill() {
    return end(this.server, "SIGKILL");
  }

  stop() {
    return end(this.server);
  }
}

/** An Xauthority file with one entry that fits every host and display. */
function authorityFile(cookie) {
  const field = (bytes) => Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
  const name = Buffer.from("MIT-MAGIC-COOKIE-1");
  return Buffer.concat([Buffer.from([0xff, 0xff]), field(Buffer.alloc(0)), field(Buffer.alloc(0)), field(name), field(cookie)]);
}

/** A session bus; GTK and WebKit look for one. */
export class Bus {
  static async start() {
    const daemon = spawn("dbus-daemon", ["--session", "--nofork", "--nopidfile", "--print-address=3"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const address = new Promise((resolve, reject) => {
      daemon.stdio[3].once("data", (bytes) => resolve(bytes.toString().trim()));
      daemon.once("error", reject).once("exit", (code) => reject(new Error(`dbus-daemon ended with ${code}`)));
    });
    return new Bus(daemon, await within(address, "dbus-daemon"));
  }

  constructor(daemon, address) {
    Object.assign(this, { daemon, address });
  }

  /** Ends the bus and what it has started for its users. */
  async stop() {
    const started = descendants(this.daemon.pid);
    await end(this.daemon);
    await poll(() => !started.some((one) => isAlive(one.pid)), "the end of the bus's own services").catch(() => {
      for (const one of started) if (isAlive(one.pid)) process.kill(one.pid, "SIGKILL");
    });
  }
}

export class Stage {
  /** @param {string} name of the journey, as a file's name @param {Display} display @param {Bus} bus */
  constructor(name, display, bus) {
    Object.assign(this, { name, display, bus });
    // Short on purpose: sockets stand in it, and their paths may have 107 bytes.
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "ce-"));
    this.home = this.#make("home");
    this.user = this.#make("user");
    this.pictures = 0;
    this.apps = [];
    this.displays = [];
    this.env = this.#environment();
  }

  #make(name) {
    const folder = path.join(this.folder, name);
    fs.mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  #environment() {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(GIT_|XDG_|npm_|GDK_|GTK_|WAYLAND_|WEBKIT_|CARILLON_|CLAUDE)/.test(name)));
    const gitconfig = path.join(this.user, ".gitconfig");
    fs.writeFileSync(gitconfig, "[user]\n\tname = Journey\n\temail = journey@example.invalid\n[init]\n\tdefaultBranch = main\n");
    return {
      ...env,
      HOME: this.user,
      XDG_RUNTIME_DIR: this.#make("runtime"),
      GIT_CONFIG_GLOBAL: gitconfig,
      GIT_CONFIG_NOSYSTEM: "1",
      LANG: "C.UTF-8",
      LC_ALL: "C.UTF-8",
      // Without it every GTK program starts an accessibility bus, which outlives it by a while.
      NO_AT_BRIDGE: "1",
      CARILLON_HOME: this.home,
      CARILLON_LOG: "info",
      // A terminal's text can be read from the page only when it is drawn as text.
      CARILLON_RENDERER: "dom",
      DBUS_SESSION_BUS_ADDRESS: this.bus.address,
      ...this.display.env,
    };
  }

  /** Makes a git repository with one commit and answers its path. */
  repository(name = "repo") {
    const folder = this.#make(name);
    const git = (...args) => {
      const { status, stderr } = spawnSync("git", args, { cwd: folder, env: this.env });
      if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    };
    git("init", "-q");
    fs.writeFileSync(path.join(folder, "README.md"), `# ${name}\n`);
    git("add", ".");
    git("commit", "-q", "-m", "first");
    return folder;
  }

  /** A display of the journey's own, which it may kill; the app is started on it from now on. */
  async ownDisplay() {
    const display = await Display.start(this.folder);
    this.displays.push(display);
    this.display = display;
    Object.assign(this.env, display.env);
    return display;
  }

  /** Runs `carillon` with `args` and answers what it printed as JSON. */
  cli(...args) {
    const { status, stdout, stderr } = spawnSync(CARILLON, [...args, "--json"], { env: this.env, encoding: "utf8", timeout: 30_000 });
    if (status !== 0) throw new Error(`carillon ${args.join(" ")} ended with ${status}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** Starts the app as a person does. `env` is added to its environment. */
  launch(args = [], env = {}) {
    return this.#spawn(DESKTOP, args, env);
  }

  /** Starts another file of the app as a person does. */
  launchProgram(program, args = [], env = {}) {
    return this.#spawn(program, args, env);
  }

  /** Starts the engine without a window. */
  serve(args = []) {
    return this.#spawn(CARILLON, ["serve", ...args], {});
  }

  #spawn(program, args, env) {
    const app = new Launched(spawn(program, args, { env: { ...this.env, ...env }, stdio: ["ignore", "pipe", "pipe"] }));
    this.apps.push(app);
    return app;
  }

  /** Starts the app, or another file of it, under WebDriver. */
  async drive(args = [], env = {}, program = DESKTOP) {
    const app = await Driven.start(program, args, { ...this.env, ...env, TAURI_WEBVIEW_AUTOMATION: "true" }, this.name);
    this.apps.push(app);
    return app;
  }

  /** Closes the app's window as its close button does. */
  async pressClose(title = "Carillon") {
    await this.display.with(async (x) => {
      const window = await poll(async () => (await x.windows()).find((one) => one.title === title), `a window named ${title}`);
      await x.requestClose(window.id);
    });
  }

  /**
   * Keeps a picture of the whole display as target/e2e/<journey>-<n>-<label>.png.
   * WebDriver's own pictures never come when WebKit draws by shared memory and the page stands still, and they miss the toolkit's dialogs.
   */
  async shoot(label) {
    this.pictures += 1;
    const { png } = await this.display.with((x) => x.picture());
    fs.writeFileSync(path.join(PICTURES, `${this.name}-${this.pictures}-${label}.png`), png);
  }

  /** Waits until there is something to see on the display, and keeps a picture of it. A blank window has next to one colour. */
  async see(label) {
    const colours = () => this.display.with(async (x) => (await x.picture()).colours);
    await poll(async () => (await colours()) > 8, "something to see on the display");
    await this.shoot(label);
  }

  /** Everything of this journey that is still there: processes that carry its data directory, and entries of its temp base. */
  leftovers() {
    const left = carriers("CARILLON_HOME", this.home).map((one) => `process ${one.pid} (${one.name})`);
    const base = path.join(this.home, "t");
    if (fs.existsSync(base)) {
      for (const space of fs.readdirSync(base)) {
        for (const entry of fs.readdirSync(path.join(base, space))) left.push(`temp ${path.join(space, entry)}`);
      }
    }
    return left;
  }

  /** Ends whatever the journey left open and says what else was left; a journey that did its work leaves nothing. */
  async strike() {
    for (const app of this.apps) await app.abandon();
    let left = this.leftovers();
    await poll(() => (left = this.leftovers()).length === 0, "nothing left", 5_000).catch(() => {});
    // The app carries its home; its runs carry its socket.
    const socket = path.join(this.home, "carillon.sock");
    for (const one of [...carriers("CARILLON_HOME", this.home), ...carriers("CARILLON_SOCKET", socket)]) {
      try {
        process.kill(one.pid, "SIGKILL");
      } catch {
        // Gone meanwhile.
      }
    }
    for (const display of this.displays) await display.stop();
    fs.rmSync(this.folder, { recursive: true, force: true });
    return left;
  }
}

/** The app as a child of ours. */
class Launched {
  constructor(child) {
    this.child = child;
    this.pid = child.pid;
    this.output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (this.output += bytes));
    // "close" comes when the output has been read to its end, too.
    this.exited = new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
  }

  /** Waits until the output has `text` at least `times` times. */
  says(text, times = 1, ms = 15_000) {
    const has = () => this.output.split(text).length > times;
    return poll(() => has() || this.child.exitCode !== null, `"${text}" from the app, which said: ${this.output}`, ms).then(() => {
      if (!has()) throw new Error(`the app ended with ${this.child.exitCode} before it said "${text}": ${this.output}`);
    });
  }

  /** Waits for the end and answers { code, signal }. */
  ends(ms = 12_000) {
    return within(this.exited, "the app's end", ms);
  }

  count(text) {
    return this.output.split(text).length - 1;
  }

  abandon() {
    return end(this.child, "SIGKILL");
  }
}

/** The app under WebDriver. */
class Driven {
  static async start(program, args, env, name) {
    const port = await freePort();
    const log = fs.openSync(path.join(PICTURES, `${name}.log`), "a");
    const driver = spawn("WebKitWebDriver", [`--port=${port}`, "--host=127.0.0.1"], { env, stdio: ["ignore", log, log] });
    fs.closeSync(log);
    const wd = new WebDriver(`http://127.0.0.1:${port}`);
    try {
      await poll(() => isListening(port), "WebKitWebDriver");
      await wd.start(program, args);
      const app = processes().find((one) => one.parent === driver.pid);
      if (!app) throw new Error("WebKitWebDriver has not started the app");
      return new Driven(driver, wd, app.pid);
    } catch (error) {
      await end(driver);
      throw error;
    }
  }

  constructor(driver, wd, pid) {
    Object.assign(this, { driver, wd, pid });
  }

  /** What the page complained of: refusals by the content security policy, errors, warnings. */
  faults() {
    return this.wd.run("return window.__faults ?? ['the page does not record its faults'];");
  }

  /** Waits until the app has ended by itself, and lets go of the driver. */
  async ends(ms = 12_000) {
    await poll(() => !isAlive(this.pid), "the app's end", ms);
    await end(this.driver);
  }

  signal(name) {
    process.kill(this.pid, name);
  }

  async abandon() {
    if (isAlive(this.pid)) process.kill(this.pid, "SIGKILL");
    await end(this.driver);
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function isListening(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
