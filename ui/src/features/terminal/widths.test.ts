import { Terminal } from "@xterm/xterm";
import { expect, test } from "vitest";
import { CELL_WIDTHS, cellWidth } from "./widths";

const WIDTHS: [string, number][] = [
  ["a", 1], ["é", 1], ["—", 1], ["\u0301", 0], ["\u200d", 0],
  ["✅", 2], ["⌛", 2], ["鐘", 2], ["한", 2], ["🦀", 2],
  // Newer than the tables that xterm.js brings.
  ["🫨", 2], ["🪿", 2],
  // Two of these make a flag of two cells.
  ["🇨", 1],
];

test.each(WIDTHS)("%s takes %i cells", (text, width) => {
  expect(cellWidth(text.codePointAt(0)!)).toBe(width);
});

test("a terminal counts by this table", async () => {
  const terminal = new Terminal({ cols: 40, rows: 4, allowProposedApi: true });
  terminal.unicode.register(CELL_WIDTHS);
  terminal.unicode.activeVersion = CELL_WIDTHS.version;
  const column = async (text: string) => {
    await new Promise<void>((done) => terminal.write(`\r\n${text}`, done));
    return terminal.buffer.active.cursorX;
  };
  expect(await column("🫨x")).toBe(3);
  expect(await column("e\u0301x")).toBe(2);
  expect(await column("👩\u200d💻")).toBe(4);
  expect(await column("🇨🇭")).toBe(2);
});
