// A server of versions on this machine, with a key of its own: what a publisher of Carillon would run. It counts what it is asked.

import http from "node:http";
import path from "node:path";
import { makeKey, publicLine, readKey, sign } from "../../scripts/package/sign.mjs";

/** As the app names machines. */
const MACHINE = { x64: "x86_64", arm64: "aarch64" }[process.arch];

export const nameOfVersion = (version, isThin = false) => `Carillon-${version}${isThin ? "-thin" : ""}-${MACHINE}.AppImage`;

export class Versions {
  /** @param folder where its keys may lie */
  static async start(folder) {
    const [file, strangers] = ["key.pem", "strangers.pem"].map((name) => path.join(folder, name));
    for (const each of [file, strangers]) makeKey(each);
    const versions = new Versions(readKey(file), readKey(strangers));
    await new Promise((resolve) => versions.server.listen(0, "127.0.0.1", resolve));
    return versions;
  }

  constructor(key, stranger) {
    Object.assign(this, { key, stranger, asked: [], connections: 0, bodies: new Map() });
    this.server = http.createServer((request, response) => {
      this.asked.push(request.url);
      const body = this.bodies.get(request.url);
      response.writeHead(body === undefined ? 404 : 200).end(body);
    });
    // Whoever connects has asked, whatever comes of it.
    this.server.on("connection", () => (this.connections += 1));
  }

  get origin() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  get address() {
    return `${this.origin}/latest.json`;
  }

  get publicKey() {
    return publicLine(this.key);
  }

  /** Offers `bytes` as a version. `by` signs it, under the file name `signedAs`. */
  offer(version, bytes, { by = this.key, signedAs = nameOfVersion(version), notes = "Rings louder." } = {}) {
    const entry = { url: `${this.origin}/new`, signature: sign(by, bytes, signedAs, 1_700_000_000) };
    const platforms = Object.fromEntries(["", "-thin"].map((variant) => [`linux-${MACHINE}${variant}`, entry]));
    this.bodies.set("/latest.json", JSON.stringify({ version, notes, platforms }));
    this.bodies.set("/new", bytes);
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }
}
