// A run of the fake engine: a log of bytes that can be pulled by offset, and a small program that echoes.

import type { Id, Run } from "../generated/api";
import { BackendError, type PullRequest } from "./backend";
import { encodeFrame } from "./frame";

const FRAME_BYTES_MAX = 1024 * 1024;
const encoder = new TextEncoder();

export class FakeRun {
  readonly id: Id;
  record: Run;
  size = { cols: 80, rows: 24 };
  /** Everything that was written to the run, piece by piece. */
  readonly written: string[] = [];
  readonly resizes: { cols: number; rows: number }[] = [];
  /** Pulls that are under way: the protocol allows one for each view. */
  pulling = 0;
  #log = new Uint8Array(0);
  #line = "";
  #waiting = new Set<() => void>();

  constructor(id: Id, now_ms: number) {
    this.id = id;
    this.record = { id, state: "running", exit_code: null, signal: null, reason: null, started_ms: now_ms, ended_ms: null, pid: 4242, log_bytes: 0 };
  }

  get ended(): boolean {
    return this.record.state === "ended" || this.record.state === "lost";
  }

  print(text: string | Uint8Array): void {
    const bytes = typeof text === "string" ? encoder.encode(text) : text;
    const log = new Uint8Array(this.#log.length + bytes.length);
    log.set(this.#log);
    log.set(bytes, this.#log.length);
    this.#log = log;
    this.record = { ...this.record, log_bytes: log.length };
    this.#wakeAll();
  }

  end(how: Pick<Run, "exit_code" | "signal" | "reason">, now_ms: number): void {
    this.record = { ...this.record, ...how, state: "ended", ended_ms: now_ms };
    this.#wakeAll();
  }

  /** What a terminal with a simple line editor does with keys. */
  write(data: string): void {
    if (this.ended) throw new BackendError("refused", "The run has ended.", "Start the agent again.");
    this.written.push(data);
    for (const char of data.replace(/\u001b\[[0-9;?]*[A-Za-z~]/g, "")) {
      if (char === "\r") {
        this.print(`\r\n${this.#line === "" ? "" : `\x1b[2myou said\x1b[0m ${this.#line}\r\n`}\x1b[36m❯\x1b[0m `);
        this.#line = "";
      } else if (char === "\u007f") {
        if (this.#line === "") continue;
        this.#line = this.#line.slice(0, -1);
        this.print("\b \b");
      } else if (char >= " ") {
        this.#line += char;
        this.print(char);
      }
    }
  }

  async pull({ offset, wait_ms }: PullRequest): Promise<ArrayBuffer> {
    this.pulling += 1;
    try {
      if (offset !== null && offset >= this.#log.length && !this.ended) await this.#more(wait_ms);
    } finally {
      this.pulling -= 1;
    }
    const snapshot = offset === null || this.#log.length - offset > FRAME_BYTES_MAX;
    const from = snapshot ? Math.max(0, this.#log.length - FRAME_BYTES_MAX) : offset;
    return encodeFrame({
      kind: snapshot ? "snapshot" : "bytes", ended: this.ended, screen_only: false, next_offset: this.#log.length, ...this.size, payload: this.#log.slice(from),
    });
  }

  #more(wait_ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, wait_ms);
      this.#waiting.add(done);
    });
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
