// Temp directories of many files: how long the sweep takes for one beside `rm -rf`, what the engine's answers cost meanwhile, and how
// soon a directory is out of its place.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { poll } from "../e2e/wait.mjs";
import { median, percentile } from "./figures.mjs";
import { Ground, now, over, pause, probe, PROBE } from "./ground.mjs";

/** How often the engine is asked something while it sweeps. */
const ASK_EVERY_MS = 20;

/** Ours and `rm -rf` in turns, on the same disk and both behind everything else, as the sweep is. */
export async function sweep(figures, { swept, sweeps }) {
  const ground = new Ground();
  try {
    const engine = await ground.engine(ground.make("home"));
    const { id: project } = await engine.call("project_add", { path: ground.repository("repo") });
    const idle = await answersWhile(engine, pause(3_000));
    const [ours, theirs, answers] = [[], [], []];
    for (let round = 0; round < sweeps; round += 1) {
      theirs.push(await removed(ground, swept));
      const { ms, answered } = await sweptAway(engine, project, ground, swept);
      ours.push(ms);
      answers.push(...answered);
    }
    const behind = ground.can("ionice") ? "" : "rm at its usual priority for the disk: no ionice here";
    figures.add(`sweep of ${swept} files`, median(ours) / 1_000, "s", { reference: ["rm -rf", median(theirs) / 1_000], ratioAtMost: 1.2, note: behind });
    figures.add("an answer of the engine meanwhile", median(answers), "ms", { reference: ["idle", median(idle)], note: `p99 ${percentile(answers, 0.99).toFixed(1)} ms, worst ${Math.max(...answers).toFixed(1)} ms; idle p99 ${percentile(idle, 0.99).toFixed(1)} ms` });
  } finally {
    await ground.clear();
  }
}

/** How long `rm -rf` takes for such a tree, in milliseconds. */
async function removed(ground, files) {
  const tree = path.join(ground.folder, "tree");
  await probe(["tree", tree, String(files)], ground.env);
  const began = now();
  const behind = ground.can("ionice") ? ["ionice", "-c", "3"] : [];
  const [program, ...args] = ["nice", "-n", "10", ...behind, "rm", "-rf", tree];
  const child = spawn(program, args, { env: ground.env, stdio: "inherit" });
  const code = await new Promise((resolve, reject) => child.once("exit", resolve).once("error", reject));
  if (code !== 0) throw new Error(`rm ended with ${code}`);
  return now() - began;
}

/** A task leaves such a tree in its temp directory; from its end to the moment that nothing of it is there. */
async function sweptAway(engine, project, ground, files) {
  const command = ["sh", "-c", `exec '${PROBE}' tree "$TMPDIR/tree" ${files}`];
  const { id } = await engine.call("task_add", { project, command });
  const task = await over(engine, id);
  if (task.state !== "succeeded") throw new Error(`the tree was not made: ${task.reason}`);
  const began = now();
  const base = path.join(engine.home, "t");
  const gone = poll(async () => !fs.existsSync(base) || fs.readdirSync(base).length === 0, "the end of the sweep", 1_200_000);
  const answered = await answersWhile(engine, gone);
  return { ms: now() - began, answered };
}

/** How long the engine takes for an answer, again and again until that is over. */
async function answersWhile(engine, until) {
  let isOver = false;
  const ended = until.finally(() => (isOver = true));
  const took = [];
  while (!isOver) {
    const began = now();
    await engine.call("tasks_list", {});
    took.push(now() - began);
    await Promise.race([ended, pause(ASK_EVERY_MS)]);
  }
  await ended;
  return took;
}

/** A directory goes by a rename, whatever its size; and what a way out with one costs as a whole. */
export async function purge(figures, { purged, rounds }) {
  const ground = new Ground();
  try {
    const base = ground.make("base");
    const took = [];
    for (let round = 0; round < rounds; round += 1) {
      const tree = path.join(base, `tree${round}`);
      await probe(["tree", tree, String(purged)], ground.env);
      took.push(Number(await probe(["bury", base, tree], ground.env)) / 1e6);
    }
    figures.add(`renaming a tree of ${purged} files into the trash`, median(took), "ms", { atMost: 50, note: `worst ${Math.max(...took).toFixed(1)} ms` });
    await wayOut(figures, ground, purged);
  } finally {
    await ground.clear();
  }
}

/** From SIGTERM to the end of the process, with a task that has so many files in its temp directory. */
async function wayOut(figures, ground, files) {
  const engine = await ground.engine(ground.make("home"));
  const { id: project } = await engine.call("project_add", { path: ground.repository("repo") });
  const made = path.join(ground.folder, "made");
  const script = `'${PROBE}' tree "$TMPDIR/tree" ${files} && touch '${made}' && exec sleep 100000`;
  await engine.call("task_add", { project, command: ["sh", "-c", script] });
  await poll(async () => fs.existsSync(made), "the files", 300_000);
  const began = now();
  await engine.stop();
  const ms = now() - began;
  const base = path.join(engine.home, "t");
  const left = fs.existsSync(base) ? fs.readdirSync(base) : [];
  if (left.some((name) => !name.startsWith("."))) throw new Error(`a temp directory is still in its place: ${left}`);
  figures.add(`quitting with ${files} temp files`, ms, "ms", { atMost: 5_500, note: left.length > 0 ? "the rest of the trash is the next start's" : "nothing was left in the trash" });
}
