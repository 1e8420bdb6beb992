// Agent programs from npm, in a cache outside the repository, so that they are fetched once.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const CACHE = process.env.CARILLON_TEST_CACHE ?? path.join(os.userInfo().homedir, ".cache", "carillon-tests", "programs");

/** Installs a package in exactly this version and answers where its programs are. */
export function installed(name, version) {
  const folder = path.join(CACHE, `${name.replaceAll("/", "+")}@${version}`);
  const bin = path.join(folder, "node_modules", ".bin");
  const done = path.join(folder, "installed");
  if (!fs.existsSync(done)) {
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true }));
    const npm = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--silent", `${name}@${version}`], { cwd: folder, encoding: "utf8" });
    if (npm.status !== 0) throw new Error(`${name}@${version} could not be installed: ${npm.stderr}`);
    fs.writeFileSync(done, "");
  }
  return { bin, version };
}
