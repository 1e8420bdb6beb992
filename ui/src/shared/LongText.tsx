import { useState } from "react";
import "./prose.css";
import { ids } from "./testids";
import { plural, readable } from "./text";

interface Props { text: string; lines?: number; chars?: number; className?: string; testid?: string }

/** A text as it is, with its lines. Of a long one the beginning is shown, and the rest when it is asked for. */
export function LongText({ text, lines = 8, chars = 900, className = "", testid }: Props) {
  const [whole, setWhole] = useState(false);
  const cut = whole ? text.length : cutAt(text, lines, chars);
  const more = text.slice(cut);
  return (
    <div className={`long-text ${className}`} data-testid={testid}>
      <p>{readable(text.slice(0, cut))}{more !== "" && "…"}</p>
      {(more !== "" || whole) && (
        <button type="button" className="link" aria-expanded={whole} onClick={() => setWhole(!whole)} data-testid={ids.turnMore}>
          {whole ? "Show less" : `Show all (${plural(text.split("\n").length, "line")})`}
        </button>
      )}
    </div>
  );
}

/** Where the text is cut: behind its last whole line that fits. A little more than fits is no reason to cut. */
function cutAt(text: string, lines: number, chars: number): number {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    const end = text.indexOf("\n", at);
    if (end < 0) return text.length <= chars * 1.3 ? text.length : chars;
    if (end > chars) return Math.min(end, Math.max(chars, at));
    at = end + 1;
  }
  return text.length - at < 120 && text.split("\n").length <= lines + 2 ? text.length : Math.max(0, at - 1);
}
