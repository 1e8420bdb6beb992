// A modal dialog: it has the focus while it is open, Escape closes it, and the focus goes back where it was.

import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useEffectEvent, useId, useRef } from "react";
import { createPortal } from "react-dom";
import { IconButton } from "./Button";

const FOCUSABLE = 'button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), a[href], [tabindex]:not([tabindex="-1"])';

interface Props {
  title: string;
  onClose: () => void;
  onSubmit?: () => void;
  children: ReactNode;
  footer?: ReactNode;
  testid?: string;
  width?: "small" | "medium" | "large" | "wide";
  /** An alert dialog is a question that must be answered: no close button, and a click beside it does nothing. */
  alert?: boolean;
}

export function Dialog({ title, onClose, onSubmit, children, footer, testid, width = "small", alert = false }: Props) {
  const titleId = useId();
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const before = document.activeElement;
    const dialog = box.current!;
    const body = dialog.querySelector(".dialog-body")!;
    (dialog.querySelector<HTMLElement>("[data-autofocus]") ?? body.querySelector<HTMLElement>(FOCUSABLE) ?? dialog).focus();
    return () => {
      // What the dialog did may have moved the focus on purpose (a new terminal has it); only a lost focus goes back.
      setTimeout(() => {
        const lost = document.activeElement === null || document.activeElement === document.body;
        if (lost && before instanceof HTMLElement && before.isConnected) before.focus();
      }, 0);
    };
  }, []);

  // A button that was pressed and is busy now has lost the keyboard, and the dialog must not be deaf meanwhile.
  const keyOutside = useEffectEvent((event: globalThis.KeyboardEvent) => {
    const isTopmost = [...document.querySelectorAll('[aria-modal="true"]')].at(-1) === box.current;
    if (event.target !== document.body || event.defaultPrevented || !isTopmost) return;
    if (event.key === "Escape") onClose();
    else if (event.key === "Tab") box.current!.focus();
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => keyOutside(event);
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);

  const keyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      onClose();
    } else if (event.key === "Enter" && event.target === box.current && !event.repeat) {
      // The dialog itself has the focus, as after a click between its fields.
      event.preventDefault();
      onSubmit?.();
    } else if (event.key === "Tab") {
      trap(event, box.current!);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };

  // A dialog stands outside of whatever opened it: a pane is a containing block of its own and would confine it.
  return createPortal(
    <div className="scrim" onMouseDown={(event) => !alert && event.target === event.currentTarget && onClose()}>
      <div ref={box} className={`dialog ${width}`} role={alert ? "alertdialog" : "dialog"} aria-modal="true" aria-labelledby={titleId}
        tabIndex={-1} data-testid={testid} onKeyDown={keyDown}>
        <form className="dialog-form" onSubmit={submit} noValidate>
          <header className="dialog-header">
            <h2 id={titleId}>{title}</h2>
            {!alert && <IconButton icon="close" label="Close" onClick={onClose} />}
          </header>
          <div className="dialog-body">{children}</div>
          {footer && <footer className="dialog-footer">{footer}</footer>}
        </form>
      </div>
    </div>,
    document.body,
  );
}

function trap(event: KeyboardEvent, box: HTMLElement): void {
  const all = [...box.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((element) => !element.closest("[hidden]"));
  const first = all[0];
  const last = all.at(-1);
  if (!first || !last) return;
  const at = document.activeElement;
  if (event.shiftKey ? at === first || at === box : at === last) {
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  }
}
