// What a whole Carillon with its agents may leave behind: nothing but its own data directory and what the CLIs keep for their user.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { carriers } from "../e2e/processes.mjs";

/** Longest wait for the last process and the last directory of runs that are over, in milliseconds. */
const GONE_MAX_MS = 15_000;

/** What the user has set up: byte for byte the same afterwards. */
export const CONFIGURATION = [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", ".config/opencode/opencode.json"];

/** Where CLIs keep what they know: conversations, logs, notes of their own. */
const RECORDS = /^\.(claude\/(projects|sessions|history|todos|debug|backups|file-history|shell-snapshots)|codex\/(sessions|log|state|history|shell_snapshots|.*\.sqlite)|gemini\/(tmp|history)|local\/(share|state)\/opencode|cache)/;

/** Names in the system's temp directory that such CLIs leave. Others use the same directory, so no other name counts. */
const OF_CLIS = /claude|^cc-|codex|gemini|opencode|\.so$|node-compile/i;

/** Files above this size are no settings, in bytes. */
const SETTINGS_MAX_BYTES = 256 * 1024;

const namesIn = (folder) => (fs.existsSync(folder) ? fs.readdirSync(folder) : []);

export function configurationOf(home) {
  const files = CONFIGURATION.map((name) => path.join(home, name)).filter((file) => fs.existsSync(file));
  return Object.fromEntries(files.map((file) => [file, fs.readFileSync(file, "utf8")]));
}

export class Traces {
  /** Notes how things are before the first agent runs. */
  constructor(world) {
    this.world = world;
    this.configuration = configurationOf(world.user);
    this.temp = new Set(systemTemp());
  }

  /** Processes of runs of this world. */
  processes() {
    return carriers("CARILLON_SOCKET", path.join(this.world.home, "carillon.sock"));
  }

  endProcesses() {
    for (const { pid } of this.processes()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** Temp directories of runs, those in the trash included. */
  managedTemp() {
    const base = path.join(this.world.home, "t");
    return namesIn(base).flatMap((space) => namesIn(path.join(base, space)).map((name) => `${space}/${name}`));
  }

  /** Fails with the names of what is left. `interactive`: a CLI's own interface was open, which writes into its settings. */
  async nothingIsLeft({ interactive = false } = {}) {
    const { world } = this;
    const whatLives = () => [...this.processes().map(({ pid, name }) => `process ${pid} ${name}`), ...this.managedTemp()];
    const end = Date.now() + GONE_MAX_MS;
    while (whatLives().length > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual(whatLives(), [], "no process and no temp directory of a run is left");
    assert.deepEqual(namesIn(path.join(world.home, "calls")), [], "no call is left open");
    assert.deepEqual(namesIn(world.temp), [], "the user's own temp directory is empty");
    const made = systemTemp().filter((entry) => !this.temp.has(entry) && OF_CLIS.test(path.relative("/tmp", entry)));
    assert.deepEqual(made, [], "nothing is left in the system's temp directory");
    if (!interactive) assert.deepEqual(configurationOf(world.user), this.configuration, "the user's settings are as they were");
    assert.deepEqual(this.mentions(), [], "nothing of Carillon's stands in the user's home");
    assert.equal(await world.ran("git", ["status", "--porcelain", "--ignored"]), "", "the repository is as it was");
  }

  /** Files of the user's home that name this Carillon or its tools, but for conversations and logs. */
  mentions() {
    const words = [this.world.home, "mcp__carillon", "mcp_carillon"];
    const files = fs.readdirSync(this.world.user, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const named = files.map((entry) => path.relative(this.world.user, path.join(entry.parentPath, entry.name)));
    return named.filter((name) => {
      if (RECORDS.test(name) || name.includes("node_modules")) return false;
      const file = path.join(this.world.user, name);
      if (fs.statSync(file).size > SETTINGS_MAX_BYTES) return false;
      const text = fs.readFileSync(file, "latin1");
      return words.some((word) => text.includes(word));
    });
  }
}

/** What is in the system's temp directory, and one level below what is named after a CLI. Some CLIs know no other than `/tmp`. */
function systemTemp() {
  const inside = (folder) => {
    try {
      return fs.readdirSync(folder).map((name) => path.join(folder, name));
    } catch {
      return []; // A file, or gone meanwhile.
    }
  };
  const all = [...new Set([os.tmpdir(), "/tmp"])].flatMap(inside);
  return all.flatMap((entry) => (OF_CLIS.test(path.basename(entry)) ? [entry, ...inside(entry)] : [entry]));
}
