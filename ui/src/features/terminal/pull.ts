// The pull loop of one view: it asks for what follows an offset, hands it to the screen, and asks again only when the screen has
// taken it. One request is in flight, so a flood waits in the run's log (and becomes a snapshot) and never in the window. In a flood
// the snapshots are of the screen alone; when it has passed, the view attaches anew, which brings the scrollback back.

import { type Backend, type BackendError, toBackendError } from "../../backend/backend";
import { decodeFrame, type Frame } from "../../backend/frame";
import type { Id } from "../../generated/api";

export interface Screen {
  size(): { cols: number; rows: number };
  /** Replaces everything by a snapshot; resolves when it is on the screen. */
  replace(frame: Frame): Promise<void>;
  /** Adds bytes; resolves when the screen has taken them. */
  append(bytes: Uint8Array): Promise<void>;
}

export type PullState =
  | { kind: "attaching" }
  | { kind: "live" }
  | { kind: "ended" }
  /** The engine does not answer for this run; it is tried again. */
  | { kind: "retrying"; error: BackendError }
  /** This run cannot be shown, and asking again will not help. */
  | { kind: "gone"; error: BackendError };

export const WAIT_MS = 15_000;
/** A flood has passed when nothing comes for so long, or only so little at a time. */
export const CALM_MS = 250;
const CALM_BYTES = 64 * 1024;
/** xterm.js (6.0.0) lets others have their turn between two writes, but not within one. This much takes it a few milliseconds. */
export const PIECE_BYTES = 16 * 1024;
const BACKOFF_MS = [250, 500, 1_000, 2_000, 5_000];
/** A run that has just been made may not be known to the reader yet, so "not found" is final only after this many answers. */
const NOT_FOUND_MAX = 4;

/** The bytes in pieces that a screen takes in one go; at least one, which may be empty. */
export function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const count = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES));
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES));
}

export class Puller {
  #offset: number | null = null;
  #failures = 0;
  #attached = false;
  /** The screen is without what stands above it. */
  #screenOnly = false;
  #closed = false;
  #paused = false;
  #wake: (() => void) | null = null;

  constructor(
    private readonly backend: Pick<Backend, "terminalPull">,
    private readonly run: Id,
    private readonly screen: Screen,
    private readonly changed: (state: PullState) => void,
  ) {}

  /** Runs until the run has ended, is gone, or `close` is called. It never rejects. */
  async start(): Promise<void> {
    this.changed({ kind: "attaching" });
    while (!this.#closed) {
      if (this.#paused) {
        await this.#sleep(null);
        continue;
      }
      try {
        if (await this.#once()) return;
      } catch (reason) {
        if (this.#closed || (await this.#failed(toBackendError(reason)))) return;
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** A view that nobody sees asks for nothing; what it missed comes as bytes or as a snapshot when it is seen again. */
  pause(paused: boolean): void {
    if (this.#paused === paused) return;
    this.#paused = paused;
    if (!paused) this.#wake?.();
  }

  /** Answers true when nothing more will come. */
  async #once(): Promise<boolean> {
    const { cols, rows } = this.screen.size();
    const answer = await this.backend.terminalPull({ run: this.run, offset: this.#offset, cols, rows, wait_ms: this.#screenOnly ? CALM_MS : WAIT_MS });
    if (this.#closed) return true;
    const frame = decodeFrame(answer);
    if (frame.kind === "snapshot") await this.screen.replace(frame);
    else if (frame.payload.byteLength > 0) await this.screen.append(frame.payload);
    if (this.#closed) return true;
    if (frame.kind === "snapshot") this.#screenOnly = frame.screen_only;
    const again = this.#screenOnly && (frame.ended || (frame.kind === "bytes" && frame.payload.byteLength < CALM_BYTES));
    const first = !this.#attached || this.#failures > 0;
    this.#offset = again ? null : frame.next_offset;
    this.#attached = true;
    this.#failures = 0;
    const ended = frame.ended && !again;
    if (ended) this.changed({ kind: "ended" });
    else if (first) this.changed({ kind: "live" });
    return ended;
  }

  async #failed(error: BackendError): Promise<boolean> {
    this.#failures += 1;
    if (error.code === "not_found" && this.#failures >= NOT_FOUND_MAX) {
      this.changed({ kind: "gone", error });
      return true;
    }
    // The first refusals of a run that is just being made are not worth a word.
    if (error.code !== "not_found") this.changed({ kind: "retrying", error });
    await this.#sleep(BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length) - 1]!);
    return false;
  }

  #sleep(ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        if (timer !== null) clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
      const timer = ms === null ? null : setTimeout(done, ms);
      this.#wake = done;
    });
  }
}
