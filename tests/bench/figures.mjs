// What was measured: medians, and the table at the end. An aim is told as met or not met; nothing here fails for missing one.

export function percentile(values, share) {
  if (values.length === 0) throw new Error("nothing was measured");
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

export const median = (values) => percentile(values, 0.5);

/** Units with how many digits behind the point they deserve. */
const DIGITS = { ms: 1, MiB: 1, "MB/s": 1, "tasks/s": 1, s: 2, x: 2, KiB: 0, "": 0 };

export function shown(value, unit) {
  const digits = value !== 0 && Math.abs(value) < 1 && unit !== "" ? 2 : (DIGITS[unit] ?? 1);
  return `${value.toFixed(digits)}${unit && unit !== "x" ? " " : ""}${unit}`;
}

export class Figures {
  rows = [];

  /**
   * Keeps one figure and prints it.
   * @param {string} what
   * @param {number} value
   * @param {string} unit
   * @param {{ reference?: [string, number], atMost?: number, atLeast?: number, ratioAtMost?: number, ratioAtLeast?: number, note?: string }} more
   *   `reference` is what was measured beside it, in the same unit. The aims are for the value, or for its ratio to the reference.
   */
  add(what, value, unit, more = {}) {
    const [name, reference] = more.reference ?? [null, null];
    const ratio = reference === null ? null : value / reference;
    const { aim, met } = judged(value, unit, ratio, more);
    this.#keep({ what, value, unit, reference, name, ratio, aim, met, note: more.note ?? "" });
  }

  /** What could not be measured here, and why: that is no failure of the measurement. */
  skip(what, why) {
    this.#keep({ what, value: null, unit: "", reference: null, name: null, ratio: null, aim: "", met: null, note: `not run: ${why}` });
  }

  #keep(row) {
    this.rows.push(row);
    const parts = [row.value === null ? "" : shown(row.value, row.unit)];
    if (row.reference !== null) parts.push(`${row.name}: ${shown(row.reference, row.unit)}, ratio ${shown(row.ratio, "x")}`);
    if (row.aim) parts.push(`aim ${row.aim}: ${row.met ? "met" : "NOT MET"}`);
    if (row.note) parts.push(row.note);
    console.log(`  ${row.what}: ${parts.filter(Boolean).join("; ")}`);
  }

  /** The table, as text. */
  table() {
    const head = ["figure", "value", "reference", "ratio", "aim", ""];
    const lines = this.rows.map((row) => [
      row.what,
      row.value === null ? row.note : shown(row.value, row.unit),
      row.reference === null ? "" : `${shown(row.reference, row.unit)} (${row.name})`,
      row.ratio === null ? "" : shown(row.ratio, "x"),
      row.aim,
      row.met === null ? "" : row.met ? "met" : "NOT MET",
    ]);
    const widths = head.map((_, at) => Math.max(...[head, ...lines].map((line) => [...line[at]].length)));
    const format = (line) => line.map((cell, at) => cell + " ".repeat(widths[at] - [...cell].length)).join("  ").trimEnd();
    return [format(head), widths.map((width) => "-".repeat(width)).join("  "), ...lines.map(format)].join("\n");
  }
}

function judged(value, unit, ratio, { atMost, atLeast, ratioAtMost, ratioAtLeast }) {
  if (atMost !== undefined) return { aim: `≤ ${shown(atMost, unit)}`, met: value <= atMost };
  if (atLeast !== undefined) return { aim: `≥ ${shown(atLeast, unit)}`, met: value >= atLeast };
  if (ratioAtMost !== undefined) return { aim: `≤ ${shown(ratioAtMost, "x")}`, met: ratio <= ratioAtMost };
  if (ratioAtLeast !== undefined) return { aim: `≥ ${shown(ratioAtLeast, "x")}`, met: ratio >= ratioAtLeast };
  return { aim: "", met: null };
}
