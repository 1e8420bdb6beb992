// The colours of both schemes are legible: text at 4.5 to 1 on each ground that it stands on, signs and edges of fields at 3 to 1.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const css = readFileSync(join(import.meta.dirname, "theme.css"), "utf8");

type Rgb = readonly [number, number, number];

function coloursOf(scheme: "light" | "dark"): (name: string) => { rgb: Rgb; alpha: number } {
  const block = css.slice(css.indexOf(`:root[data-theme="${scheme}"] {`));
  const inside = block.slice(0, block.indexOf("}"));
  return (name) => {
    const hex = new RegExp(`--${name}: #([0-9a-f]{6})([0-9a-f]{2})?;`).exec(inside);
    if (!hex) throw new Error(`${scheme} has no colour ${name}`);
    const [r, g, b] = [0, 2, 4].map((at) => Number.parseInt(hex[1]!.slice(at, at + 2), 16)) as [number, number, number];
    return { rgb: [r, g, b], alpha: hex[2] === undefined ? 1 : Number.parseInt(hex[2], 16) / 255 };
  };
}

const over = (top: { rgb: Rgb; alpha: number }, ground: Rgb): Rgb => top.rgb.map((each, at) => each * top.alpha + ground[at]! * (1 - top.alpha)) as unknown as Rgb;

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((each) => (each / 255 <= 0.03928 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light! + 0.05) / (dark! + 0.05);
}

describe.each(["light", "dark"] as const)("in %s", (scheme) => {
  const colour = coloursOf(scheme);
  const grounds = ["ground", "side", "head", "raised"];
  const washes = [null, "hover", "pressed", "accent-soft", "warn-soft", "bad-soft"];

  it("text and muted text can be read on every ground, also under the pointer", () => {
    const bad = ["text", "muted"].flatMap((text) => grounds.flatMap((ground) => washes.map((wash) => {
      const below = colour(ground).rgb;
      const on = wash === null ? below : over(colour(wash), below);
      return { pair: `${text} on ${ground}${wash === null ? "" : ` with ${wash}`}`, ratio: contrast(colour(text).rgb, on) };
    }))).filter(({ ratio }) => ratio < 4.5);
    expect(bad).toEqual([]);
  });

  it("words in a colour can be read on every ground", () => {
    const bad = ["accent", "ok", "busy", "attention", "limited", "bad"].flatMap((word) => grounds.map((ground) => ({ pair: `${word} on ${ground}`, ratio: contrast(colour(word).rgb, colour(ground).rgb) }))).filter(({ ratio }) => ratio < 4.5);
    expect(bad).toEqual([]);
  });

  it("the words on a coloured button or flag can be read", () => {
    const pairs = [["accent-text", "accent"], ["accent-text", "accent-hover"], ["ground", "attention"], ["ground", "bad"]] as const;
    expect(pairs.filter(([text, on]) => contrast(colour(text).rgb, colour(on).rgb) < 4.5)).toEqual([]);
  });

  it("what has the focus is told by a line that is seen", () => {
    expect(grounds.filter((ground) => contrast(colour("accent").rgb, colour(ground).rgb) < 3)).toEqual([]);
  });
});
