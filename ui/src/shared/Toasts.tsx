import { useEffect, useState } from "react";
import { Button, IconButton } from "./Button";
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
/** What one can follow stays long enough to be reached; it stands where it leads to as well. */
const TARGET_MS = 8_000;
const TROUBLE_MS = 12_000;
/** Those that are seen at once; older ones come back when these are closed. */
const SEEN_MAX = 4;

/** What went wrong is told here alone, so it stays until somebody has closed it. */
const stays = ({ level, target }: ToastLike) => level === "error" && !target;

/**
 * Each of the two groups is a live region of its own, there before its first message: so a message is read out once, and an error at
 * once. The messages themselves are none.
 */
export function Toasts({ toasts, place, onDismiss, onOpen }: Props) {
  const seen = toasts.slice(-SEEN_MAX);
  const hidden = toasts.length - seen.length;
  const item = (toast: ToastLike) => <ToastItem key={toast.id} toast={toast} onDismiss={() => onDismiss(toast.id)} onOpen={() => onOpen(toast.id)} />;
  const errors = seen.filter(({ level }) => level === "error");
  return (
    <section className={`toasts ${place}`} aria-label="Messages">
      {hidden > 0 && (
        <div className="toasts-more" data-testid={ids.toastsMore}>
          <span className="grow muted">{hidden} more</span>
          <Button look="quiet" onClick={() => toasts.forEach(({ id }) => onDismiss(id))} testid={ids.toastsClose}>Close all</Button>
        </div>
      )}
      <div className="toast-group" aria-live="assertive">{errors.map(item)}</div>
      <div className="toast-group" aria-live="polite">{seen.filter(({ level }) => level !== "error").map(item)}</div>
    </section>
  );
}

function ToastItem({ toast, onDismiss, onOpen }: { toast: ToastLike; onDismiss: () => void; onOpen: () => void }) {
  // Whoever points at it, or has the keyboard in it, reads it.
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held || stays(toast)) return;
    const timer = setTimeout(onDismiss, toast.level !== "info" ? TROUBLE_MS : toast.target ? TARGET_MS : INFO_MS);
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
    <div className={`toast ${toast.level}`} data-testid={ids.toast} data-level={toast.level}
      onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)} onFocus={() => setHeld(true)} onBlur={() => setHeld(false)}>
      <Icon name={toast.level === "info" ? "info" : "warn"} />
      {toast.target
        ? <button type="button" className="grow toast-open" title="Show it" onClick={onOpen} data-testid={ids.toastOpen}>{words}</button>
        : <div className="grow">{words}</div>}
      <IconButton icon="close" label="Dismiss" onClick={onDismiss} />
    </div>
  );
}
