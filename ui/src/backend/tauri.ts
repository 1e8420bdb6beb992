// The door in the desktop shell: one `rpc` command, one raw command for terminal bytes, one event.

import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import { type Backend, toBackendError, type QuitRequest } from "./backend";
import { readClipboard, writeClipboard } from "./clipboard";

/** A raw answer is an ArrayBuffer; when the shell falls back to messages it comes as a list of numbers. */
function asBuffer(answer: unknown): ArrayBuffer {
  if (answer instanceof ArrayBuffer) return answer;
  if (ArrayBuffer.isView(answer)) return new Uint8Array(answer.buffer, answer.byteOffset, answer.byteLength).slice().buffer as ArrayBuffer;
  if (Array.isArray(answer)) return new Uint8Array(answer as number[]).buffer;
  throw new TypeError("The terminal answered in a form that this window does not know.");
}

export function tauriBackend(): Backend {
  return {
    async call(method, params) {
      try {
        return await invoke("rpc", { method, params });
      } catch (reason) {
        throw toBackendError(reason);
      }
    },
    async terminalPull({ run, offset, cols, rows, wait_ms }) {
      try {
        return asBuffer(await invoke("terminal_pull", { run, offset, cols, rows, wait_ms }));
      } catch (reason) {
        throw toBackendError(reason);
      }
    },
    onQuitRequested(listener) {
      const stop = listen<QuitRequest>("quit-requested", (event) => listener(event.payload));
      return () => void stop.then((off) => off());
    },
    painted(js_ms) {
      // The figure is for the start-up log alone: a shell that cannot take it must not disturb the window.
      void invoke("painted", { jsMs: js_ms }).catch(() => undefined);
    },
    readClipboard,
    writeClipboard,
  };
}

/** Whether the page runs inside the desktop shell. */
export function insideShell(): boolean {
  return "__TAURI_INTERNALS__" in window;
}
