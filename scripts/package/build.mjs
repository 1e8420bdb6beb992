// What every package begins with: the version, the date, and builds that do not tell where they were made.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { output, run, say, Stop } from "../say.mjs";
import { ROOT } from "../setup.mjs";

/** Packages and what they are built from; apart from `target/release`, because other flags mean other builds. */
export const OUT = path.join(ROOT, "target/package");
/** As AppImages and Debian name machines, and where Debian keeps their libraries. */
export const MACHINE = {
  x64: { appimage: "x86_64", debian: "amd64", triplet: "x86_64-linux-gnu", rust: "x86_64-unknown-linux-gnu" },
  arm64: { appimage: "aarch64", debian: "arm64", triplet: "aarch64-linux-gnu", rust: "aarch64-unknown-linux-gnu" },
}[process.arch];

/** The version of everything, which stands in two places that must agree. */
export function version() {
  const rust = /^version\s*=\s*"([^"]+)"/m.exec(fs.readFileSync(path.join(ROOT, "Cargo.toml"), "utf8"))[1];
  const npm = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8")).version;
  if (rust !== npm) throw new Stop(`Cargo.toml says version ${rust}, package.json ${npm}.`, "Give both the same version.");
  return rust;
}

/** The time that stands in a package, in seconds since 1970: SOURCE_DATE_EPOCH, else the last commit's. */
export function sourceTime() {
  const named = process.env.SOURCE_DATE_EPOCH;
  if (named) return Number(named);
  return Number(output("git", ["log", "-1", "--format=%ct"], { cwd: ROOT }) ?? 315_532_800);
}

/** The part of a changelog that is about `version`; what is not released yet counts as the next one. */
export function changesOf(text, version) {
  const parts = text.split(/^## /m);
  const own = parts.find((part) => part.split(/\s/, 1)[0] === version) ?? parts.find((part) => part.startsWith("Unreleased"));
  if (!own) throw new Stop(`CHANGELOG.md has nothing about ${version}.`);
  return own.split("\n").slice(1).join("\n").trim();
}

/** Builds both programs for release and answers the folder that has them. */
export async function buildPrograms() {
  say.busy("building Carillon for release (the first time takes several minutes)");
  const names = ["-p", "carillon-cli", "-p", "carillon-desktop"];
  if ((await cargo(["build", "--release", "--locked", ...names], [])) !== 0) throw new Stop("Carillon could not be built; what is wrong stands above.");
  say.done("programs");
  return path.join(OUT, "release");
}

/** Builds the AppImage's start-up program: static, so that it runs wherever the system's libraries are too old for what is inside. */
export async function buildRuntime() {
  say.busy("building the AppImage's start-up program");
  const small = ["opt-level='s'", "lto='fat'", "codegen-units=1"].flatMap((setting) => ["--config", `profile.release.${setting.replaceAll("'", setting.startsWith("codegen") ? "" : '"')}`]);
  const args = ["build", "--release", "--locked", "-p", "carillon-appimage-runtime", "--target", MACHINE.rust, ...small];
  if ((await cargo(args, ["-Ctarget-feature=+crt-static", "-Crelocation-model=static"])) !== 0) {
    throw new Stop("The AppImage's start-up program could not be built; what is wrong stands above.");
  }
  say.done("start-up program");
  return path.join(OUT, MACHINE.rust, "release/appimage-runtime");
}

/** Runs cargo so that the same sources give the same bytes, wherever they lie. */
function cargo(args, flags) {
  const cargoHome = process.env.CARGO_HOME ?? path.join(os.homedir(), ".cargo");
  const remapped = [`--remap-path-prefix=${cargoHome}=/cargo`, `--remap-path-prefix=${ROOT.replace(/\/$/, "")}=/carillon`];
  const env = { ...process.env, CARGO_TARGET_DIR: OUT, CARGO_ENCODED_RUSTFLAGS: [...remapped, ...flags].join("\u001f") };
  return run("cargo", args, { cwd: ROOT, env });
}

/** Runs a tool that must succeed, without its output; what it said is in the error. */
export function must(program, args, options = {}) {
  const printed = output(program, args, options);
  if (printed === null) throw new Stop(`${program} failed or is not installed.`, `This says why:\n${[program, ...args].join(" ")}`);
  return printed;
}

/** Gives everything under a folder the same modes and times wherever it was made. */
export function even(folder, seconds) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isSymbolicLink()) {
      fs.lutimesSync(file, seconds, seconds);
      continue;
    }
    const runs = entry.isDirectory() || (fs.statSync(file).mode & 0o100) !== 0;
    fs.chmodSync(file, runs ? 0o755 : 0o644);
    fs.utimesSync(file, seconds, seconds);
  }
  fs.chmodSync(folder, 0o755);
  fs.utimesSync(folder, seconds, seconds);
}
