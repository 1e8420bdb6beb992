// The terminal's themes: the sixteen colours that logs have, too, and what only a terminal has.

import type { ITheme } from "@xterm/xterm";
import type { Scheme } from "../../shared/hooks";
import { SIXTEEN } from "../../shared/palette";

export const MONO = 'ui-monospace, "JetBrains Mono", "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace';

const NAMES = [
  "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
  "brightBlack", "brightRed", "brightGreen", "brightYellow", "brightBlue", "brightMagenta", "brightCyan", "brightWhite",
] as const;

const sixteen = (scheme: Scheme): ITheme => Object.fromEntries(NAMES.map((name, number) => [name, SIXTEEN[scheme][number]]));

export const DARK: ITheme = {
  background: "#16181d", foreground: "#d7dae0", cursor: "#8fb4ff", cursorAccent: "#16181d",
  selectionBackground: "#35507fa6", selectionInactiveBackground: "#3a404d99",
  scrollbarSliderBackground: "#ffffff1f", scrollbarSliderHoverBackground: "#ffffff33", scrollbarSliderActiveBackground: "#ffffff4d",
  ...sixteen("dark"),
};

export const LIGHT: ITheme = {
  background: "#ffffff", foreground: "#24292f", cursor: "#2f5fd0", cursorAccent: "#ffffff",
  selectionBackground: "#b6d0ff99", selectionInactiveBackground: "#d5dae299",
  scrollbarSliderBackground: "#0000001f", scrollbarSliderHoverBackground: "#00000033", scrollbarSliderActiveBackground: "#0000004d",
  ...sixteen("light"),
};
