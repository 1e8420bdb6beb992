// The files of an installed Carillon, as they stand under a prefix: the same in the AppImage and in the Debian package.

import fs from "node:fs";
import path from "node:path";
import { ROOT } from "../setup.mjs";
import { must, sourceTime, version } from "./build.mjs";
import { thirdParty } from "./licences.mjs";

export const ID = "dev.carillon.desktop";
const PACKAGING = path.join(ROOT, "packaging");

/** Lays the programs of `binaries`, the menu entry, icons, metadata and licences under `root`/usr. */
export function layTree(root, binaries) {
  const put = (from, to, mode = 0o644) => {
    const target = path.join(root, "usr", to);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.copyFileSync(from, target);
    fs.chmodSync(target, mode);
  };
  for (const name of ["carillon-desktop", "carillon"]) put(path.join(binaries, name), `bin/${name}`, 0o755);
  put(path.join(PACKAGING, `${ID}.desktop`), `share/applications/${ID}.desktop`);
  put(path.join(PACKAGING, "carillon.svg"), `share/icons/hicolor/scalable/apps/${ID}.svg`);
  for (const file of fs.readdirSync(path.join(PACKAGING, "icons"))) {
    const size = path.basename(file, ".png");
    put(path.join(PACKAGING, "icons", file), `share/icons/hicolor/${size}x${size}/apps/${ID}.png`);
  }
  put(path.join(ROOT, "LICENSE"), "share/doc/carillon/copyright");
  const write = (to, text) => {
    const target = path.join(root, "usr", to);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, text);
  };
  const date = new Date(sourceTime() * 1000).toISOString().slice(0, 10);
  const metadata = fs.readFileSync(path.join(PACKAGING, `${ID}.metainfo.xml`), "utf8");
  write(`share/metainfo/${ID}.metainfo.xml`, metadata.replace("@VERSION@", version()).replace("@DATE@", date));
  write("share/doc/carillon/THIRD-PARTY.txt", thirdParty());
}

/** Has the validators of desktop files and AppStream read what was laid. */
export function validate(root) {
  must("desktop-file-validate", [path.join(root, "usr/share/applications", `${ID}.desktop`)]);
  must("appstreamcli", ["validate", "--no-net", path.join(root, "usr/share/metainfo", `${ID}.metainfo.xml`)]);
}
