import { expect, it } from "vitest";
import type { WorkdirDiff } from "../../generated/api";
import { LINES_MAX, lineText, readDiff } from "./diff";

const diff = (text: string, files: WorkdirDiff["files"] = [], truncated = false): WorkdirDiff => ({ id: "1", text, truncated, files, untracked: [] });
const file = (path: string) => ({ path, added: 1, deleted: 1 });

const TEXT = [
  "diff --git a/old name.txt b/new name.txt", "similarity index 90%", "--- a/old name.txt", "+++ b/new name.txt", "@@ -1,3 +1,3 @@ head", " same", "--- a line that was two dashes", "+++ a line that is two pluses", "\\ No newline at end of file",
  "diff --git a/pic.png b/pic.png", "Binary files a/pic.png and b/pic.png differ", "",
].join("\n");

it("each line is what it is, also where a change looks like a head", () => {
  const { lines, starts, cut } = readDiff(diff(TEXT, [file("new name.txt"), file("pic.png")]));
  expect(lines.map(({ kind }) => kind)).toEqual(["file", "meta", "meta", "meta", "hunk", "same", "deleted", "added", "meta", "file", "meta"]);
  expect([starts, cut]).toEqual([[0, 9], false]);
  expect(lineText(lines[0]!)).toBe("new name.txt");
});

it("a file whose head cannot be read is found by its place, and one that is not there is not", () => {
  const odd = 'diff --git "a/\\303\\274.txt" "b/\\303\\274.txt"\n@@ -1 +1 @@\n-a\n+b\n';
  expect(readDiff(diff(odd, [file("ü.txt")])).starts).toEqual([0]);
  expect(readDiff(diff(odd, [file("ü.txt"), file("x")])).starts).toEqual([-1, -1]);
  expect(readDiff(diff("", [file("x")])).lines).toEqual([]);
});

it("a huge one is cut, and so is a line without end", () => {
  const { lines, cut } = readDiff(diff(`@@\n${"+x\n".repeat(LINES_MAX + 5)}`));
  expect([lines.length, cut]).toEqual([LINES_MAX, true]);
  expect(readDiff(diff(`@@\n+${"y".repeat(100_000)}\n`)).lines[1]!.text.length).toBeLessThan(3_000);
  expect(readDiff(diff("@@\n+a\n", [], true)).cut).toBe(true);
  expect(lineText({ kind: "added", text: "+a\u202eb\u0007" })).toBe("+a\ufffdb");
});
