import { useNow } from "./hooks";
import { duration } from "./text";

/** How long something took, or takes up to now. */
export function Elapsed({ since_ms, until_ms }: { since_ms: number; until_ms: number | null }) {
  return until_ms === null ? <Live since_ms={since_ms} /> : <>{duration(until_ms - since_ms)}</>;
}

function Live({ since_ms }: { since_ms: number }) {
  const passed = useNow(1000) - since_ms;
  // Tenths that stand still for a second would be a lie.
  return <>{passed < 9_950 ? `${Math.max(0, Math.floor(passed / 1000))} s` : duration(passed)}</>;
}
