// The plug-in of OpenCode's terminal, without OpenCode: what it tells, and in which order.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const SOURCE = new URL("../../crates/agents/src/opencode_terminal.mjs", import.meta.url);

/** Hears events in this order and answers what was told, in the order in which it was. */
async function toldOf(events, { client } = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "plugin-"));
  try {
    const log = path.join(folder, "told");
    // Who tells of a beginning is the slower one: it would be overtaken by the end if nobody waited for it.
    const program = path.join(folder, "hook.sh");
    fs.writeFileSync(program, `data=$(cat)\ncase $data in *busy*) sleep 0.3 ;; esac\nprintf '%s %s\\n' "$1" "$data" >> '${log}'\n`);
    const plugin = path.join(folder, "plugin.mjs");
    fs.writeFileSync(plugin, `const HOOK = ["sh", ${JSON.stringify(program)}];\n${fs.readFileSync(SOURCE, "utf8")}`);
    const { Carillon } = await import(pathToFileURL(plugin));
    const { event } = await Carillon({ client: client ?? answering("Hello.") });
    for (const each of events) void event({ event: each });
    await event({ event: { type: "session.idle", properties: { sessionID: "last" } } });
    for (let patience = 500; patience > 0 && !read(log).includes('"last"'); patience -= 1) await new Promise((next) => setTimeout(next, 20));
    return read(log).trim().split("\n").slice(0, -1);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

const read = (file) => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "");
const answering = (text) => ({ session: { messages: async () => ({ data: [{ info: { role: "assistant" }, parts: [{ type: "text", text }] }] }) } });
const busy = (sessionID) => ({ type: "session.status", properties: { sessionID, status: { type: "busy" } } });
const idle = (sessionID) => ({ type: "session.idle", properties: { sessionID } });

test("the end of a turn is told after its beginning, however long that takes to be told", async () => {
  assert.deepEqual(await toldOf([busy("one"), idle("one")]), ['session.status {"session":"one","busy":true}', 'session.idle {"session":"one","text":"Hello."}']);
});

test("an end whose text cannot be had is told all the same", async () => {
  const client = { session: { messages: async () => Promise.reject(new Error("gone")) } };
  assert.deepEqual(await toldOf([busy("one"), idle("one")], { client }), ['session.status {"session":"one","busy":true}', 'session.idle {"session":"one","text":""}']);
});

test("what a sub-agent does is not told", async () => {
  const created = { type: "session.created", properties: { info: { id: "child", parentID: "one" } } };
  assert.deepEqual(await toldOf([created, busy("child"), idle("child"), idle("one")]), ['session.idle {"session":"one","text":"Hello."}']);
});
