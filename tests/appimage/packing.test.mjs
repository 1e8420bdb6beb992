// The packages themselves: the same programs give the same bytes, the validators have nothing to say, and what is installed goes again.
//
// CARILLON_PACKED names the folder with the programs (target/debug without it), CARILLON_RUNTIME the AppImage's start-up program.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeAppImage } from "../../scripts/package/appimage.mjs";
import { buildRuntime, version } from "../../scripts/package/build.mjs";
import { makeDeb } from "../../scripts/package/deb.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const built = process.env.CARILLON_PACKED ?? path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "debug");
const NAMES = ["carillon-desktop", "carillon"];
let folder;
let binaries;

before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "cp-"));
  // Without symbols: nothing here needs them, and a tenth of the bytes packs in a tenth of the time.
  binaries = path.join(folder, "programs");
  fs.mkdirSync(binaries);
  for (const name of NAMES) run("strip", ["-o", path.join(binaries, name), path.join(built, name)]);
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8", ...options });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${error ?? ""}${stdout}${stderr}`);
  return stdout;
}

/** Runs `make` twice, the second time as somebody else would: with another umask, from files of another age and in another order. */
function twice(make) {
  const first = fs.readFileSync(make(binaries));
  const others = fs.mkdtempSync(path.join(folder, "others-"));
  const mask = process.umask(0o077);
  try {
    for (const name of NAMES.toReversed()) {
      fs.copyFileSync(path.join(binaries, name), path.join(others, name));
      fs.utimesSync(path.join(others, name), 1000, 1000);
    }
    return [first, fs.readFileSync(make(others))];
  } finally {
    process.umask(mask);
  }
}

test("packing the same programs twice gives the same AppImage", async () => {
  const runtime = process.env.CARILLON_RUNTIME ?? (await buildRuntime());
  const [one, other] = twice((from) => makeAppImage({ binaries: from, runtime, isThin: true, level: 1, out: path.join(folder, "thin.AppImage") }));
  assert.ok(one.length > 1e6 && one.equals(other));
});

test("packing the same programs twice gives the same Debian package", () => {
  const [one, other] = twice((from) => makeDeb(from, 0));
  assert.ok(one.length > 1e6 && one.equals(other));
});

test("the Debian package is installed, works, is whole, and leaves nothing when it is removed", () => {
  const root = path.join(folder, "root");
  for (const name of ["var/lib/dpkg/info", "var/lib/dpkg/updates"]) fs.mkdirSync(path.join(root, name), { recursive: true });
  fs.writeFileSync(path.join(root, "var/lib/dpkg/status"), "");
  // A root of its own knows no other package, and needs no rights on this machine's.
  const dpkg = (...args) => run("dpkg", [`--root=${root}`, "--log=/dev/null", "--force-depends", "--force-not-root", ...args]);
  const files = () => fs.readdirSync(root, { recursive: true, withFileTypes: true }).map((one) => path.join(one.parentPath ?? one.path, one.name)).filter((one) => !one.includes("/var/"));
  dpkg("--install", makeDeb(binaries, 0));
  assert.equal(run(path.join(root, "usr/bin/carillon"), ["--version"]).trim(), `carillon ${version()}`);
  assert.equal(run(path.join(root, "usr/bin/carillon-desktop"), ["--version"]).trim(), `carillon-desktop ${version()}`);
  assert.equal(dpkg("--verify", "carillon"), "", "every file is as its checksum says");
  const listed = dpkg("--listfiles", "carillon").trim().split("\n").filter((one) => !["/.", "/usr"].includes(one));
  assert.deepEqual(files().map((one) => one.slice(root.length)).filter((one) => one !== "/usr" && one !== "/var").sort(), listed.sort(), "nothing but what it lists");
  const strangers = listed.filter((one) => fs.lstatSync(path.join(root, one)).isFile() && !/^\/usr\/(bin|share\/(applications|doc\/carillon|icons\/hicolor|man\/man1|metainfo))\//.test(one));
  assert.deepEqual(strangers, [], "only in its own places");
  const control = run("dpkg-query", [`--admindir=${path.join(root, "var/lib/dpkg")}`, "-W", "-f", "${Maintainer}|${Depends}|${Section}", "carillon"]);
  assert.match(control, /<\S+@\S+>\|.*libwebkit2gtk-4\.1-0.*git\|devel/);
  run("desktop-file-validate", [path.join(root, "usr/share/applications/dev.carillon.desktop.desktop")]);
  run("appstreamcli", ["validate", "--no-net", "--pedantic", path.join(root, "usr/share/metainfo/dev.carillon.desktop.metainfo.xml")]);
  for (const page of NAMES) assert.match(run("gzip", ["-dc", path.join(root, `usr/share/man/man1/${page}.1.gz`)]), new RegExp(`^\\.TH .*Carillon ${version().replaceAll(".", "\\.")}`));
  dpkg("--purge", "carillon");
  assert.deepEqual(files().filter((one) => one.startsWith(path.join(root, "usr"))), []);
});
