// A session limit in the window: a program that says it is at its limit, the countdown, holding it, and going on.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../page.mjs";
import { poll } from "../wait.mjs";

const SESSION = "70435f15-5fa0-4c49-84da-17f7c03abed9";
const line = (event) => `echo '${JSON.stringify({ session_id: SESSION, ...event })}'`;
const text = (app, id) => app.wd.run(`return document.querySelector('[data-testid="${id}"]')?.textContent ?? "";`);

/** Speaks as Claude Code does: while the file `full` is there it is at its limit, which resets in an hour; else it answers. */
function program(folder, full) {
  const file = path.join(folder, "claude");
  const rejected = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'"$at"',"rateLimitType":"five_hour","unifiedWindows":{"five_hour":{"resetsAt":'"$at"',"status":"rejected"}}}}`;
  const script = [
    "#!/bin/sh", `[ "$1" = --version ] && echo "2.1.332 (Claude Code)" && exit`, "cat > /dev/null", line({ type: "system", subtype: "init", tools: [] }),
    `if test -e '${full}'; then`, "at=$(($(date +%s) + 3600))", `echo '${rejected}'`, line({ type: "result", subtype: "success", is_error: true, api_error_status: 429, result: "You have hit your 5-hour limit" }), "exit 1", "fi",
    line({ type: "result", subtype: "success", is_error: false, result: "ding", total_cost_usd: 0.0032, usage: { input_tokens: 200, output_tokens: 40 } }),
  ];
  fs.writeFileSync(file, `${script.join("\n")}\n`, { mode: 0o755 });
  return file;
}

export const journeys = {
  async "a limit counts down above the panes, is held, tried, and the turn goes on"(stage) {
    const full = path.join(stage.folder, "full");
    fs.writeFileSync(full, "");
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    stage.cli("profile", "add", "work", "--adapter", "claude", "--program", program(stage.folder, full));
    await page.openProject(stage.repository("bells"));
    await page.addHeadlessAgent("work");
    await page.ask("work-1", "ring");
    await app.wd.wait('[data-testid="limit-banner"]', 15_000);
    const seconds = async () => Number(/in 59 min (\d\d) s\.$|in 1 h 00 min\.$/.exec(await text(app, "limit-next"))?.[1] ?? Number.NaN);
    assert.match(await text(app, "limit-banner"), /^work is at its session limit\. It resets at .*, in .*\. work-1 waits\./);
    const first = await poll(async () => (await seconds()) || null, "the seconds of the countdown");
    await poll(async () => (await seconds()) < first, "the countdown to go on");
    await app.wd.painted();
    await stage.shoot("counts-down");
    await page.press("limit-hold");
    await poll(async () => (await text(app, "limit-next")).includes("It stays stopped until you say otherwise."), "the limit to be held");
    const [limit] = stage.cli("limits", "list");
    assert.deepEqual([limit.profile_name, limit.held, limit.waiting], ["work", true, ["work-1"]]);
    fs.rmSync(full);
    await page.press("limit-resume");
    const turns = await page.turnsAre("the answer", (all) => all.at(-1)?.state === "final");
    assert.match(turns.at(-1).text, /ding/);
    await app.wd.waitGone('[data-testid="limit-banner"]', 20_000);
    assert.deepEqual(stage.cli("limits", "list"), []);
    assert.match(await text(app, "turn-usage"), /^240 tokens/);
    await app.wd.painted();
    await stage.shoot("went-on");
    assert.deepEqual(await app.faults(), []);
    await stage.pressClose();
    await app.ends();
  },
};
