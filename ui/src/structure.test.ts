// The rules of the house for this folder, read from the files themselves.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = import.meta.dirname;
const LINES_MAX = 500;

const files = readdirSync(ROOT, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(tsx?|css)$/.test(entry.name))
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));

const sources = files.filter((file) => /\.tsx?$/.test(file)).map((file) => ({ file, text: readFileSync(join(ROOT, file), "utf8") }));

/** Every import with where it leads, as a path below this folder; packages by their name. */
function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, target]) =>
    target!.startsWith(".") ? relative(ROOT, join(ROOT, file, "..", target!)) : target!,
  );
}

const offenders = (breaks: (file: string, target: string) => boolean) =>
  sources.flatMap(({ file, text }) => importsOf(file, text).filter((target) => breaks(file, target)).map((target) => `${file} imports ${target}`));

describe("the house", () => {
  it("has one door to the desktop", () => {
    expect(offenders((file, target) => target.startsWith("@tauri-apps") && file !== "backend/tauri.ts")).toEqual([]);
    expect(sources.filter(({ file, text }) => text.includes("__TAURI") && !["backend/tauri.ts", "structure.test.ts"].includes(file)).map(({ file }) => file)).toEqual([]);
  });

  it("keeps features apart", () => {
    const feature = (path: string) => /^features\/([^/]+)/.exec(path)?.[1];
    expect(offenders((file, target) => feature(file) !== undefined && feature(target) !== undefined && feature(file) !== feature(target))).toEqual([]);
    expect(offenders((file, target) => feature(file) !== undefined && target.startsWith("views/"))).toEqual([]);
  });

  it("lets shared parts know nothing of ours, and the state nothing of what is drawn", () => {
    expect(offenders((file, target) => file.startsWith("shared/") && /^(state|backend|features|views|generated)\//.test(target))).toEqual([]);
    expect(offenders((file, target) => file.startsWith("state/") && /^(features|views)\//.test(target))).toEqual([]);
    expect(offenders((file, target) => file.startsWith("backend/") && /^(state|shared|features|views)\//.test(target))).toEqual([]);
  });

  it("has test ids in one file", () => {
    const used = sources.filter(({ file }) => !file.includes(".test.") && file !== "shared/testids.ts");
    expect(used.flatMap(({ file, text }) => [...text.matchAll(/(?:data-testid|testid)=(?:"|\{`)/g)].map(() => file))).toEqual([]);
  });

  it("has no long files, and the hardening comes first", () => {
    expect(files.filter((file) => !file.startsWith("generated/")).filter((file) => readFileSync(join(ROOT, file), "utf8").split("\n").length > LINES_MAX)).toEqual([]);
    expect(sources.find(({ file }) => file === "main.tsx")!.text.trimStart().startsWith('import "./harden";')).toBe(true);
  });
});
