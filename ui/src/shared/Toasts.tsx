import { useEffect } from "react";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import { ids } from "./testids";
import { advice } from "./text";

interface ToastLike { id: number; level: "error" | "warn" | "info"; title: string; hint: string | null; target?: unknown }

interface Props {
  toasts: readonly ToastLike[];
  onDismiss: (id: number) => void;
  /** A toast with a target was pressed. */
  onOpen: (id: number) => void;
}

const INFO_MS = 4_000;
/** What one can follow stays long enough to be reached. */
const TARGET_MS = 10_000;
const ERROR_MS = 12_000;

export function Toasts({ toasts, onDismiss, onOpen }: Props) {
  return (
    <div className="toasts" role="region" aria-label="Messages" aria-live="polite">
      {toasts.map((toast) => <ToastItem key={toast.id} toast={toast} onDismiss={() => onDismiss(toast.id)} onOpen={() => onOpen(toast.id)} />)}
    </div>
  );
}

function ToastItem({ toast, onDismiss, onOpen }: { toast: ToastLike; onDismiss: () => void; onOpen: () => void }) {
  useEffect(() => {
    const timer = setTimeout(onDismiss, toast.level !== "info" ? ERROR_MS : toast.target ? TARGET_MS : INFO_MS);
    return () => clearTimeout(timer);
    // The time counts from the toast's coming, not from the last drawing of its parent.
  }, [toast.id]);
  const words = (
    <>
      <p>{toast.title}</p>
      {toast.hint && <p className="hint" data-testid={ids.errorHint}>{toast.level === "error" && !toast.target ? advice(toast.hint) : toast.hint}</p>}
    </>
  );
  return (
    <div className={`toast ${toast.level}`} role={toast.level === "error" ? "alert" : "status"} data-testid={ids.toast}>
      <Icon name={toast.level === "info" ? "info" : "warn"} />
      {toast.target
        ? <button type="button" className="grow toast-open" title="Show it" onClick={onOpen} data-testid={ids.toastOpen}>{words}</button>
        : <div className="grow">{words}</div>}
      <IconButton icon="close" label="Dismiss" onClick={onDismiss} />
    </div>
  );
}
