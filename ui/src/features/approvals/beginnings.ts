// The beginnings of a command by which commands like it can be allowed. The engine compares word by word; of a line for a shell it lets
// one plain command pass and nothing else.

/** Signs by which a shell makes more of a line than one command; a line with one of them is always asked for. */
const SHELL_SIGNS = /[;|&$`<>(){}\n\r\\'"*?[~#!]/;
const SHELLS: readonly unknown[] = ["sh", "/bin/sh", "bash", "/bin/bash"];
/** Programs that run whatever they are given. */
const RUN_ANYTHING: ReadonlySet<string> = new Set(["sh", "bash", "zsh", "fish", "dash", "env", "sudo", "doas", "xargs", "nohup", "time", "timeout", "node", "deno", "bun", "python", "python3", "perl", "ruby", "ssh", "docker", "npx", "find", "eval", "exec"]);
const CHOICES_MAX = 4;

export type Beginnings = { choices: string[]; usual: number } | { reason: string };

export function beginningsOf(command: readonly string[]): Beginnings {
  const [shell, flag, line] = command;
  const byShell = command.length === 3 && SHELLS.includes(shell) && flag === "-c";
  if (byShell && SHELL_SIGNS.test(line!)) return { reason: "This line uses signs of the shell, so no beginning would cover it: such lines are asked for each time." };
  const all = byShell ? line!.split(/\s+/).filter(Boolean) : [...command];
  const odd = all.findIndex((word) => word === "" || /\s/.test(word) || word.length > 200);
  const words = (odd < 0 ? all : all.slice(0, odd)).slice(0, CHOICES_MAX);
  if (words.length === 0) return { reason: "Its first word has blanks in it, so no beginning can be written for it." };
  // A word that only parts options from the rest says nothing by itself.
  const choices = words.map((_, at) => words.slice(0, at + 1).join(" ")).filter((_, at) => words[at] !== "--");
  // A program and its subcommand say best what is meant; a program alone would allow too much of some.
  return { choices, usual: Math.min(choices.length, words[1]?.startsWith("-") && !isBroad(choices[0]!) ? 1 : 2) - 1 };
}

/** Whether a beginning lets an agent run anything it likes. */
export function isBroad(beginning: string): boolean {
  const words = beginning.split(" ");
  const program = words[0]!.split("/").at(-1)!;
  return RUN_ANYTHING.has(program) && words.slice(1).every((word) => word.startsWith("-"));
}
