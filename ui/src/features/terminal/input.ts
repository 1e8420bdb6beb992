// What the user types into one run, in order. While one write is under way the rest is gathered and goes as the next one, so fast
// typing costs few calls and nothing overtakes. A large paste goes in pieces that the engine accepts.

import { type BackendError, toBackendError } from "../../backend/backend";

export const PIECE_BYTES_MAX = 64 * 1024;
/** Text that waits to be written. More than this is refused with a word to the user, as it cannot be typing. */
export const WAITING_CHARS_MAX = 16 * 1024 * 1024;

export class InputQueue {
  #waiting: string[] = [];
  #waitingChars = 0;
  #writing = false;
  #closed = false;

  constructor(
    private readonly write: (data: string) => Promise<unknown>,
    private readonly failed: (error: BackendError) => void,
  ) {}

  /** Takes text for the run; false when it was refused because too much waits already. */
  push(text: string): boolean {
    if (this.#closed || text === "") return true;
    if (this.#waitingChars + text.length > WAITING_CHARS_MAX) return false;
    this.#waiting.push(text);
    this.#waitingChars += text.length;
    if (!this.#writing) void this.#drain();
    return true;
  }

  /** The run ended or the view closes: what waits is dropped. */
  close(): void {
    this.#closed = true;
    this.#drop();
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const gathered = this.#waiting.join("");
      const piece = gathered.slice(0, pieceLength(gathered));
      this.#waiting = piece.length < gathered.length ? [gathered.slice(piece.length)] : [];
      this.#waitingChars -= piece.length;
      try {
        await this.write(piece);
      } catch (reason) {
        // What follows made sense only after what was lost, so it goes too: half a command must not be run.
        this.#drop();
        if (!this.#closed) this.failed(toBackendError(reason));
      }
    }
    this.#writing = false;
  }

  #drop(): void {
    this.#waiting = [];
    this.#waitingChars = 0;
  }
}

/** How many UTF-16 units of `text` fit into PIECE_BYTES_MAX bytes of UTF-8, without cutting a character. */
export function pieceLength(text: string): number {
  if (text.length * 3 <= PIECE_BYTES_MAX) return text.length;
  let bytes = 0;
  let at = 0;
  while (at < text.length) {
    const point = text.codePointAt(at)!;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes > PIECE_BYTES_MAX) return at;
    at += point > 0xffff ? 2 : 1;
  }
  return at;
}
