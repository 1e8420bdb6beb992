/** Splits a line into arguments as a shell would, as far as quotes and backslashes go; nothing is expanded. */
export function splitArguments(line: string): string[] {
  const found: string[] = [];
  let current: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]!;
    if (char === "\\" && quote !== "'" && at + 1 < line.length) {
      at += 1;
      current = (current ?? "") + line[at]!;
    } else if (quote !== null) {
      if (char === quote) quote = null;
      else current = (current ?? "") + char;
    } else if (char === "'" || char === '"') {
      quote = char;
      current ??= "";
    } else if (/\s/.test(char)) {
      if (current !== null) found.push(current);
      current = null;
    } else {
      current = (current ?? "") + char;
    }
  }
  if (current !== null) found.push(current);
  return found;
}

/** The line that `splitArguments` takes apart into just these arguments. */
export function joinArguments(args: readonly string[]): string {
  return args.map((arg) => (/^[^\s'"\\]+$/.test(arg) ? arg : `'${arg.replace(/'/g, "'\\''")}'`)).join(" ");
}
