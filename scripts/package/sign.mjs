// node scripts/package/sign.mjs new FILE: makes a key to sign updates with, in FILE, and prints its public part.
//
// Signatures are minisign's (prehashed Ed25519), in the form that Tauri's updater reads: the signature file in base64. What is signed
// is the file and its name, so that nobody can give out an older file, or another variant, as the one that was asked for.

import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Stop, tellStops } from "../say.mjs";

/** minisign's names of its algorithms: of keys, and of signatures of a hash. */
const KEY = Buffer.from("Ed");
const HASHED = Buffer.from("ED");

/** The secret key in a PEM file (PKCS 8), with its public part and its number, which is derived from that. */
export function readKey(file) {
  const secret = crypto.createPrivateKey(fs.readFileSync(file));
  if (secret.asymmetricKeyType !== "ed25519") throw new Stop(`${file} holds no Ed25519 key.`, "Make one: node scripts/package/sign.mjs new FILE");
  // The last 32 bytes of the standard form are the key itself.
  const key = crypto.createPublicKey(secret).export({ type: "spki", format: "der" }).subarray(-32);
  return { secret, key, number: crypto.createHash("sha256").update(key).digest().subarray(0, 8) };
}

/** Makes a new key in a file that nobody else may read, and answers its public part. */
export function makeKey(file) {
  const { privateKey } = crypto.generateKeyPairSync("ed25519");
  fs.writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx" });
  return publicLine(readKey(file));
}

/** The public key in the one line that minisign prints. */
export function publicLine({ key, number }) {
  return Buffer.concat([KEY, number, key]).toString("base64");
}

/** The signature of `bytes` under the name `name`, made at `time_s` (seconds since 1970). */
export function sign({ secret, number }, bytes, name, time_s) {
  const hash = crypto.createHash("blake2b512").update(bytes).digest();
  const signature = crypto.sign(null, hash, secret);
  const comment = `timestamp:${time_s}\tfile:${name}`;
  const whole = crypto.sign(null, Buffer.concat([signature, Buffer.from(comment)]), secret);
  const line = Buffer.concat([HASHED, number, signature]).toString("base64");
  const text = `untrusted comment: signature of ${name}\n${line}\ntrusted comment: ${comment}\n${whole.toString("base64")}\n`;
  return Buffer.from(text).toString("base64");
}

/**
 * The list of versions that the app asks for.
 * @param {{file: string, isThin: boolean}[]} files of the version @param {string} address of the folder in which they will lie
 */
export function updateList({ key, version, notes, time_s, machine, files, address }) {
  const entry = ({ file, isThin }) => {
    const name = path.basename(file);
    const url = new URL(encodeURIComponent(name), address.endsWith("/") ? address : `${address}/`).href;
    return [`linux-${machine}${isThin ? "-thin" : ""}`, { url, signature: sign(key, fs.readFileSync(file), name, time_s) }];
  };
  return { version, notes, pub_date: new Date(time_s * 1000).toISOString(), platforms: Object.fromEntries(files.map(entry)) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await tellStops(async () => {
    const [word, file] = process.argv.slice(2);
    if (word !== "new" || !file) throw new Stop("Usage: node scripts/package/sign.mjs new FILE");
    if (fs.existsSync(file)) throw new Stop(`${file} is there already; a key is not written over.`);
    console.log(makeKey(file));
  });
}
