// An AppImage from built programs: the start-up program, and behind it a squashfs image of the AppDir.

import fs from "node:fs";
import path from "node:path";
import { say } from "../say.mjs";
import { even, MACHINE, must, OUT, sourceTime, version } from "./build.mjs";
import { layLibraries } from "./libraries.mjs";
import { layLibraryLicences } from "./licences.mjs";
import { ID, layTree, validate } from "./tree.mjs";

/** Where the start-up program says what it is (AppImageSpec, type 2). */
const MARK = { at: 8, bytes: Buffer.from([0x41, 0x49, 0x02]) };

/** The name of the file: the thin one says that it is. */
export function nameOf(isThin) {
  return `Carillon-${version()}${isThin ? "-thin" : ""}-${MACHINE.appimage}.AppImage`;
}

/**
 * @param binaries the folder with both programs @param runtime the start-up program
 * @param isThin without WebKitGTK, which the host must have @param level of compression, 1 to 22
 * @param out the file to make; in OUT by default
 */
export function makeAppImage({ binaries, runtime, isThin = false, level = 19, out = path.join(OUT, nameOf(isThin)) }) {
  const folder = path.join(OUT, `${isThin ? "thin" : "full"}.AppDir`);
  fs.rmSync(folder, { recursive: true, force: true });
  layTree(folder, binaries);
  fs.symlinkSync("usr/bin/carillon-desktop", path.join(folder, "AppRun"));
  fs.symlinkSync(`usr/share/applications/${ID}.desktop`, path.join(folder, `${ID}.desktop`));
  fs.symlinkSync(`usr/share/icons/hicolor/256x256/apps/${ID}.png`, path.join(folder, `${ID}.png`));
  fs.symlinkSync(`${ID}.png`, path.join(folder, ".DirIcon"));
  validate(folder);
  if (!isThin) {
    const libraries = layLibraries(folder, path.join(folder, "usr/bin/carillon-desktop"));
    layLibraryLicences(path.join(folder, "usr/share/doc/carillon/libraries"), libraries);
  }
  even(folder, sourceTime());
  const image = path.join(OUT, `${path.basename(out)}.squashfs`);
  fs.rmSync(image, { force: true });
  const time = String(sourceTime());
  const options = ["-root-owned", "-noappend", "-quiet", "-no-progress", "-no-xattrs", "-no-exports", "-no-fragments", "-mkfs-time", time, "-all-time", time];
  // SOURCE_DATE_EPOCH and the options say the same, and mksquashfs takes only one of them.
  const { SOURCE_DATE_EPOCH: _, ...env } = process.env;
  must("mksquashfs", [folder, image, ...options, "-comp", "zstd", "-Xcompression-level", String(level), "-b", "128K"], { env });
  const start = fs.readFileSync(runtime);
  MARK.bytes.copy(start, MARK.at);
  fs.mkdirSync(path.dirname(out), { recursive: true });
  const part = `${out}.part`;
  fs.writeFileSync(part, Buffer.concat([start, fs.readFileSync(image)]), { mode: 0o755 });
  fs.chmodSync(part, 0o755);
  fs.renameSync(part, out);
  fs.rmSync(image);
  say.done(`${path.relative(process.cwd(), out)} (${(fs.statSync(out).size / 1e6).toFixed(1)} MB)`);
  return out;
}
