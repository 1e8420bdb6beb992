// The pull loop of one view: it asks for what follows an offset, hands it to the screen, and asks again only when the screen has
// taken it. One request is in flight, so a flood waits in the run's log (and becomes a snapshot) and never in the window.

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
const BACKOFF_MS = [250, 500, 1_000, 2_000, 5_000];
/** A run that has just been made may not be known to the reader yet, so "not found" is final only after this many answers. */
const NOT_FOUND_MAX = 4;

export class Puller {
  #offset: number | null = null;
  #failures = 0;
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
    const answer = await this.backend.terminalPull({ run: this.run, offset: this.#offset, cols, rows, wait_ms: WAIT_MS });
    if (this.#closed) return true;
    const frame = decodeFrame(answer);
    if (frame.kind === "snapshot") await this.screen.replace(frame);
    else if (frame.payload.byteLength > 0) await this.screen.append(frame.payload);
    if (this.#closed) return true;
    const first = this.#offset === null || this.#failures > 0;
    this.#offset = frame.next_offset;
    this.#failures = 0;
    if (frame.ended) this.changed({ kind: "ended" });
    else if (first) this.changed({ kind: "live" });
    return frame.ended;
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
