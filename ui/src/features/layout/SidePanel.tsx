// The panel beside the panes or below them. What it shows is given to it; it has the edge, the tabs, and the ways to move and to hide it.

import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from "react";
import "./layout.css";
import { PANEL_SHARE, type PanelView, type TasksPanel as Panel } from "../../state/layout";
import { IconButton } from "../../shared/Button";
import { Icon, type IconName } from "../../shared/Icon";
import { type ShortcutName, withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";

export interface PanelTab { view: PanelView; label: string; icon: IconName; shortcut: ShortcutName }

interface Props {
  panel: Panel;
  tabs: readonly PanelTab[];
  view: PanelView;
  onView: (view: PanelView) => void;
  onDock: (dock: Panel["dock"]) => void;
  onShare: (share: number) => void;
  onClose: () => void;
  /** Beside the tabs: what can be done in what is shown. */
  buttons?: ReactNode;
  children: ReactNode;
}

export function SidePanel({ panel, tabs, view, onView, onDock, onShare, onClose, buttons, children }: Props) {
  const box = useRef<HTMLElement>(null);
  const size = `${panel.share * 100}%`;
  const right = panel.dock === "right";
  const shown = tabs.find((tab) => tab.view === view)!;
  // Where not all tabs have room, the one on show has it.
  useEffect(() => {
    box.current?.querySelector('[role="tab"][aria-selected="true"]')?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [view]);
  const list = () => box.current?.querySelector<HTMLElement>("[data-panel-list]");
  // What is in the panel has its own Escape; from its head the way leads into it.
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    list()?.focus();
  };
  return (
    <>
      <PanelEdge panel={panel} box={() => box.current!.parentElement!.getBoundingClientRect()} onShare={onShare} />
      <aside ref={box} className={`side-panel ${panel.dock}`} style={right ? { width: size } : { height: size }} aria-label={shown.label} data-testid={ids.panel} data-dock={panel.dock} data-view={view}
        onKeyDown={keyDown}>
        <header className="panel-head">
          <div className="panel-tabs" role="tablist" aria-label="What the panel shows" onKeyDown={moveBetweenTabs}>
            {tabs.map((tab) => (
              <button key={tab.view} type="button" role="tab" className="panel-tab" aria-selected={tab.view === view} tabIndex={tab.view === view ? 0 : -1} aria-label={tab.label} title={withKeys(tab.label, tab.shortcut)}
                data-testid={ids.panelTab} data-view={tab.view} onClick={() => onView(tab.view)}><Icon name={tab.icon} /><span className="panel-tab-word">{tab.label}</span></button>
            ))}
          </div>
          <span className="grow" />
          {buttons}
          <IconButton icon={right ? "dockBottom" : "dockRight"} label={right ? "Move to the bottom" : "Move to the right"} onClick={() => onDock(right ? "bottom" : "right")} testid={ids.panelDock} />
          <IconButton icon="close" label={withKeys(`Hide ${shown.label === "Inbox" ? "the inbox" : `the ${shown.label.toLowerCase()}`}`, shown.shortcut)} onClick={onClose} testid={ids.panelClose} />
        </header>
        {children}
      </aside>
    </>
  );
}

function moveBetweenTabs(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')];
  const next = all[(all.indexOf(document.activeElement as HTMLElement) + step + all.length) % all.length];
  event.preventDefault();
  next?.focus();
  next?.click();
}

const STEP = 0.02;

/** The edge by which the panel is made larger or smaller. */
function PanelEdge({ panel, box, onShare }: { panel: Panel; box: () => DOMRect; onShare: (share: number) => void }) {
  const [dragging, setDragging] = useState(false);
  const right = panel.dock === "right";
  const drag = (event: PointerEvent) => {
    if (!dragging) return;
    const outer = box();
    onShare(right ? (outer.right - event.clientX) / outer.width : (outer.bottom - event.clientY) / outer.height);
  };
  const begin = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragging(true);
  };
  const keyDown = (event: KeyboardEvent) => {
    const [more, less] = right ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (event.key !== more && event.key !== less) return;
    event.preventDefault();
    onShare(panel.share + (event.key === more ? STEP : -STEP));
  };
  useEffect(() => setDragging(false), [panel.dock]);
  return (
    <div className={`panel-edge ${panel.dock} ${dragging ? "dragging" : ""}`} role="separator" tabIndex={0} data-testid={ids.panelEdge}
      aria-orientation={right ? "vertical" : "horizontal"} aria-label="Edge of the panel; arrow keys move it"
      aria-valuenow={Math.round(panel.share * 100)} aria-valuemin={PANEL_SHARE.min * 100} aria-valuemax={PANEL_SHARE.max * 100}
      onPointerDown={begin} onPointerMove={drag} onPointerUp={() => setDragging(false)} onPointerCancel={() => setDragging(false)} onKeyDown={keyDown} />
  );
}
