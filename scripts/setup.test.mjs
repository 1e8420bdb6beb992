// The set-up's own tests: the system's programs are played by small scripts that come first on the PATH.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { honest, nextestCounts, nodeCounts } from "./counts.mjs";
import { isAtLeast } from "./say.mjs";
import { hashOf } from "./stamp.mjs";
import { isDebianLike, neededPackages } from "./system.mjs";

const SCRIPTS = path.dirname(fileURLToPath(import.meta.url));
const DEBIAN = 'ID=debian\nVERSION_ID="12"\n';

/** A folder that goes with the test. */
function folder(t) {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), "setup-"));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

/**
 * Runs the step for system packages against played programs. `installed` are the packages of the machine, `installable` those that apt
 * can bring, `uid` who we are. Answers what was printed, the exit code, and what apt was asked.
 */
function systemPackages(t, { purpose = "test", installed = [], installable = [], uid = 0, sudo = "absent", release = DEBIAN, pkgConfig = false }) {
  const machine = folder(t);
  const play = (name, script) => fs.writeFileSync(path.join(machine, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  fs.writeFileSync(path.join(machine, "installed"), installed.map((name) => `${name}\n`).join(""));
  fs.writeFileSync(path.join(machine, "installable"), installable.map((name) => `${name}\n`).join(""));
  play("dpkg-query", `shift 2; code=0; for name in "$@"; do if grep -qx "$name" ${machine}/installed; then echo "installed $name"; else echo "no packages found matching $name" >&2; code=1; fi; done; exit $code`);
  play("apt-get", `echo "$@" >> ${machine}/asked
[ "$1" = install ] || exit 0
for name in "$@"; do case "$name" in install|-*|DPkg*) ;; *) if grep -qx "$name" ${machine}/installable; then echo "$name" >> ${machine}/installed; else echo "E: Unable to locate package $name" >&2; exit 100; fi;; esac; done`);
  play("pkg-config", `exit ${pkgConfig ? 0 : 1}`);
  play("sudo", sudo === "absent" ? "exit 127" : sudo === "asks" ? 'case "$1" in -n|-V) exit 1;; esac; exit 1' : 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"');
  const script = `process.getuid = () => ${uid};
    const { tellStops } = await import(${JSON.stringify(path.join(SCRIPTS, "say.mjs"))});
    const { systemPackages } = await import(${JSON.stringify(path.join(SCRIPTS, "system.mjs"))});
    await tellStops(() => systemPackages(${JSON.stringify(purpose)}, ${JSON.stringify(release)}));`;
  const ended = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    env: { ...process.env, PATH: `${machine}:/usr/bin:/bin` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const asked = fs.existsSync(path.join(machine, "asked")) ? fs.readFileSync(path.join(machine, "asked"), "utf8").trim().split("\n") : [];
  return { code: ended.status, text: ended.stdout + ended.stderr, asked };
}

test("nothing is asked of apt when everything is there", (t) => {
  const { code, text, asked } = systemPackages(t, { installed: neededPackages("test") });
  assert.deepEqual([code, text, asked], [0, "✓ system packages\n", []]);
});

test("what is missing, and only that, is installed after the lists were fetched", (t) => {
  const [first, ...rest] = neededPackages("test");
  const { code, text, asked } = systemPackages(t, { installed: [first], installable: rest });
  assert.equal(code, 0, text);
  assert.match(text, new RegExp(`… installing ${rest.length} system packages: ${rest.join(", ")}`));
  assert.match(asked[0], /^update/);
  assert.match(asked[1], new RegExp(`^install -y --no-install-recommends ${rest.join(" ")} `));
  assert.equal(asked.length, 2);
});

test("a start does not need what only the tests need", (t) => {
  assert.equal(systemPackages(t, { purpose: "start", installed: neededPackages("start") }).code, 0);
  assert.ok(!neededPackages("start").includes("xvfb"));
});

test("when apt cannot, the packages and the command to run are named", (t) => {
  const names = neededPackages("start");
  const { code, text } = systemPackages(t, { purpose: "start", installable: names.slice(0, 1) });
  assert.equal(code, 1);
  assert.match(text, /could not install: .*libwebkit2gtk-4\.1-dev/);
  assert.match(text, /\n {2}apt-get install -y --no-install-recommends /);
  assert.match(text, /Ubuntu 22\.04/);
});

test("a user with sudo goes through it", (t) => {
  const names = neededPackages("start");
  const { code, text, asked } = systemPackages(t, { purpose: "start", installable: names, uid: 1000, sudo: "free" });
  assert.equal(code, 0, text);
  assert.equal(asked.length, 2);
});

test("a user who cannot become root is told the command with sudo, and apt is not asked", (t) => {
  for (const sudo of ["absent", "asks"]) {
    const { code, text, asked } = systemPackages(t, { purpose: "start", uid: 1000, sudo });
    assert.equal(code, 1);
    assert.match(text, /takes root: build-essential/);
    assert.match(text, /sudo apt-get install/);
    assert.deepEqual(asked, []);
  }
});

test("another Linux is asked for the library alone", (t) => {
  const release = "ID=fedora\n";
  const without = systemPackages(t, { release });
  assert.equal(without.code, 1);
  assert.match(without.text, /neither Debian nor Ubuntu.*libwebkit2gtk-4\.1-dev/s);
  const { code, asked } = systemPackages(t, { release, pkgConfig: true });
  assert.deepEqual([code, asked], [0, []]);
});

test("Debian's descendants are recognised by what they say about themselves", () => {
  assert.ok(isDebianLike('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n'));
  assert.ok(isDebianLike("ID=ubuntu\nID_LIKE=debian\n"));
  assert.ok(!isDebianLike('ID="opensuse-leap"\nID_LIKE="suse opensuse"\nHOME_URL="https://debian.example"\n'));
  assert.ok(!isDebianLike(""));
});

test("without a display a start says so at once, and names the way without a window", () => {
  const env = { ...process.env };
  delete env.DISPLAY;
  delete env.WAYLAND_DISPLAY;
  // With an empty PATH anything that was tried before would fail differently.
  const { status, stderr, stdout } = spawnSync(process.execPath, [path.join(SCRIPTS, "start.mjs")], { encoding: "utf8", env: { ...env, PATH: "" } });
  assert.equal(status, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /no display/);
  assert.match(stderr, /carillon serve/);
});

test("a missing Rust is told with the way out", (t) => {
  const machine = folder(t);
  const needed = path.join(machine, "bin");
  fs.mkdirSync(needed);
  fs.writeFileSync(path.join(needed, "dpkg-query"), '#!/bin/sh\nshift 2; for name in "$@"; do echo "installed $name"; done\n', { mode: 0o755 });
  const script = `const { tellStops } = await import(${JSON.stringify(path.join(SCRIPTS, "say.mjs"))});
    const { setUp } = await import(${JSON.stringify(path.join(SCRIPTS, "setup.mjs"))});
    await tellStops(() => setUp("start"));`;
  const env = { ...process.env, HOME: machine, CARGO_HOME: machine, PATH: `${needed}:/usr/bin:/bin` };
  const run = () => spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] });
  const missing = run();
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /Rust [\d.]+ or later is needed.*rustup/s);
  for (const name of ["cargo", "rustc"]) fs.writeFileSync(path.join(needed, name), `#!/bin/sh\necho "${name} 1.60.0 (x)"\n`, { mode: 0o755 });
  const old = run();
  assert.equal(old.status, 1);
  assert.match(old.stderr, /this is 1\.60\.0.*rustup update stable/s);
});

test("versions are compared by their numbers", () => {
  assert.ok(isAtLeast("1.95.0", "1.95"));
  assert.ok(isAtLeast("1.100.0", "1.95"));
  assert.ok(isAtLeast("2.0.0-nightly", "1.95"));
  assert.ok(!isAtLeast("1.94.9", "1.95"));
  assert.ok(!isAtLeast("20.9.0", "20.19"));
});

test("a stamp changes with a content, a name and an absence, and not with what is skipped", (t) => {
  const root = folder(t);
  fs.mkdirSync(path.join(root, "ui/dist"), { recursive: true });
  fs.writeFileSync(path.join(root, "ui/a"), "1");
  fs.writeFileSync(path.join(root, "ui/dist/out"), "1");
  const stamp = () => hashOf(root, ["lock", "ui"], ["ui/dist"]);
  const before = stamp();
  fs.writeFileSync(path.join(root, "ui/dist/out"), "2");
  assert.equal(stamp(), before);
  fs.writeFileSync(path.join(root, "ui/a"), "2");
  const changed = stamp();
  assert.notEqual(changed, before);
  fs.renameSync(path.join(root, "ui/a"), path.join(root, "ui/b"));
  assert.notEqual(stamp(), changed);
  fs.writeFileSync(path.join(root, "lock"), "");
  assert.notEqual(stamp(), changed);
});

test("counts are read from what the runners print", () => {
  assert.deepEqual(nextestCounts("     Summary [  12.345s] 210 tests run: 207 passed (1 slow, 1 leaky), 2 failed, 1 timed out, 3 skipped\n"), { passed: 207, failed: 3 });
  assert.deepEqual(nextestCounts("\u001b[32;1m     Summary\u001b[0m [   0.1s] \u001b[1m1\u001b[0m test run: \u001b[1m1\u001b[0m \u001b[32;1mpassed\u001b[0m, \u001b[1m0\u001b[0m skipped"), { passed: 1, failed: 0 });
  assert.deepEqual(nextestCounts("Summary [ 1s] 90/210 tests run: 89 passed, 1 failed"), { passed: 89, failed: 121 });
  assert.deepEqual(nextestCounts("error: could not compile"), { passed: 0, failed: 0 });
  assert.deepEqual(nodeCounts("ℹ tests 5\nℹ pass 3\nℹ fail 1\nℹ cancelled 1\n"), { passed: 3, failed: 2 });
  assert.deepEqual(honest(1, { passed: 3, failed: 0 }), { passed: 3, failed: 1 });
  assert.deepEqual(honest(0, { passed: 3, failed: 0 }), { passed: 3, failed: 0 });
});
