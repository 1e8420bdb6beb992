// One answer of the pull protocol: 24 bytes of little-endian header, then the payload.
//   u32 kind (0 bytes, 1 snapshot) · u32 flags (bit 0: ended, bit 1: the screen alone) · u64 next_offset · u16 cols · u16 rows · u32 reserved

export const HEADER_BYTES = 24;

export interface Frame {
  /** `bytes` go to the screen as they are; a `snapshot` replaces it: reset, take this size, write the payload. */
  kind: "bytes" | "snapshot";
  /** The run has ended and nothing follows `next_offset`. */
  ended: boolean;
  /** The snapshot has no scrollback, because output comes faster than it could be read. */
  screen_only: boolean;
  next_offset: number;
  cols: number;
  rows: number;
  payload: Uint8Array;
}

export function decodeFrame(answer: ArrayBuffer): Frame {
  if (answer.byteLength < HEADER_BYTES) throw new RangeError(`A terminal answer has ${answer.byteLength} bytes, its header alone needs ${HEADER_BYTES}.`);
  const view = new DataView(answer);
  const kind = view.getUint32(0, true);
  if (kind > 1) throw new RangeError(`A terminal answer is of the unknown kind ${kind}.`);
  const flags = view.getUint32(4, true);
  return {
    kind: kind === 1 ? "snapshot" : "bytes",
    ended: (flags & 1) !== 0,
    screen_only: (flags & 2) !== 0,
    next_offset: Number(view.getBigUint64(8, true)),
    cols: view.getUint16(16, true),
    rows: view.getUint16(18, true),
    payload: new Uint8Array(answer, HEADER_BYTES),
  };
}

/** The other direction, for the fake engine. */
export function encodeFrame(frame: Frame): ArrayBuffer {
  const answer = new ArrayBuffer(HEADER_BYTES + frame.payload.byteLength);
  const view = new DataView(answer);
  view.setUint32(0, frame.kind === "snapshot" ? 1 : 0, true);
  view.setUint32(4, (frame.ended ? 1 : 0) | (frame.screen_only ? 2 : 0), true);
  view.setBigUint64(8, BigInt(frame.next_offset), true);
  view.setUint16(16, frame.cols, true);
  view.setUint16(18, frame.rows, true);
  new Uint8Array(answer, HEADER_BYTES).set(frame.payload);
  return answer;
}
