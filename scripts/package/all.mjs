// node scripts/package/all.mjs FOLDER: both AppImages and the Debian package, in FOLDER.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { tellStops } from "../say.mjs";
import { setUp } from "../setup.mjs";
import { makeAppImage, nameOf } from "./appimage.mjs";
import { buildPrograms, buildRuntime } from "./build.mjs";
import { makeDeb } from "./deb.mjs";

export async function makeAll(folder) {
  const [binaries, runtime] = [await buildPrograms(), await buildRuntime()];
  for (const isThin of [false, true]) makeAppImage({ binaries, runtime, isThin, out: path.join(folder, nameOf(isThin)) });
  const deb = makeDeb(binaries);
  fs.copyFileSync(deb, path.join(folder, path.basename(deb)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await tellStops(async () => {
    await setUp("package");
    await makeAll(path.resolve(process.argv[2]));
  });
}
