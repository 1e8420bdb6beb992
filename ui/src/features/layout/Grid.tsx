// Lays out a project's panes and the dividers between them. All panes are siblings that are moved by their style alone: a split or
// a close never makes React build a pane anew, so no terminal has to attach again.

import { type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode, useMemo, useRef, useState } from "react";
import "./layout.css";
import { arrange, type Divider, type Layout, MIN_RATIO, panesOf, type Pane, type Rect } from "../../state/layout";
import { ids } from "../../shared/testids";

const STEP = 0.02;

interface Props {
  layout: Layout;
  onRatio: (split: string, ratio: number) => void;
  renderPane: (pane: Pane, at: { focused: boolean; visible: boolean; zoomed: boolean; alone: boolean }) => ReactNode;
}

export function Grid({ layout, onRatio, renderPane }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { panes, dividers } = useMemo(() => arrange(layout.root), [layout.root]);
  // In the order of their ids, which never changes: React then has nothing to move, and moving an element would cost it its focus.
  const all = useMemo(() => panesOf(layout.root).sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true })), [layout.root]);
  const whole: Rect = { left: 0, top: 0, width: 1, height: 1 };
  return (
    <div className="grid" ref={box} data-testid={ids.grid}>
      {all.map((pane) => {
        const zoomed = layout.zoomed === pane.id;
        const visible = layout.zoomed === null || zoomed;
        const focused = layout.focused === pane.id;
        return (
          <div key={pane.id} className="cell" style={cellStyle(zoomed ? whole : panes.get(pane.id)!, visible)}>
            {renderPane(pane, { focused, visible, zoomed, alone: all.length === 1 })}
          </div>
        );
      })}
      {layout.zoomed === null && dividers.map((divider) => (
        <DividerBar key={divider.id} divider={divider} box={() => box.current!.getBoundingClientRect()} onRatio={(ratio) => onRatio(divider.id, ratio)} />
      ))}
    </div>
  );
}

const share = (part: number) => `${part * 100}%`;

function cellStyle(rect: Rect, visible: boolean): CSSProperties {
  return {
    left: share(rect.left), top: share(rect.top), width: share(rect.width), height: share(rect.height),
    display: visible ? undefined : "none",
  };
}

interface DividerProps { divider: Divider; box: () => DOMRect; onRatio: (ratio: number) => void }

function DividerBar({ divider, box, onRatio }: DividerProps) {
  const [dragging, setDragging] = useState(false);
  const { axis, area, ratio } = divider;
  const row = axis === "row";
  const style: CSSProperties = row
    ? { left: share(area.left + area.width * ratio), top: share(area.top), height: share(area.height) }
    : { top: share(area.top + area.height * ratio), left: share(area.left), width: share(area.width) };

  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (!dragging) return;
    const outer = box();
    const at = row ? (event.clientX - outer.left) / outer.width : (event.clientY - outer.top) / outer.height;
    onRatio(row ? (at - area.left) / area.width : (at - area.top) / area.height);
  };
  const begin = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragging(true);
  };
  const keyDown = (event: KeyboardEvent) => {
    const [less, more] = row ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const next =
      event.key === less ? ratio - STEP
      : event.key === more ? ratio + STEP
      : event.key === "Home" ? MIN_RATIO
      : event.key === "End" ? 1 - MIN_RATIO
      : event.key === "Enter" ? 0.5 : null;
    if (next === null) return;
    event.preventDefault();
    onRatio(next);
  };

  return (
    <div className={`divider ${axis} ${dragging ? "dragging" : ""}`} style={style} role="separator" tabIndex={0} data-testid={ids.divider}
      aria-orientation={row ? "vertical" : "horizontal"} aria-label="Divider between panes; arrow keys move it, Enter makes both sides alike"
      aria-valuenow={Math.round(ratio * 100)} aria-valuemin={Math.round(MIN_RATIO * 100)} aria-valuemax={Math.round((1 - MIN_RATIO) * 100)}
      onPointerDown={begin} onPointerMove={drag} onPointerUp={() => setDragging(false)} onPointerCancel={() => setDragging(false)}
      onDoubleClick={() => onRatio(0.5)} onKeyDown={keyDown} />
  );
}
