// Tells a run the size of its pane: the newest alone, one at a time, and again until it was taken.

export interface Size { cols: number; rows: number }

/** The pauses before a size that was not taken is told again; the last holds from then on. */
const AGAIN_MS = [500, 2_000, 5_000];

export class SizeTeller {
  #wanted: Size | null = null;
  #told: Size | null = null;
  #busy = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #stopped = false;

  constructor(private readonly send: (size: Size) => Promise<unknown>) {}

  /** Sizes that were overtaken meanwhile are never sent. */
  tell(size: Size): void {
    this.#wanted = size;
    void this.#go();
  }

  /** The run is over, or nobody looks at it any more: its size matters to nobody. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #go(): Promise<void> {
    const size = this.#wanted;
    if (this.#stopped || this.#busy || this.#timer !== null || size === null || (this.#told?.cols === size.cols && this.#told.rows === size.rows)) return;
    this.#busy = true;
    try {
      await this.send(size);
      this.#told = size;
      this.#failures = 0;
    } catch {
      // The size may have been taken and its answer lost, so no size counts as told. What is wrong with the run, its output says.
      this.#told = null;
      this.#later();
    } finally {
      this.#busy = false;
    }
    void this.#go();
  }

  #later(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#go();
    }, AGAIN_MS[Math.min(this.#failures, AGAIN_MS.length - 1)]!);
    this.#failures += 1;
  }
}
