// Moves the keyboard between the parts of the window.

const PANE = ".pane.focused .composer textarea, .pane.focused textarea, .pane.focused .log-scroll, .pane.focused .pane-body button";

/** Gives the keyboard to the pane that has the focus among the panes. */
export function focusPanes(): void {
  (document.querySelector<HTMLElement>(".pane.focused [data-autofocus]") ?? document.querySelector<HTMLElement>(PANE))?.focus();
}

export function isInside(selector: string): boolean {
  return document.activeElement?.closest(selector) != null;
}

/** Gives the keyboard to the list of the panel beside the panes, once it stands there. */
export function focusPanel(): void {
  setTimeout(() => document.querySelector<HTMLElement>(".side-panel [data-panel-list]")?.focus(), 0);
}
