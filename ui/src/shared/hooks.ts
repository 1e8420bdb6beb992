import { useEffect, useState } from "react";

/** The time, renewed often enough for words like "2 min ago". */
export function useNow(every_ms = 15_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every_ms);
    return () => clearInterval(timer);
  }, [every_ms]);
  return now;
}

export type Scheme = "light" | "dark";

/** The scheme to draw in: the user's choice, or the system's while that is "system". */
export function useScheme(theme: "system" | Scheme): Scheme {
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return theme === "system" ? (dark ? "dark" : "light") : theme;
}
