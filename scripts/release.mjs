// npm run release: everything that is given to users, in target/package/release-<version>: both AppImages, the Debian package, the
// notes and the checksums. Each AppImage has passed its own tests before its checksum is written.
//   --check          builds everything a second time, in another folder, and says which files differ
//   --address URL    where the files will lie: with CARILLON_SIGNING_KEY naming a key (scripts/package/sign.mjs), the AppImages are
//                    signed and latest.json, which the app's update check reads, is written

import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { makeAll } from "./package/all.mjs";
import { nameOf } from "./package/appimage.mjs";
import { changesOf, MACHINE, OUT, sourceTime, version } from "./package/build.mjs";
import { publicLine, readKey, updateList } from "./package/sign.mjs";
import { output, run, say, Stop, tellStops } from "./say.mjs";
import { ROOT, setUp } from "./setup.mjs";

const { values } = parseArgs({ options: { check: { type: "boolean" }, address: { type: "string" } } });
const keyFile = process.env.CARILLON_SIGNING_KEY;

await tellStops(async () => {
  if ((values.address === undefined) !== (keyFile === undefined)) {
    throw new Stop("A list of versions needs both --address and CARILLON_SIGNING_KEY.", "Make a key with: node scripts/package/sign.mjs new FILE");
  }
  // What is wrong with the key is told before anything is built.
  const key = keyFile && readKey(path.resolve(process.env.INIT_CWD ?? ".", keyFile));
  await setUp("test");
  if (output("git", ["status", "--porcelain"], { cwd: ROOT }) !== "") say.bad("there are changes that are not committed: this release cannot be made again");
  const folder = path.join(OUT, `release-${version()}`);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  await makeAll(folder);
  for (const isThin of [false, true]) await testAppImage(path.join(folder, nameOf(isThin)));
  if (values.check) await compareWithAnother(folder);
  fs.writeFileSync(path.join(folder, "NOTES.md"), notes());
  if (key) writeList(folder, key);
  const sums = sumsOf(folder);
  fs.writeFileSync(path.join(folder, "SHA256SUMS"), sums);
  say.done(`${path.relative(process.cwd(), folder)}:\n${sums}`);
});

async function testAppImage(file) {
  say.busy(`testing ${path.basename(file)}`);
  const args = ["tests/appimage/run.mjs", `--appimage=${file}`];
  if ((await run(process.execPath, args, { cwd: ROOT })) !== 0) throw new Stop(`${path.basename(file)} did not pass its tests; nothing is released.`);
}

/** Builds the last commit once more, elsewhere and from nothing, and compares byte by byte. */
async function compareWithAnother(folder) {
  const other = fs.mkdtempSync(path.join(os.tmpdir(), "carillon-again-"));
  say.busy(`building it all again in ${other}`);
  try {
    const cloned = await run("git", ["clone", "--quiet", ROOT, path.join(other, "carillon")]);
    const args = ["scripts/package/all.mjs", other];
    if (cloned !== 0 || (await run(process.execPath, args, { cwd: path.join(other, "carillon") })) !== 0) throw new Stop("The second build failed; what is wrong stands above.");
    const differing = fs.readdirSync(folder).filter((name) => !fs.readFileSync(path.join(folder, name)).equals(fs.readFileSync(path.join(other, name))));
    if (differing.length === 0) say.done("a second build gave the same bytes");
    else throw new Stop(`A second build gave other bytes: ${differing.join(", ")}`, "docs/adr/0012-appimage.md says what is known to differ.");
  } finally {
    fs.rmSync(other, { recursive: true, force: true });
  }
}

function notes() {
  return `# Carillon ${version()}\n\n${changesOf(fs.readFileSync(path.join(ROOT, "CHANGELOG.md"), "utf8"), version())}\n`;
}

/** Signs the AppImages and writes the list of versions. */
function writeList(folder, key) {
  const files = [false, true].map((isThin) => ({ file: path.join(folder, nameOf(isThin)), isThin }));
  const list = updateList({ key, version: version(), notes: notes(), time_s: sourceTime(), machine: MACHINE.appimage, files, address: values.address });
  fs.writeFileSync(path.join(folder, "latest.json"), `${JSON.stringify(list, null, 1)}\n`);
  say.done(`signed for the key ${publicLine(key)}`);
}

/** As sha256sum prints and checks them. */
function sumsOf(folder) {
  const sum = (name) => crypto.createHash("sha256").update(fs.readFileSync(path.join(folder, name))).digest("hex");
  return fs.readdirSync(folder).sort().map((name) => `${sum(name)}  ${name}\n`).join("");
}
