// The sixteen colours of terminals and logs, chosen so that each is legible on the background that it stands on (4.5 : 1 or better
// for all but black and white themselves). In the order of their numbers: black, red, green, yellow, blue, magenta, cyan, white, and
// the same again bright.

import type { Scheme } from "./hooks";

export const SIXTEEN: Record<Scheme, readonly string[]> = {
  dark: [
    "#2b2f38", "#f2777a", "#8ccf7e", "#e5c76b", "#7aa7f7", "#c792ea", "#67cfd8", "#d7dae0",
    "#8a93a3", "#ff9a9c", "#a9e39c", "#f4dc8f", "#a3c3ff", "#dab3f5", "#93e4ea", "#ffffff",
  ],
  light: [
    "#24292f", "#c0222b", "#1a7434", "#85600a", "#1f5fc4", "#8a3bb8", "#0b6f7c", "#6b7280",
    "#57606a", "#a8121c", "#116329", "#6f4e00", "#0a4bb0", "#722aa0", "#075c67", "#4b5563",
  ],
};
