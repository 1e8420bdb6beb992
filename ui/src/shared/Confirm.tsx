import { type ReactNode, useState } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { ErrorText } from "./ErrorText";
import { ids } from "./testids";

interface Props {
  title: string;
  children: ReactNode;
  yes: string;
  /** What the button says that leaves all as it is. */
  no?: string;
  /** Rejects when it failed: the dialog then stays and shows why. */
  onYes: () => Promise<void>;
  onClose: () => void;
}

/** A question before something that cannot be taken back. */
export function Confirm({ title, children, yes, no = "Cancel", onYes, onClose }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<{ message: string; hint: string | null } | null>(null);
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      await onYes();
      onClose();
    } catch (reason) {
      setError(reason as { message: string; hint: string | null });
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose} testid={ids.confirmDialog} alert
      footer={<>
        <Button onClick={onClose} data-autofocus>{no}</Button>
        <Button look="danger" busy={busy} onClick={() => void go()} testid={ids.confirmYes}>{yes}</Button>
      </>}>
      {children}
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}
