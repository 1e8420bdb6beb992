// How many cells a character takes. The screen model in Rust decides; its table is generated, so that a snapshot and the live view
// never disagree. The tables that xterm.js and its add-ons bring are older and give newer emoji one cell.

import type { IUnicodeVersionProvider } from "@xterm/xterm";
import table from "../../generated/widths.json";

/** Stretches of characters that do not take one cell: first, last, width. In order. */
const STRETCHES = table as [number, number, number][];

export function cellWidth(codepoint: number): 0 | 1 | 2 {
  // The control characters are for the parser; what it passes on takes no cell.
  if (codepoint < 32) return 0;
  if (codepoint < 127) return 1;
  let low = 0;
  let high = STRETCHES.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last, width] = STRETCHES[middle]!;
    if (codepoint < first) high = middle - 1;
    else if (codepoint > last) low = middle + 1;
    else return width as 0 | 2;
  }
  return 1;
}

/** xterm.js packs what it knows of a character: bit 0 says that it joins the one before, bits 1 and 2 are its width. */
const widthOf = (properties: number) => (properties >> 1) & 3;
const packed = (width: number, joins: boolean) => ((width & 3) << 1) | (joins ? 1 : 0);

export const CELL_WIDTHS: IUnicodeVersionProvider = {
  version: "carillon",
  wcwidth: cellWidth,
  charProperties(codepoint, preceding) {
    const width = cellWidth(codepoint);
    // A combining character joins the one before and takes over its width, unless there is nothing to join.
    const before = preceding === 0 ? 0 : widthOf(preceding);
    const joins = width === 0 && before > 0;
    return packed(joins ? before : width, joins);
  },
};
