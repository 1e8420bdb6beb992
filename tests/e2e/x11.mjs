// The few requests of the X11 protocol that the window tests need: close a window as a window manager does, and take the whole
// display's picture (WebDriver sees neither the close button nor dialogs of the toolkit).

import net from "node:net";
import zlib from "node:zlib";

const OPCODE = { queryTree: 15, internAtom: 16, getProperty: 20, sendEvent: 25, getImage: 73 };
const CLIENT_MESSAGE = 33;

/** Connects to display `number` with a 16-byte cookie. */
export async function connect(number, cookie) {
  const socket = net.connect(`/tmp/.X11-unix/X${number}`);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  const connection = new Connection(socket);
  await connection.handshake(cookie);
  return connection;
}

class Connection {
  #socket;
  #received = Buffer.alloc(0);
  #waiting = null;
  #error = null;
  #atoms = new Map();

  constructor(socket) {
    this.#socket = socket;
    socket.on("data", (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#waiting?.();
    });
    const closed = (error) => {
      this.#error = error instanceof Error ? error : new Error("the X server closed the connection");
      this.#waiting?.();
    };
    socket.on("error", closed).on("close", closed);
  }

  close() {
    this.#socket.destroy();
  }

  async #read(length) {
    while (this.#received.length < length) {
      if (this.#error) throw this.#error;
      await new Promise((resolve) => (this.#waiting = resolve));
    }
    const bytes = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return bytes;
  }

  async handshake(cookie) {
    const name = Buffer.from("MIT-MAGIC-COOKIE-1");
    const head = Buffer.alloc(12);
    head.write("l", 0);
    head.writeUInt16LE(11, 2);
    head.writeUInt16LE(name.length, 6);
    head.writeUInt16LE(cookie.length, 8);
    this.#socket.write(Buffer.concat([head, padded(name), padded(cookie)]));
    const answer = await this.#read(8);
    const setup = await this.#read(answer.readUInt16LE(6) * 4);
    if (answer[0] !== 1) throw new Error(`the X server refused: ${setup.toString("latin1", 0, answer[1])}`);
    const screen = 32 + padding(setup.readUInt16LE(16)) + 8 * setup[21];
    this.root = setup.readUInt32LE(screen);
    this.width = setup.readUInt16LE(screen + 20);
    this.height = setup.readUInt16LE(screen + 22);
  }

  /** Sends a request whose length stands in the third and fourth byte. */
  #send(opcode, data, body) {
    const head = Buffer.alloc(4);
    head[0] = opcode;
    head[1] = data;
    head.writeUInt16LE(1 + body.length / 4, 2);
    this.#socket.write(Buffer.concat([head, body]));
  }

  /** Sends a request and answers its reply; events that come in between are dropped. */
  async #ask(opcode, data, body) {
    this.#send(opcode, data, body);
    for (;;) {
      const head = await this.#read(32);
      if (head[0] === 1) return Buffer.concat([head, await this.#read(head.readUInt32LE(4) * 4)]);
      if (head[0] === 0) throw Object.assign(new Error(`the X server answered error ${head[1]} to request ${opcode}`), { code: head[1] });
    }
  }

  async #atom(name) {
    if (!this.#atoms.has(name)) {
      const head = Buffer.alloc(4);
      head.writeUInt16LE(name.length, 0);
      const reply = await this.#ask(OPCODE.internAtom, 0, Buffer.concat([head, padded(Buffer.from(name))]));
      this.#atoms.set(name, reply.readUInt32LE(8));
    }
    return this.#atoms.get(name);
  }

  async #property(window, name) {
    const reply = await this.#ask(OPCODE.getProperty, 0, words(window, await this.#atom(name), 0, 0, 1024));
    return reply.subarray(32, 32 + (reply.readUInt32LE(16) * reply[1]) / 8);
  }

  /** All windows right under the root that can be closed politely, as { id, title }. */
  async windows() {
    const tree = await this.#ask(OPCODE.queryTree, 0, words(this.root));
    const found = [];
    for (let at = 0; at < tree.readUInt16LE(16); at += 1) {
      const id = tree.readUInt32LE(32 + 4 * at);
      try {
        const protocols = await this.#property(id, "WM_PROTOCOLS");
        if (protocols.length > 0) found.push({ id, title: (await this.#property(id, "_NET_WM_NAME")).toString() });
      } catch (error) {
        // The window went while it was looked at.
        if (error.code === undefined) throw error;
      }
    }
    return found;
  }

  /** Asks a window to close, as the close button of its frame does. */
  async requestClose(window) {
    const event = Buffer.alloc(32);
    event[0] = CLIENT_MESSAGE;
    event[1] = 32;
    event.writeUInt32LE(window, 4);
    event.writeUInt32LE(await this.#atom("WM_PROTOCOLS"), 8);
    event.writeUInt32LE(await this.#atom("WM_DELETE_WINDOW"), 12);
    this.#send(OPCODE.sendEvent, 0, Buffer.concat([words(window, 0), event]));
    // A round trip: the request has been carried out when this is answered.
    await this.#ask(OPCODE.queryTree, 0, words(this.root));
  }

  /** The whole display as { png, colours }: `colours` is how many different ones there are, at most 256 of them counted. */
  async picture() {
    const area = Buffer.alloc(16);
    area.writeUInt32LE(this.root, 0);
    area.writeUInt16LE(this.width, 8);
    area.writeUInt16LE(this.height, 10);
    area.writeUInt32LE(0xffffffff, 12);
    const pixels = (await this.#ask(OPCODE.getImage, 2, area)).subarray(32);
    const rows = Buffer.alloc(this.height * (1 + 3 * this.width));
    const colours = new Set();
    for (let y = 0, to = 0, from = 0; y < this.height; y += 1) {
      rows[to++] = 0;
      for (let x = 0; x < this.width; x += 1, from += 4) {
        if (colours.size < 256) colours.add(pixels.readUInt32LE(from));
        rows[to++] = pixels[from + 2];
        rows[to++] = pixels[from + 1];
        rows[to++] = pixels[from];
      }
    }
    return { png: png(this.width, this.height, rows), colours: colours.size };
  }
}

function words(...values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => bytes.writeUInt32LE(value, 4 * at));
  return bytes;
}

function padding(length) {
  return Math.ceil(length / 4) * 4;
}

function padded(bytes) {
  return Buffer.concat([bytes, Buffer.alloc(padding(bytes.length) - bytes.length)]);
}

function png(width, height, rows) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const frame = Buffer.alloc(8 + body.length);
    frame.writeUInt32BE(data.length, 0);
    body.copy(frame, 4);
    frame.writeUInt32BE(crc(body), 4 + body.length);
    return frame;
  };
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", zlib.deflateSync(rows, { level: 3 })), chunk("IEND", Buffer.alloc(0))]);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function crc(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
