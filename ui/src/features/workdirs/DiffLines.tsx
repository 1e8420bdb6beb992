import { useCallback, useEffect, useImperativeHandle, useRef, useState } from "react";
import type { Ref } from "react";
import { ids } from "../../shared/testids";
import { type DiffLine, lineText } from "./diff";

const ROW_PX = 18;
const OVERSCAN_ROWS = 30;
/** Before anything was measured. */
const HEIGHT_BEFORE_PX = 600;

export interface DiffPlace { goTo: (line: number) => void; top: () => number }

/** The lines of a difference. Only those in sight are there, so a large one costs no more than a small one. */
export function DiffLines({ lines, place }: { lines: readonly DiffLine[]; place: Ref<DiffPlace> }) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: HEIGHT_BEFORE_PX });
  const measure = useCallback(() => setView({ top: box.current!.scrollTop, height: box.current!.clientHeight || HEIGHT_BEFORE_PX }), []);
  useEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [measure]);
  // The lines come after the dialog has opened. Whoever has not gone elsewhere in it meanwhile reads them by keyboard.
  useEffect(() => {
    const at = document.activeElement;
    if (at?.closest('[role="dialog"]')?.contains(box.current) && !at.closest(".diff-files")) box.current!.focus({ preventScroll: true });
  }, []);
  useImperativeHandle(place, () => ({
    goTo: (line) => {
      box.current!.scrollTop = line * ROW_PX;
      measure();
    },
    top: () => Math.round(box.current!.scrollTop / ROW_PX),
  }), [measure]);
  const first = Math.max(0, Math.floor(view.top / ROW_PX) - OVERSCAN_ROWS);
  const end = Math.min(lines.length, Math.ceil((view.top + view.height) / ROW_PX) + OVERSCAN_ROWS);
  return (
    <div ref={box} className="diff-lines mono" tabIndex={0} role="document" aria-label="The difference" data-autofocus data-testid={ids.diffLines} onScroll={measure}>
      <div className="diff-rows" style={{ height: lines.length * ROW_PX }}>
        {/* As wide as its widest line, so that the colour of a line goes as far as one can scroll. */}
        <div className="diff-window" style={{ top: first * ROW_PX }}>
          {lines.slice(first, end).map((line, index) => <div key={first + index} className={`diff-row ${line.kind}`} data-testid={ids.diffRow} data-kind={line.kind}>{lineText(line)}</div>)}
        </div>
      </div>
    </div>
  );
}
