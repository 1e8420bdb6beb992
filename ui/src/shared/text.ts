// Words for numbers.

/** "just now", "2 min ago", "3 h ago", "4 days ago". */
export function ago(then_ms: number, now_ms: number): string {
  const seconds = Math.max(0, Math.floor((now_ms - then_ms) / 1000));
  if (seconds < 45) return "just now";
  const minutes = Math.max(1, Math.round(seconds / 60));
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 36) return `${hours} h ago`;
  return `${Math.round(hours / 24)} days ago`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The last two parts of a path, so that a header has room for it; the whole path belongs into its tooltip. */
export function shortPath(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}
