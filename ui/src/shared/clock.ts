// Moments of the near future and past, as a person says them.

import { duration } from "./text";

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const WEEK_MS = 7 * 24 * 3_600_000;
const two = (n: number) => String(n).padStart(2, "0");

/** "14:05"; with the day where that is another one: "Wed 14:05", and with the date where it is far: "2026-05-02 14:05". */
export function clock(at_ms: number, now_ms: number): string {
  const at = new Date(at_ms);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === new Date(now_ms).toDateString()) return time;
  if (Math.abs(at_ms - now_ms) < WEEK_MS - 24 * 3_600_000) return `${DAYS[at.getDay()]} ${time}`;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** How long it is until then, in whole seconds: "12 s", "3 min 05 s". */
export function until(at_ms: number, now_ms: number): string {
  const left_ms = Math.max(0, Math.ceil((at_ms - now_ms) / 1000) * 1000);
  return left_ms < 10_000 ? `${left_ms / 1000} s` : duration(left_ms);
}
