// The AppImage itself: what its children see, what it leaves, and that it runs from anywhere. `stage.mjs` starts `carillon-desktop` and
// `carillon`, which are links to the AppImage here.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Page } from "../../e2e/page.mjs";
import { carriers, descendants, processes, variables } from "../../e2e/processes.mjs";
import { CARILLON, DESKTOP } from "../../e2e/stage.mjs";
import { poll } from "../../e2e/wait.mjs";

const APPIMAGE = fs.realpathSync(DESKTOP);
const PAINTED = "painted since_exec_ms=";
const MODES = { mounted: {}, extracted: { APPIMAGE_EXTRACT_AND_RUN: "1" } };
/** What only the start-up program, the app and its toolkit put in. */
const OURS = /^(APPDIR|APPIMAGE|ARGV0|OWD|CARILLON_SET_|GIO_|GTK_|GDK_|GSETTINGS_|LD_LIBRARY_PATH|WEBKIT_|XDG_DATA_DIRS)(=|[A-Z])/;

/** What the journey and WebKitWebDriver put in before the AppImage begins. */
const GIVEN = /^(APPIMAGE_EXTRACT_AND_RUN|GTK_OVERLAY_SCROLLING)=/;

/** A temp directory of the journey's own, in which the AppImage mounts or extracts itself. */
function ownTemp(stage) {
  const folder = path.join(stage.folder, "tmp");
  fs.mkdirSync(folder);
  stage.env.TMPDIR = folder;
  return folder;
}

/** Waits until nothing of the AppImage is left: no directory, no mount, no process of its file. */
async function isGone(temp, file = APPIMAGE) {
  const exe = (pid) => {
    try {
      return fs.readlinkSync(`/proc/${pid}/exe`);
    } catch {
      return "";
    }
  };
  const left = () => [
    ...fs.readdirSync(temp),
    ...fs.readFileSync("/proc/self/mounts", "utf8").split("\n").filter((line) => line.includes(temp)),
    ...processes().filter(({ pid }) => exe(pid) === file).map(({ pid }) => `process ${pid}`),
  ];
  await poll(() => left().length === 0, "nothing of the AppImage left", 10_000).catch((error) => {
    throw new Error(`${error.message}: ${left().join(", ")}`);
  });
}

/** Everything by which a process holds on to files: program, directory, open files and mapped files. */
function holds(pid) {
  const link = (name) => {
    try {
      return [fs.readlinkSync(`/proc/${pid}/${name}`)];
    } catch {
      return [];
    }
  };
  const list = (read) => {
    try {
      return read();
    } catch {
      return [];
    }
  };
  const open = list(() => fs.readdirSync(`/proc/${pid}/fd`).flatMap((fd) => link(`fd/${fd}`)));
  const mapped = list(() => [...fs.readFileSync(`/proc/${pid}/maps`, "utf8").matchAll(/ (\/.*)$/gm)].map(([, file]) => file));
  return [...link("exe"), ...link("cwd"), ...open, ...mapped];
}

async function quit(stage, app) {
  await stage.pressClose();
  assert.deepEqual(await app.ends(), { code: 0, signal: null }, app.output);
}

/** The task's state, once it is `state`. */
function taskIs(stage, id, state) {
  return poll(() => stage.cli("tasks", "show", id).state === state, `the task to be ${state}`);
}

function cleanChildren(env) {
  return async (stage) => {
    const temp = ownTemp(stage);
    Object.assign(stage.env, env, { GTK_PATH: "/opt/theirs", EMPTY: "" });
    const app = await stage.drive();
    const page = new Page(app);
    await page.ready();
    await stage.see("open");
    const repository = stage.repository("bells");
    const carillon = path.join(stage.home, "bin/carillon");
    stage.cli("profile", "add", "demo", "--adapter", "plain", "--program", carillon, "--arg", "demo-agent");
    await page.openProject(repository);
    await page.addAgent("demo");
    const [name] = await poll(async () => (await page.panes()).filter((one) => one !== ""), "the agent's pane");
    await page.shows(name, "demo agent");
    const gate = path.join(stage.folder, "gate");
    await page.typeLine(name, `run: carillon run --title bell -- sh -c 'env > ${stage.folder}/env; pwd; while ! test -e ${gate}; do sleep 0.1; done; exit 3'`);
    const task = await poll(() => stage.cli("tasks", "list").find(({ title, state }) => title === "bell" && state === "running"), "the task");
    await poll(() => fs.existsSync(path.join(stage.folder, "env")), "the task's environment");

    // Children have the user's environment, as if there were no AppImage.
    const seen = fs.readFileSync(path.join(stage.folder, "env"), "utf8").split("\n");
    assert.deepEqual(seen.filter((line) => OURS.test(line) && !GIVEN.test(line)), ["GTK_PATH=/opt/theirs"]);
    assert.ok(seen.includes("EMPTY="), "what is empty stays");
    const mounts = fs.readdirSync(temp);
    assert.ok(mounts.length > 0);
    const isInside = (text) => mounts.some((one) => text.includes(path.join(temp, one)));
    assert.deepEqual(seen.filter(isInside), []);
    const runs = carriers("CARILLON_SOCKET", path.join(stage.home, "carillon.sock"));
    assert.ok(runs.length >= 3, "two supervisors, the agent, the task");
    for (const { pid, name: program } of runs) {
      assert.deepEqual(holds(pid).filter(isInside), [], `${program} holds on to the AppImage`);
      assert.deepEqual(variables(pid).filter(isInside), [], `${program} knows of the AppImage`);
    }
    const helpers = descendants(app.pid).map((one) => one.name);
    assert.ok(helpers.some((helper) => helper.startsWith("WebKit")), `the window's helpers: ${helpers}`);

    // Quit with the task running: the mount goes, the task does not notice.
    assert.deepEqual(await app.faults(), []);
    await stage.pressClose();
    await page.answerAndEnd("quit-keep");
    await app.ends();
    await isGone(temp);
    const engine = stage.launch([], env);
    await engine.says(PAINTED);
    assert.equal(stage.cli("tasks", "show", task.id).state, "running");
    fs.writeFileSync(gate, "");
    await taskIs(stage, task.id, "failed");
    assert.equal(stage.cli("tasks", "show", task.id).exit_code, 3);
    stage.cli("agent", "stop", name);
    await quit(stage, engine);
    await isGone(temp);
  };
}

export const journeys = {
  "mounted: children see nothing of it, and hold nothing of it": cleanChildren(MODES.mounted),
  "extracted: children see nothing of it, and hold nothing of it": cleanChildren(MODES.extracted),

  async "every end leaves nothing, mounted and extracted"(stage) {
    const temp = ownTemp(stage);
    for (const [mode, env] of Object.entries(MODES)) {
      for (const signal of ["SIGTERM", "SIGHUP", "SIGKILL"]) {
        const app = stage.launch([], env);
        await app.says(PAINTED);
        process.kill(app.pid, signal);
        await app.ends();
        await isGone(temp).catch((error) => Promise.reject(new Error(`${mode}, ${signal}: ${error.message}`)));
      }
    }
  },

  async "from a path with spaces, in a directory that nobody may write"(stage) {
    const temp = ownTemp(stage);
    const folder = path.join(stage.folder, "My Apps");
    const file = path.join(folder, "Carillon (new) ü.AppImage");
    fs.mkdirSync(folder);
    fs.copyFileSync(APPIMAGE, file);
    fs.chmodSync(file, 0o555);
    fs.chmodSync(folder, 0o555);
    const app = stage.launchProgram(file, []);
    await app.says(PAINTED);
    const calls = variables(app.pid).find((one) => one.startsWith("APPIMAGE="));
    assert.equal(calls, `APPIMAGE=${file}`);
    await quit(stage, app);
    await isGone(temp, file);
    fs.chmodSync(folder, 0o755);
  },

  async "moved and replaced between starts: what agents were told of stays"(stage) {
    const temp = ownTemp(stage);
    const [first, second] = ["First.AppImage", "Second.AppImage"].map((name) => path.join(stage.folder, name));
    fs.copyFileSync(APPIMAGE, first);
    const told = path.join(stage.home, "bin/carillon");
    const app = stage.launchProgram(first, []);
    await app.says(PAINTED);
    const repository = stage.repository();
    stage.cli("project", "add", repository);
    const { id } = stage.cli("run", "--json", "--cwd", repository, "--", told, "--version");
    await taskIs(stage, id, "succeeded");
    await quit(stage, app);
    await isGone(temp, first);
    fs.renameSync(first, second);
    // As an older version would have left it.
    const old = path.join(stage.home, "bin/0.0.1");
    fs.mkdirSync(old);
    fs.writeFileSync(path.join(old, "carillon"), "#!/bin/sh\n");
    fs.rmSync(told);
    fs.symlinkSync("0.0.1/carillon", told);
    const again = stage.launchProgram(second, []);
    await again.says(PAINTED);
    await poll(() => !fs.existsSync(old), "the old version's end");
    assert.match(fs.readlinkSync(told), /^\d+\.\d+\.\d+\/carillon$/);
    const { id: other } = stage.cli("tasks", "retry", id);
    await taskIs(stage, other, "succeeded");
    // The file may go while it runs: the mount is of what it was.
    fs.rmSync(second);
    assert.equal(stage.cli("doctor").checks.every(({ state }) => state !== "fail"), true);
    await quit(stage, again);
    await isGone(temp, second);
  },

  async "two at once, each with its own data, and a second start of one"(stage) {
    const temp = ownTemp(stage);
    const other = path.join(stage.folder, "other");
    const one = stage.launch();
    const two = stage.launch([], { CARILLON_HOME: other });
    await one.says(PAINTED);
    await two.says(PAINTED);
    const second = stage.launch();
    assert.deepEqual(await second.ends(), { code: 0, signal: null }, second.output);
    process.kill(two.pid, "SIGTERM");
    await two.ends();
    await poll(() => fs.readdirSync(temp).length === 1, "the end of all but the first one's");
    assert.ok(stage.cli("doctor"));
    process.kill(one.pid, "SIGTERM");
    await one.ends();
    await isGone(temp);
  },

  async "the command line, by a link named carillon"(stage) {
    const temp = ownTemp(stage);
    assert.equal(path.basename(CARILLON), "carillon");
    const engine = stage.serve();
    await engine.says('"ready":true');
    // The engine starts supervisors, so it must not run from the mount; whoever is told of its program, is told of what stays.
    assert.ok(fs.readlinkSync(`/proc/${engine.pid}/exe`).startsWith(path.join(stage.home, "bin")));
    const repository = stage.repository();
    stage.cli("project", "add", repository);
    const { id } = stage.cli("run", "--json", "--cwd", repository, "--", "sh", "-c", "command -v carillon");
    await taskIs(stage, id, "succeeded");
    assert.equal(stage.cli("tasks", "output", id).text.trim(), path.join(stage.home, "bin/carillon"));
    process.kill(engine.pid, "SIGTERM");
    assert.deepEqual(await engine.ends(), { code: 0, signal: null }, engine.output);
    await isGone(temp);
  },
};
