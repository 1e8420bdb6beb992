// What can be said of the packages without making one; the made ones are tested in tests/appimage.

import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { changesOf, even, sourceTime, version } from "./package/build.mjs";
import { debianChanges } from "./package/deb.mjs";
import { HOSTS } from "./package/libraries.mjs";
import { makeKey, readKey, sign, updateList } from "./package/sign.mjs";

test("Cargo.toml and package.json give the same version", () => {
  assert.match(version(), /^\d+\.\d+\.\d+$/);
});

test("a package's time is the one that is named, else the last commit's", () => {
  const before = process.env.SOURCE_DATE_EPOCH;
  process.env.SOURCE_DATE_EPOCH = "1234567890";
  assert.equal(sourceTime(), 1234567890);
  delete process.env.SOURCE_DATE_EPOCH;
  assert.ok(sourceTime() > 0);
  if (before !== undefined) process.env.SOURCE_DATE_EPOCH = before;
});

test("what belongs to the host's kernel, drivers, display and fonts is never carried", () => {
  for (const name of ["libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libGL.so.1", "libEGL.so.1", "libdrm_intel.so.1", "libX11.so.6", "libwayland-client.so.0", "libwayland-egl.so.1", "libfontconfig.so.1", "libharfbuzz.so.0", "libz.so.1"]) {
    assert.match(name, HOSTS);
  }
  for (const name of ["libwebkit2gtk-4.1.so.0", "libgtk-3.so.0", "libcairo.so.2", "libcom_err.so.2", "libgpg-error.so.0", "libharfbuzz-icu.so.0", "libzstd.so.1", "libXcomposite.so.1"]) {
    assert.doesNotMatch(name, HOSTS);
  }
});

test("modes and times do not tell where a tree was made", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "even-"));
  try {
    fs.writeFileSync(path.join(folder, "program"), "", { mode: 0o700 });
    fs.mkdirSync(path.join(folder, "deep/er"), { recursive: true, mode: 0o700 });
    fs.writeFileSync(path.join(folder, "deep/er/text"), "", { mode: 0o600 });
    fs.symlinkSync("nowhere", path.join(folder, "link"));
    even(folder, 1000);
    const of = (name) => fs.lstatSync(path.join(folder, name));
    assert.deepEqual(["program", "deep", "deep/er", "deep/er/text"].map((name) => (of(name).mode & 0o777).toString(8)), ["755", "755", "755", "644"]);
    for (const name of [".", "program", "deep", "deep/er/text", "link"]) assert.equal(of(name).mtimeMs, 1_000_000, name);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test("the notes of a release are what the changelog says of it, else what is not released yet", () => {
  const text = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.3 (2026-01-02)\n\n- one\n  more\n";
  assert.equal(changesOf(text, "1.2.3"), "- one\n  more");
  assert.equal(changesOf(text, "2.0.0"), "- new");
  assert.equal(changesOf(text, "1.2"), "- new", "another version begins like that");
  assert.throws(() => changesOf("# Changelog\n", "1.0.0"), /nothing about 1\.0\.0/);
});

test("Debian's changelog has each change as one item, in short lines", () => {
  const long = "word ".repeat(40).trim();
  const text = debianChanges(`### Added\n- one\n  more\n- ${long}\n`, 0);
  assert.match(text, /^carillon \(\S+\) unstable; urgency=medium\n\n {2}\* one more\n {2}\* word /);
  assert.match(text, /\n\n -- .+ <\S+@\S+> {2}Thu, 01 Jan 1970 00:00:00 \+0000\n$/);
  assert.ok(text.split("\n").filter((line) => !line.startsWith(" --")).every((line) => line.length <= 80), text);
});

test("a key is for its owner alone, is never written over, and its signature covers the file and its name", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "key-"));
  try {
    const file = path.join(folder, "key.pem");
    const line = makeKey(file);
    assert.match(line, /^RW[\w+/]{54}$/);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    assert.throws(() => makeKey(file), /EEXIST/);
    const key = readKey(file);
    const parts = Buffer.from(sign(key, Buffer.from("bytes"), "Some.AppImage", 5), "base64").toString().split("\n");
    const [signature, whole] = [parts[1], parts[3]].map((text) => Buffer.from(text, "base64"));
    assert.equal(parts[2], "trusted comment: timestamp:5\tfile:Some.AppImage");
    const owner = crypto.createPublicKey(key.secret);
    const hash = crypto.createHash("blake2b512").update("bytes").digest();
    assert.ok(crypto.verify(null, hash, owner, signature.subarray(10)), "of the file");
    const comment = Buffer.from(parts[2].slice("trusted comment: ".length));
    assert.ok(crypto.verify(null, Buffer.concat([signature.subarray(10), comment]), owner, whole), "of its name");
    const app = path.join(folder, "Some App.AppImage");
    fs.writeFileSync(app, "bytes");
    const list = updateList({ key, version: "1.2.3", notes: "new", time_s: 5, machine: "x86_64", files: [{ file: app, isThin: true }], address: "https://example.org/a" });
    assert.deepEqual([list.version, list.pub_date, Object.keys(list.platforms)], ["1.2.3", "1970-01-01T00:00:05.000Z", ["linux-x86_64-thin"]]);
    assert.equal(list.platforms["linux-x86_64-thin"].url, "https://example.org/a/Some%20App.AppImage");
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
