// Which editors work in a terminal, and how each is begun in a directory. Those that open a window of their own are known to the shell.

/** Of these names, those that take a directory and show what is in it. */
const TAKES_DIRECTORY = new Set(["vi", "vim", "nvim", "hx", "helix", "emacs", "emacsclient"]);
/** Those that begin with an empty text. */
const TAKES_NONE = new Set(["nano", "pico", "micro", "kak", "joe", "jed", "ne", "mg", "vis", "zile", "nvi", "mcedit", "dte", "tilde", "editor"]);
/** Emacs opens a window unless it is told to stay in its terminal. */
const STAYS = new Set(["-nw", "--no-window-system", "-t", "--tty"]);

/** The name of a program without its directory, and without the flavour that Debian puts behind it: `vim.basic`. */
export function editorName(program: string): string {
  const name = program.split("/").at(-1)!;
  return /^(vim|emacs)\b/.exec(name)?.[0] ?? name;
}

/** The command that begins this editor in a terminal that stands in the directory; null for one that needs a window, or is not known. */
export function inTerminal(command: readonly string[]): string[] | null {
  const [program, ...args] = command;
  if (program === undefined) return null;
  const name = editorName(program);
  const stays = args.some((arg) => STAYS.has(arg));
  if (name === "emacsclient" && !stays) return null;
  if (TAKES_DIRECTORY.has(name)) return [program, ...(name === "emacs" && !stays ? ["-nw"] : []), ...args, "."];
  return TAKES_NONE.has(name) ? [program, ...args] : null;
}
