// The last line of a task's output, while somebody looks at it. The end of the log is read again when something was added, and not
// more often than twice a second: a flood costs no more than a trickle.

import { useEffect, useState } from "react";
import { type Backend, toBackendError } from "../../backend/backend";
import type { Id } from "../../generated/api";
import { useApp } from "../../state/app";
import { clipped } from "../../shared/text";
import { lastLine } from "./ansi";

const TAIL_BYTES = 4096;
const LINE_CHARS_MAX = 400;
const WAIT_MS = 15_000;
const PAUSE_MS = 500;
const FAILED_PAUSE_MS = 3_000;

export interface Tail { line: string; total: number }

/** Null while nothing is known. `attempt` and `live` only say when to look anew. */
export function useTail(task: Id, attempt: number, live: boolean, wanted: boolean): Tail | null {
  const { backend } = useApp();
  const [tail, setTail] = useState<Tail | null>(null);
  useEffect(() => {
    if (!wanted) return;
    return watchTail(backend, task, setTail);
  }, [backend, task, attempt, live, wanted]);
  return wanted ? tail : null;
}

/** Answers the way to stop. */
export function watchTail(backend: Pick<Backend, "call">, task: Id, show: (tail: Tail) => void): () => void {
  let stopped = false;
  let wake: (() => void) | null = null;
  const pause = (ms: number) => new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  const watch = async () => {
    while (!stopped) {
      try {
        if (document.hidden) {
          await pause(PAUSE_MS);
          continue;
        }
        const page = await backend.call("task_output", { task, tail: TAIL_BYTES });
        if (stopped) return;
        show({ line: clipped(lastLine(page.text), LINE_CHARS_MAX), total: page.total });
        if (page.over) return;
        await backend.call("task_output", { task, offset: page.next_offset, limit: 4, wait_ms: WAIT_MS });
        await pause(PAUSE_MS);
      } catch (reason) {
        // A line that is missing is no trouble worth a word: the log itself says what is wrong.
        if (toBackendError(reason).code === "not_found") return;
        await pause(FAILED_PAUSE_MS);
      }
    }
  };
  void watch();
  return () => {
    stopped = true;
    wake?.();
  };
}
