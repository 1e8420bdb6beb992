// node tests/appimage/run.mjs [--report=FILE] [--appimage=FILE] [WORD...]: the AppImage's journeys, on that file, or on a full one that is packed
// quickly from the programs in target/debug. Ends with 1 when anything failed.
//
// The window's own journeys run on it as well where their names hold one of WINDOW: the links make it a build like any other.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { makeAppImage, nameOf } from "../../scripts/package/appimage.mjs";
import { honest, nodeCounts } from "../../scripts/counts.mjs";
import { buildRuntime, OUT } from "../../scripts/package/build.mjs";
import { runReading, tellStops } from "../../scripts/say.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const WINDOW = ["the window opens and shows its sidebar", "a second start raises", "the page's process dies", "the display server's death"];

const option = (name) => process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const given = option("appimage");
const debug = path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "debug");
// A given file was packed and named by others; its own programs are not at hand.
let runtime = null;
const file = given ? path.resolve(given) : await packed();
const links = fs.mkdtempSync(path.join(os.tmpdir(), "ca-"));
const counts = { passed: 0, failed: 0 };
try {
  for (const name of ["carillon-desktop", "carillon"]) fs.symlinkSync(file, path.join(links, name));
  walk(["--from=tests/appimage/journeys", ...words]);
  if (words.length === 0) walk(WINDOW);
  if (words.length === 0 && !given) await packing();
} finally {
  fs.rmSync(links, { recursive: true, force: true });
}
if (option("report")) fs.writeFileSync(option("report"), JSON.stringify(counts));
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);

/** Runs journeys on the AppImage and adds what they counted. */
function walk(args) {
  const report = path.join(links, "report.json");
  const env = { ...process.env, CARILLON_BINARIES: links };
  const { status } = spawnSync(process.execPath, ["tests/e2e/run.mjs", `--report=${report}`, ...args], { cwd: ROOT, env, stdio: "inherit" });
  const { passed, failed } = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, "utf8")) : { passed: 0, failed: 1 };
  counts.passed += passed;
  counts.failed += status === 0 ? failed : Math.max(1, failed);
  fs.rmSync(report, { force: true });
}

/** The packages themselves. */
async function packing() {
  let text = "";
  const env = { ...process.env, CARILLON_PACKED: debug, CARILLON_RUNTIME: runtime };
  const code = await runReading(process.execPath, ["--test", "--test-reporter=spec", "tests/appimage/packing.test.mjs"], { cwd: ROOT, env }, (piece) => (text += piece));
  const { passed, failed } = honest(code, nodeCounts(text));
  counts.passed += passed;
  counts.failed += failed;
}

async function packed() {
  let made = null;
  await tellStops(async () => {
    runtime = await buildRuntime();
    made = makeAppImage({ binaries: debug, runtime, level: 1, out: path.join(OUT, "test", nameOf(false)) });
  });
  return made;
}
