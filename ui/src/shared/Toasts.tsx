import { useEffect } from "react";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import { ids } from "./testids";

interface ToastLike { id: number; level: "error" | "info"; title: string; hint: string | null }

const INFO_MS = 4_000;
const ERROR_MS = 12_000;

export function Toasts({ toasts, onDismiss }: { toasts: readonly ToastLike[]; onDismiss: (id: number) => void }) {
  return (
    <div className="toasts" role="region" aria-label="Messages" aria-live="polite">
      {toasts.map((toast) => <ToastItem key={toast.id} toast={toast} onDismiss={() => onDismiss(toast.id)} />)}
    </div>
  );
}

function ToastItem({ toast, onDismiss }: { toast: ToastLike; onDismiss: () => void }) {
  useEffect(() => {
    const timer = setTimeout(onDismiss, toast.level === "error" ? ERROR_MS : INFO_MS);
    return () => clearTimeout(timer);
    // The time counts from the toast's coming, not from the last drawing of its parent.
  }, [toast.id]);
  return (
    <div className={`toast ${toast.level}`} role={toast.level === "error" ? "alert" : "status"} data-testid={ids.toast}>
      <Icon name={toast.level === "error" ? "warn" : "info"} />
      <div className="grow">
        <p>{toast.title}</p>
        {toast.hint && <p className="hint" data-testid={ids.errorHint}>{toast.hint}</p>}
      </div>
      <IconButton icon="close" label="Dismiss" onClick={onDismiss} />
    </div>
  );
}
