import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError, type PullRequest } from "../../backend/backend";
import { decodeFrame, encodeFrame, type Frame } from "../../backend/frame";
import { PIECE_BYTES, piecesOf, type PullState, Puller, type Screen } from "./pull";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (words: string) => new TextEncoder().encode(words);

function frame(part: Partial<Frame>): Frame {
  return { kind: "bytes", ended: false, screen_only: false, next_offset: 0, cols: 80, rows: 24, payload: new Uint8Array(0), ...part };
}

/** An engine whose answers, and a screen whose readiness, are given by hand. */
function begin() {
  const requests: (PullRequest & { answer: (part: Partial<Frame>) => void; fail: (error: BackendError) => void })[] = [];
  const shown: string[] = [];
  const states: PullState["kind"][] = [];
  let busy: (() => void) | null = null;
  let slow = false;
  const taken = () => (slow ? new Promise<void>((resolve) => { busy = resolve; }) : Promise.resolve());
  const screen: Screen = {
    size: () => ({ cols: 100, rows: 30 }),
    replace: (snapshot) => {
      shown.push(`snapshot ${snapshot.cols}x${snapshot.rows} ${text(snapshot.payload)}`);
      return taken();
    },
    append: (more) => {
      shown.push(text(more));
      return taken();
    },
  };
  const puller = new Puller({
    terminalPull: (request) => new Promise((resolve, reject) => requests.push({ ...request, answer: (part) => resolve(encodeFrame(frame(part))), fail: reject })),
  }, "run", screen, (state) => states.push(state.kind));
  const finished = puller.start();
  return { requests, shown, states, puller, finished, slow: (on: boolean) => { slow = on; }, ready: () => busy?.() };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe("the pull loop", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("attaches by a snapshot and then asks for what follows", async () => {
    const { requests, shown, states, puller } = begin();
    expect(requests[0]).toMatchObject({ run: "run", offset: null, cols: 100, rows: 30 });
    requests[0]!.answer({ kind: "snapshot", next_offset: 7, payload: bytes("screen") });
    await settle();
    requests[1]!.answer({ next_offset: 12, payload: bytes("hello") });
    await settle();
    expect(requests.map(({ offset }) => offset)).toEqual([null, 7, 12]);
    expect(shown).toEqual(["snapshot 80x24 screen", "hello"]);
    expect(states).toEqual(["attaching", "live"]);
    puller.close();
  });

  it("has one request under way, and makes the next only when the screen has taken the bytes", async () => {
    const { requests, slow, ready, puller } = begin();
    requests[0]!.answer({ kind: "snapshot", next_offset: 1 });
    await settle();
    slow(true);
    requests[1]!.answer({ next_offset: 9, payload: bytes("flood") });
    await settle();
    expect(requests.length).toBe(2);
    ready();
    await settle();
    expect(requests.length).toBe(3);
    expect(requests[2]!.offset).toBe(9);
    puller.close();
  });

  it("takes a snapshot in mid-stream when it has fallen behind", async () => {
    const { requests, shown, puller } = begin();
    requests[0]!.answer({ kind: "snapshot", next_offset: 1 });
    await settle();
    requests[1]!.answer({ kind: "snapshot", next_offset: 5_000_000, cols: 120, rows: 40, payload: bytes("latest") });
    await settle();
    expect(shown.at(-1)).toBe("snapshot 120x40 latest");
    expect(requests[2]!.offset).toBe(5_000_000);
    puller.close();
  });

  /** In mid-flood: the screen has come without what stands above it. */
  async function inFlood() {
    const begun = begin();
    begun.requests[0]!.answer({ kind: "snapshot", next_offset: 1 });
    await settle();
    begun.requests[1]!.answer({ kind: "snapshot", screen_only: true, next_offset: 5_000_000, payload: bytes("flood") });
    await settle();
    return begun;
  }

  it("attaches anew when a flood has passed, once", async () => {
    const { requests, shown, states, puller } = await inFlood();
    requests[2]!.answer({ kind: "snapshot", screen_only: true, next_offset: 9_000_000, payload: bytes("more") });
    await settle();
    requests[3]!.answer({ next_offset: 9_500_000, payload: new Uint8Array(500_000) });
    await settle();
    expect(requests.slice(2).map(({ offset }) => offset)).toEqual([5_000_000, 9_000_000, 9_500_000]);
    requests[4]!.answer({ next_offset: 9_500_000 });
    await settle();
    expect(requests[5]!.offset).toBe(null);
    requests[5]!.answer({ kind: "snapshot", next_offset: 9_500_000, payload: bytes("everything") });
    await settle();
    expect(shown.at(-1)).toBe("snapshot 80x24 everything");
    requests[6]!.answer({ next_offset: 9_500_000 });
    await settle();
    expect(requests[7]!.offset).toBe(9_500_000);
    expect(requests.map(({ wait_ms }) => wait_ms < 1_000)).toEqual([false, false, true, true, true, true, false, false]);
    expect(states).toEqual(["attaching", "live"]);
    puller.close();
  });

  it("does not wait for silence where a flood has become a trickle", async () => {
    const { requests, puller } = await inFlood();
    requests[2]!.answer({ next_offset: 5_000_009, payload: bytes("a trickle") });
    await settle();
    expect(requests[3]!.offset).toBe(null);
    puller.close();
  });

  it("brings the scrollback back also when the run ends in a flood", async () => {
    const { requests, shown, states, finished } = await inFlood();
    requests[2]!.answer({ ended: true, next_offset: 5_900_000, payload: new Uint8Array(900_000) });
    await settle();
    expect(requests[3]!.offset).toBe(null);
    expect(states.at(-1)).toBe("live");
    requests[3]!.answer({ kind: "snapshot", ended: true, next_offset: 5_900_000, payload: bytes("all") });
    await finished;
    expect(shown.at(-1)).toBe("snapshot 80x24 all");
    expect(states.at(-1)).toBe("ended");
    expect(requests.length).toBe(4);
  });

  it("asks again from the same place when nothing came", async () => {
    const { requests, shown, puller } = begin();
    requests[0]!.answer({ kind: "snapshot", next_offset: 4 });
    await settle();
    requests[1]!.answer({ next_offset: 4 });
    await settle();
    expect(requests[2]!.offset).toBe(4);
    expect(shown.length).toBe(1);
    puller.close();
  });

  it("ends with the run, after its last bytes", async () => {
    const { requests, shown, states, finished } = begin();
    requests[0]!.answer({ kind: "snapshot", next_offset: 1 });
    await settle();
    requests[1]!.answer({ ended: true, next_offset: 4, payload: bytes("bye") });
    await finished;
    expect(shown.at(-1)).toBe("bye");
    expect(states.at(-1)).toBe("ended");
    expect(requests.length).toBe(2);
  });

  it("tries again after a failure, from where it was, and says so meanwhile", async () => {
    const { requests, states, puller } = begin();
    requests[0]!.answer({ kind: "snapshot", next_offset: 3 });
    await settle();
    requests[1]!.fail(new BackendError("failed", "engine busy"));
    await settle();
    expect(states.at(-1)).toBe("retrying");
    await vi.advanceTimersByTimeAsync(250);
    expect(requests[2]!.offset).toBe(3);
    requests[2]!.answer({ next_offset: 3 });
    await settle();
    expect(states.at(-1)).toBe("live");
    puller.close();
  });

  it("gives up on a run that does not exist, but not at once", async () => {
    const { requests, states } = begin();
    for (let n = 0; n < 4; n += 1) {
      requests[n]!.fail(new BackendError("not_found", "no such run"));
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect(requests.length).toBe(4);
    expect(states).toEqual(["attaching", "gone"]);
  });

  it("asks for nothing while nobody sees it", async () => {
    const { requests, puller } = begin();
    requests[0]!.answer({ kind: "snapshot", next_offset: 3 });
    puller.pause(true);
    await settle();
    expect(requests.length).toBe(1);
    puller.pause(false);
    await settle();
    expect(requests[1]!.offset).toBe(3);
    puller.close();
  });

  it("shows nothing any more once it is closed", async () => {
    const { requests, shown, puller, finished } = begin();
    puller.close();
    requests[0]!.answer({ kind: "snapshot", payload: bytes("late") });
    await finished;
    expect(shown).toEqual([]);
  });
});

describe("the pieces", () => {
  it("are all of the bytes, in their order, and never none", () => {
    for (const length of [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 5 * PIECE_BYTES - 1]) {
      const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
      const pieces = piecesOf(bytes);
      expect(pieces.length).toBe(Math.max(1, Math.ceil(length / PIECE_BYTES)));
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    }
  });
});

describe("the frame", () => {
  it("has the header that the engine writes", () => {
    const answer = new ArrayBuffer(26);
    new Uint8Array(answer).set([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 120, 0, 40, 0, 0, 0, 0, 0, 104, 105]);
    expect(decodeFrame(answer)).toEqual({ kind: "snapshot", ended: true, screen_only: false, next_offset: 2 ** 32, cols: 120, rows: 40, payload: bytes("hi") });
    new Uint8Array(answer).set([2], 4);
    expect(decodeFrame(answer)).toMatchObject({ ended: false, screen_only: true });
    expect(decodeFrame(encodeFrame(frame({ screen_only: true, ended: true })))).toMatchObject({ ended: true, screen_only: true });
  });

  it("is refused when it is cut or unknown", () => {
    expect(() => decodeFrame(new ArrayBuffer(23))).toThrow(/header/);
    expect(() => decodeFrame(new Uint8Array([9, ...new Array<number>(23).fill(0)]).buffer)).toThrow(/kind 9/);
  });
});
