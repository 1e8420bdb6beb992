import { useEffect, useState } from "react";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import { ids } from "./testids";
import { advice } from "./text";

interface ToastLike { id: number; level: "error" | "warn" | "info"; title: string; hint: string | null; target?: unknown }

interface Props {
  toasts: readonly ToastLike[];
  /**
   * Where they stand, so that they never lie over what one works with: at the foot of the list at the side, in the corner where there is
   * no such list, and above a dialog while one is open.
   */
  place: "side" | "corner" | "above";
  onDismiss: (id: number) => void;
  /** A toast with a target was pressed. */
  onOpen: (id: number) => void;
}

const INFO_MS = 3_000;
/** What one can follow stays long enough to be reached. */
const TARGET_MS = 8_000;
const ERROR_MS = 12_000;

export function Toasts({ toasts, place, onDismiss, onOpen }: Props) {
  return (
    <div className={`toasts ${place}`} role="region" aria-label="Messages" aria-live="polite">
      {toasts.map((toast) => <ToastItem key={toast.id} toast={toast} onDismiss={() => onDismiss(toast.id)} onOpen={() => onOpen(toast.id)} />)}
    </div>
  );
}

function ToastItem({ toast, onDismiss, onOpen }: { toast: ToastLike; onDismiss: () => void; onOpen: () => void }) {
  // Whoever points at it, or has the keyboard in it, reads it.
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(onDismiss, toast.level !== "info" ? ERROR_MS : toast.target ? TARGET_MS : INFO_MS);
    return () => clearTimeout(timer);
    // The time counts from the toast's coming, not from the last drawing of its parent.
  }, [toast.id, held]);
  const words = (
    <>
      <p>{toast.title}</p>
      {toast.hint && <p className="hint" data-testid={ids.errorHint}>{toast.level === "error" && !toast.target ? advice(toast.hint) : toast.hint}</p>}
    </>
  );
  return (
    <div className={`toast ${toast.level}`} role={toast.level === "error" ? "alert" : "status"} data-testid={ids.toast}
      onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)} onFocus={() => setHeld(true)} onBlur={() => setHeld(false)}>
      <Icon name={toast.level === "info" ? "info" : "warn"} />
      {toast.target
        ? <button type="button" className="grow toast-open" title="Show it" onClick={onOpen} data-testid={ids.toastOpen}>{words}</button>
        : <div className="grow">{words}</div>}
      <IconButton icon="close" label="Dismiss" onClick={onDismiss} />
    </div>
  );
}
