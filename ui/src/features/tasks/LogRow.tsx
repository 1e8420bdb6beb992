import { type CSSProperties, memo, type ReactNode } from "react";
import type { Scheme } from "../../shared/hooks";
import { SIXTEEN } from "../../shared/palette";
import { ids } from "../../shared/testids";
import { byteSize } from "../../shared/text";
import { type Span, spansOf, type Style } from "./ansi";

export const ROW_PX = 18;

interface Props {
  top: number;
  line: string;
  style: Style;
  scheme: Scheme;
  /** What is searched for, in small letters; empty when nothing is. */
  wanted: string;
  /** Where in this row the match stands that is gone to. */
  current: number | null;
}

export const LogRow = memo(function LogRow({ top, line, style, scheme, wanted, current }: Props) {
  const spans = spansOf(line, style);
  return (
    <div className="log-row" style={{ top }} data-testid={ids.logRow}>
      {wanted === "" ? spans.map((span, at) => <Piece key={at} span={span} scheme={scheme} />) : marked(spans, wanted, current, scheme)}
    </div>
  );
});

export function GapRow({ top, bytes }: { top: number; bytes: number }) {
  return (
    <div className="log-row log-gap" style={{ top }} data-testid={ids.logGap}>
      <span>{byteSize(bytes)} of output is not kept here</span>
    </div>
  );
}

function Piece({ span, scheme }: { span: Span; scheme: Scheme }) {
  const look = lookOf(span.style, scheme);
  return look ? <span style={look}>{span.text}</span> : <>{span.text}</>;
}

/** The pieces of a row with what was found marked in it. */
function marked(spans: readonly Span[], wanted: string, current: number | null, scheme: Scheme): ReactNode[] {
  const whole = spans.map(({ text }) => text).join("");
  const lower = whole.toLowerCase();
  const borders: { from: number; to: number }[] = [];
  // A letter whose small form has another length would move all that follows; such a row is left unmarked.
  if (lower.length === whole.length) {
    for (let from = lower.indexOf(wanted); from >= 0; from = lower.indexOf(wanted, from + wanted.length)) borders.push({ from, to: from + wanted.length });
  }
  const pieces: ReactNode[] = [];
  let begin = 0;
  for (const span of spans) {
    let at = begin;
    const end = begin + span.text.length;
    const put = (to: number, mark: number | null) => {
      if (to <= at) return;
      const piece = <Piece key={at} span={{ text: whole.slice(at, to), style: span.style }} scheme={scheme} />;
      pieces.push(mark === null ? piece : <mark key={at} className={mark === current ? "current" : undefined}>{piece}</mark>);
      at = to;
    };
    for (const { from, to } of borders) {
      if (to <= begin || from >= end) continue;
      put(Math.max(begin, from), null);
      put(Math.min(end, to), from);
    }
    put(end, null);
    begin = end;
  }
  return pieces;
}

function lookOf(style: Style, scheme: Scheme): CSSProperties | null {
  const { fg, bg, bold, dim, italic, underline, strike, inverse } = style;
  if (fg === null && bg === null && !bold && !dim && !italic && !underline && !strike && !inverse) return null;
  const front = (inverse ? bg : fg) ?? (inverse ? GROUND[scheme] : null);
  const back = (inverse ? fg : bg) ?? (inverse ? TEXT[scheme] : null);
  const lines = [underline ? "underline" : "", strike ? "line-through" : ""].filter(Boolean).join(" ");
  return {
    color: front === null && back === null ? undefined : readable(rgbOf(front ?? TEXT[scheme], scheme), rgbOf(back ?? GROUND[scheme], scheme)),
    backgroundColor: back === null ? undefined : css(rgbOf(back, scheme)),
    fontWeight: bold ? 650 : undefined, opacity: dim ? 0.65 : undefined, fontStyle: italic ? "italic" : undefined, textDecoration: lines || undefined,
  };
}

type Rgb = [number, number, number];

/** The ground of a log and the usual colour on it, as in theme.css. */
const GROUND: Record<Scheme, string> = { light: "#ffffff", dark: "#16181d" };
const TEXT: Record<Scheme, string> = { light: "#1f242c", dark: "#dde1e8" };

function rgbOf(colour: number | string, scheme: Scheme): Rgb {
  if (typeof colour === "number" && colour >= 16) {
    const level = (n: number) => (n === 0 ? 0 : 55 + n * 40);
    const cube = colour - 16;
    if (colour < 232) return [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)];
    const grey = 8 + (colour - 232) * 10;
    return [grey, grey, grey];
  }
  const hex = typeof colour === "number" ? SIXTEEN[scheme][colour]! : colour;
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as Rgb;
}

const css = (rgb: Rgb) => `rgb(${rgb.map(Math.round).join(", ")})`;

const CONTRAST_MIN = 3.5;

/** A program chooses colours for a ground that it only guesses: where text could not be read, it is moved towards black or white. */
function readable(front: Rgb, back: Rgb): string {
  const goal: Rgb = luminance(back) > 0.3 ? [0, 0, 0] : [255, 255, 255];
  let mixed = front;
  for (let share = 0.2; contrast(mixed, back) < CONTRAST_MIN && share <= 1.01; share += 0.2) {
    mixed = front.map((part, at) => part + (goal[at]! - part) * share) as Rgb;
  }
  return css(mixed);
}

function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((part) => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4)) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
