import { describe, expect, it } from "vitest";
import { lastLine, PLAIN, plainLine, spansOf } from "./ansi";
import { LINE_CHARS_MAX, linesOf } from "./lines";

/** What must never be in the page: control characters but the tab, C1, and what turns the direction of writing. */
export const RAW = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

const rowsOf = (text: string) => {
  const lines = linesOf(text);
  return lines.start.map((start, at) => plainLine(text.slice(start, lines.end[at])));
};

describe("a line of output", () => {
  it.each([
    ["plain", "plain"],
    ["\u001b[31mred\u001b[0m text", "red text"],
    ["\u009b31mred\u009bm", "red"],
    ["\u001b]0;title\u0007after", "after"],
    ["\u001b]8;;https://example.org\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u009d52;c;aGk=\u009cafter", "after"],
    ["\u001bP+q544e\u001b\\after", "after"],
    ["\u001b_payload\u001b\\after", "after"],
    ["\u001b(Bset \u001b7saved\u001bM", "set saved"],
    ["\u001b[2J\u001b[H\u001b[?25l\u001b[38;5;1;4Habc", "abc"],
    ["a\u0000b\u0008c\u007fd\u0085e\tf", "abcde\tf"],
    ["unfinished \u001b[38;5", "unfinished "],
    ["unfinished \u001b]0;never ended", "unfinished "],
    ["user\u202egnp.exe\u2069 \u200fx", "user\ufffdgnp.exe\ufffd \ufffdx"],
    ["a\u2028b", "a b"],
    ["\u001b", ""],
  ])("%j is shown as %j", (line, text) => {
    expect(plainLine(line)).toBe(text);
    expect(spansOf(line, PLAIN).map((span) => span.text).join("")).toBe(text);
    expect(text).not.toMatch(RAW);
  });

  it("never has a raw control character, whatever comes", () => {
    let seed = 7;
    const random = (n: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % n;
    const parts = ["\u001b", "[", "]", "31m", "\u009b", "\u009d", "\u0007", "\u001b\\", "\u202e", "\u0000", "x", "é", "😀", "\r", ";", "\u2067", "P", "\u0090"];
    for (let round = 0; round < 3_000; round += 1) {
      const line = Array.from({ length: random(14) }, () => parts[random(parts.length)]!).join("");
      expect(plainLine(line), JSON.stringify(line)).not.toMatch(RAW);
    }
  });

  it("keeps its colours", () => {
    const styles = (line: string) => spansOf(line, PLAIN).map(({ text, style }) => [text, style.fg, style.bg, style.bold]);
    expect(styles("\u001b[1;31;44mA\u001b[22mB\u001b[39;49mC\u001b[97mD")).toEqual([["A", 1, 4, true], ["B", 1, 4, false], ["C", null, null, false], ["D", 15, null, false]]);
    expect(styles("\u001b[38;5;208mA\u001b[38;2;1;2;3mB\u001b[38:2::255:0:16mC")).toEqual([["A", 208, null, false], ["B", "#010203", null, false], ["C", "#ff0010", null, false]]);
  });
});

describe("lines", () => {
  it("end at line ends of both kinds; a carriage return alone begins a line anew", () => {
    expect(rowsOf("one\r\ntwo\n\nthree")).toEqual(["one", "two", "", "three"]);
    expect(rowsOf("10%\r20%\r30%\ndone\n")).toEqual(["30%", "done"]);
    expect(rowsOf("10%\r20%\r")).toEqual(["20%"]);
  });

  it("carry a colour on to the next line", () => {
    const text = "\u001b[32mone\ntwo\u001b[0m\nthree";
    expect(linesOf(text).style.map(({ fg }) => fg)).toEqual([null, 2, null]);
  });

  it("without an end are cut into rows, never within a character or a sequence", () => {
    const text = `${"x".repeat(LINE_CHARS_MAX - 1)}😀${"y".repeat(50)}`;
    expect(rowsOf(text)).toEqual(["x".repeat(LINE_CHARS_MAX - 1), `😀${"y".repeat(50)}`]);
    const coloured = `${"x".repeat(LINE_CHARS_MAX - 2)}\u001b[31m${"y".repeat(50)}`;
    expect(rowsOf(coloured)).toEqual(["x".repeat(LINE_CHARS_MAX - 2), "y".repeat(50)]);
    expect(linesOf(coloured).style.map(({ fg }) => fg)).toEqual([null, null]);
  });

  it("know where the unfinished one begins", () => {
    expect(linesOf("one\ntwo")).toMatchObject({ closed: 4, open: 4 });
    expect(linesOf("one\n")).toMatchObject({ closed: 4, open: 4 });
    expect(linesOf("one\n10%\r20%")).toMatchObject({ closed: 4, open: 8 });
    expect(linesOf("z".repeat(LINE_CHARS_MAX * 2 + 5))).toMatchObject({ closed: LINE_CHARS_MAX * 2, open: LINE_CHARS_MAX * 2 });
  });
});

it("finds the last line that says something", () => {
  expect(lastLine("one\n\u001b[32mtwo\u001b[0m \n\n \n")).toBe("two");
  expect(lastLine("a\n10%\r20%\r")).toBe("20%");
  expect(lastLine("")).toBe("");
});
