import { useState } from "react";
import { Button } from "./Button";
import { ErrorText } from "./ErrorText";

interface Props { error: { message: string; hint: string | null }; again: () => Promise<unknown>; testid?: string }

/** What could not be read, and the way to try it again. */
export function Retry({ error, again, testid }: Props) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await again().finally(() => setBusy(false));
  };
  return (
    <div className="retry" data-testid={testid}>
      <ErrorText error={error} />
      <Button icon="retry" busy={busy} onClick={() => void press()}>Try again</Button>
    </div>
  );
}
