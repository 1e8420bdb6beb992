// The frame around whatever a pane shows: a header with its name, its state and its buttons.

import type { ReactNode } from "react";
import { IconButton } from "../../shared/Button";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";

export interface PaneActions {
  focus(): void;
  splitRight(): void;
  splitDown(): void;
  zoom(): void;
  close(): void;
}

interface Props {
  name: string;
  title: ReactNode;
  /** Buttons that belong to what is shown, before those that every pane has. */
  buttons?: ReactNode;
  focused: boolean;
  zoomed: boolean;
  alone: boolean;
  /** The pane shows something that closing would take away. */
  filled: boolean;
  actions: PaneActions;
  agent: string | null;
  /** The task whose log the pane shows. */
  task: string | null;
  children: ReactNode;
  /** What is to be said under what is shown. */
  foot?: ReactNode;
}

export function PaneFrame({ name, title, buttons, focused, zoomed, alone, filled, actions, agent, task, children, foot }: Props) {
  return (
    <section className={`pane ${focused ? "focused" : ""}`} aria-label={`Pane: ${name}`} data-testid={ids.pane} data-focused={focused} data-agent={agent ?? ""} data-task={task ?? ""}
      onFocusCapture={actions.focus} onMouseDownCapture={actions.focus}>
      <header className="pane-header" data-testid={ids.paneHeader} onDoubleClick={(event) => event.target === event.currentTarget && actions.zoom()}>
        <div className="pane-title" data-testid={ids.paneTitle}>{title}</div>
        <div className="pane-buttons">
          {buttons}
          <IconButton className="spare" icon="beside" label={withKeys("Split to the right", "splitRight")} onClick={actions.splitRight} testid={ids.paneSplitRight} />
          <IconButton className="spare" icon="below" label={withKeys("Split downwards", "splitDown")} onClick={actions.splitDown} testid={ids.paneSplitDown} />
          {!alone && (
            <IconButton icon={zoomed ? "unzoom" : "zoom"} label={withKeys(zoomed ? "Show all panes" : "Zoom this pane", "zoom")} onClick={actions.zoom} testid={ids.paneZoom} />
          )}
          {(!alone || filled) && (
            <IconButton icon="close" label={withKeys(!filled ? "Close the pane" : task === null ? "Close the pane; its agent goes on" : "Close the pane; its task goes on", "closePane")} onClick={actions.close} testid={ids.paneClose} />
          )}
        </div>
      </header>
      <div className="pane-body">{children}</div>
      {foot}
    </section>
  );
}
