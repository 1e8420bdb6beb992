// Stamps: what something was made from, so that it is made again exactly when that has changed.

import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";

/** One hash over files and whole folders: their names and contents, in a fixed order. What is absent counts as absent. */
export function hashOf(root, names, skipped = []) {
  const hash = crypto.createHash("sha256");
  const skip = new Set(skipped);
  const add = (name) => {
    if (skip.has(name)) return;
    const file = path.join(root, name);
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory()) {
      for (const entry of fs.readdirSync(file).sort()) add(path.join(name, entry));
    } else {
      hash.update(`${name}\0${stat ? stat.size : "absent"}\0`);
      if (stat) hash.update(fs.readFileSync(file));
    }
  };
  for (const name of names) add(name);
  return hash.digest("hex");
}

/** What stands in a stamp; the empty text when there is none. */
export function readStamp(file) {
  try {
    return fs.readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

export function writeStamp(file, text) {
  fs.writeFileSync(file, `${text}\n`);
}
