// Moves the keyboard between the parts of the window.

/** What in a pane the keyboard is for, in this order: a list of selectors alone would find what stands first. */
const PANE = ["[data-autofocus]", ".composer textarea", "textarea", ".log-scroll", ".pane-body button"];

/** Gives the keyboard to the pane that has the focus among the panes. */
export function focusPanes(): void {
  const found = PANE.map((inside) => document.querySelector<HTMLElement>(`.pane.focused ${inside}`)).find((element) => element !== null);
  found?.focus();
}

export function isInside(selector: string): boolean {
  return document.activeElement?.closest(selector) != null;
}

/** Gives the keyboard to the list of the panel beside the panes, once it stands there. */
export function focusPanel(): void {
  setTimeout(() => document.querySelector<HTMLElement>(".side-panel [data-panel-list]")?.focus(), 0);
}
