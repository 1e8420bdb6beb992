// npm run release: everything that is given to users, in target/package/release-<version>: both AppImages, the Debian package, the
// notes and the checksums. Each AppImage has passed its own tests before its checksum is written.
//   --check   builds everything a second time, in another folder, and says which files differ

import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { makeAll } from "./package/all.mjs";
import { nameOf } from "./package/appimage.mjs";
import { OUT, version } from "./package/build.mjs";
import { output, run, say, Stop, tellStops } from "./say.mjs";
import { ROOT, setUp } from "./setup.mjs";

const { values } = parseArgs({ options: { check: { type: "boolean" } } });

await tellStops(async () => {
  await setUp("test");
  if (output("git", ["status", "--porcelain"], { cwd: ROOT }) !== "") say.bad("there are changes that are not committed: this release cannot be made again");
  const folder = path.join(OUT, `release-${version()}`);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  await makeAll(folder);
  for (const isThin of [false, true]) await testAppImage(path.join(folder, nameOf(isThin)));
  if (values.check) await compareWithAnother(folder);
  fs.writeFileSync(path.join(folder, "NOTES.md"), notes());
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

/** The part of the changelog that is about this version; what is not released yet counts as it. */
function notes() {
  const changes = fs.readFileSync(path.join(ROOT, "CHANGELOG.md"), "utf8").split(/^## /m);
  const own = changes.find((part) => part.startsWith(`${version()}`)) ?? changes.find((part) => part.startsWith("Unreleased"));
  if (!own) throw new Stop(`CHANGELOG.md has nothing about ${version()}.`);
  return `# Carillon ${version()}\n\n${own.split("\n").slice(1).join("\n").trim()}\n`;
}

/** As sha256sum prints and checks them. */
function sumsOf(folder) {
  const sum = (name) => crypto.createHash("sha256").update(fs.readFileSync(path.join(folder, name))).digest("hex");
  return fs.readdirSync(folder).sort().map((name) => `${sum(name)}  ${name}\n`).join("");
}
