// The Debian package: the same files as in the AppImage, with the system's own libraries.

import fs from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { say, Stop } from "../say.mjs";
import { ROOT } from "../setup.mjs";
import { even, MACHINE, must, OUT, sourceTime, version } from "./build.mjs";
import { layTree, validate } from "./tree.mjs";

export function nameOfDeb() {
  return `carillon_${version()}_${MACHINE.debian}.deb`;
}

/** Packs the programs in `binaries`; answers the file. */
export function makeDeb(binaries) {
  const root = path.join(OUT, "deb");
  fs.rmSync(root, { recursive: true, force: true });
  layTree(root, binaries);
  validate(root);
  const changes = gzipSync(fs.readFileSync(path.join(ROOT, "CHANGELOG.md")), { level: 9 });
  fs.writeFileSync(path.join(root, "usr/share/doc/carillon/changelog.gz"), changes);
  const programs = ["carillon-desktop", "carillon"].map((name) => path.join(root, "usr/bin", name));
  const control = path.join(root, "DEBIAN");
  fs.mkdirSync(control);
  fs.writeFileSync(path.join(control, "control"), description(neededLibraries(programs), root));
  even(root, sourceTime());
  const file = path.join(OUT, nameOfDeb());
  must("dpkg-deb", ["--root-owner-group", "-Zxz", "--build", root, file], { env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceTime()) } });
  say.done(`${path.relative(process.cwd(), file)} (${(fs.statSync(file).size / 1e6).toFixed(1)} MB)`);
  return file;
}

/** The packages of the libraries that the programs need, in the versions whose symbols they use. */
function neededLibraries(programs) {
  // The tool wants to stand in a source package; this is as much of one as it reads.
  const source = path.join(OUT, "deb-source");
  fs.mkdirSync(path.join(source, "debian"), { recursive: true });
  fs.writeFileSync(path.join(source, "debian/control"), "Source: carillon\n\nPackage: carillon\nArchitecture: any\n");
  const said = must("dpkg-shlibdeps", ["-O", ...programs], { cwd: source });
  fs.rmSync(source, { recursive: true });
  const found = /^shlibs:Depends=(.*)$/m.exec(said)?.[1];
  if (!found) throw new Stop("dpkg-shlibdeps did not tell which libraries are needed.", said);
  return found;
}

function description(libraries, root) {
  const bytes = fs.readdirSync(path.join(root, "usr"), { recursive: true, withFileTypes: true });
  const size = bytes.filter((entry) => entry.isFile()).reduce((sum, entry) => sum + fs.statSync(path.join(entry.parentPath ?? entry.path, entry.name)).size, 0);
  return `Package: carillon
Version: ${version()}
Architecture: ${MACHINE.debian}
Maintainer: The Carillon authors
Installed-Size: ${Math.ceil(size / 1024)}
Depends: ${libraries}, git
Section: devel
Priority: optional
Description: run several coding agents on your git repositories
 Carillon runs coding agents (Claude Code, Codex, Gemini CLI, OpenCode, or any
 program) side by side on your git repositories. Commands that they start in
 the background outlive the pane, the turn and the app.
`;
}
