// The terminal's colours, chosen so that each of the sixteen is legible on the background that it stands on (4.5 : 1 or better for
// all but black and white themselves; themes.test.ts computes it).

import type { ITheme } from "@xterm/xterm";

export const MONO = 'ui-monospace, "JetBrains Mono", "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace';

export const DARK: ITheme = {
  background: "#16181d", foreground: "#d7dae0", cursor: "#8fb4ff", cursorAccent: "#16181d",
  selectionBackground: "#35507fa6", selectionInactiveBackground: "#3a404d99",
  scrollbarSliderBackground: "#ffffff1f", scrollbarSliderHoverBackground: "#ffffff33", scrollbarSliderActiveBackground: "#ffffff4d",
  black: "#2b2f38", red: "#f2777a", green: "#8ccf7e", yellow: "#e5c76b", blue: "#7aa7f7", magenta: "#c792ea", cyan: "#67cfd8", white: "#d7dae0",
  brightBlack: "#8a93a3", brightRed: "#ff9a9c", brightGreen: "#a9e39c", brightYellow: "#f4dc8f", brightBlue: "#a3c3ff",
  brightMagenta: "#dab3f5", brightCyan: "#93e4ea", brightWhite: "#ffffff",
};

export const LIGHT: ITheme = {
  background: "#ffffff", foreground: "#24292f", cursor: "#2f5fd0", cursorAccent: "#ffffff",
  selectionBackground: "#b6d0ff99", selectionInactiveBackground: "#d5dae299",
  scrollbarSliderBackground: "#0000001f", scrollbarSliderHoverBackground: "#00000033", scrollbarSliderActiveBackground: "#0000004d",
  black: "#24292f", red: "#c0222b", green: "#1a7434", yellow: "#85600a", blue: "#1f5fc4", magenta: "#8a3bb8", cyan: "#0b6f7c", white: "#6b7280",
  brightBlack: "#57606a", brightRed: "#a8121c", brightGreen: "#116329", brightYellow: "#6f4e00", brightBlue: "#0a4bb0",
  brightMagenta: "#722aa0", brightCyan: "#075c67", brightWhite: "#4b5563",
};
