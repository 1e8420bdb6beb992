// What can be said of the packages without making one; the made ones are tested in tests/appimage.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { even, sourceTime, version } from "./package/build.mjs";
import { HOSTS } from "./package/libraries.mjs";

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
