// The Debian package: the same files as in the AppImage, with the system's own libraries.

import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { say, Stop } from "../say.mjs";
import { ROOT } from "../setup.mjs";
import { changesOf, even, MACHINE, must, OUT, sourceTime, version } from "./build.mjs";
import { layTree, validate } from "./tree.mjs";

/** Debian wants an address that letters could be sent to; this one is reserved for nobody. */
const MAINTAINER = "The Carillon authors <authors@carillon.invalid>";

export function nameOfDeb() {
  return `carillon_${version()}_${MACHINE.debian}.deb`;
}

/** Packs the programs in `binaries`; answers the file. `level` is of compression, 0 to 9. */
export function makeDeb(binaries, level = 6) {
  const root = path.join(OUT, "deb");
  fs.rmSync(root, { recursive: true, force: true });
  layTree(root, binaries);
  validate(root);
  layTexts(root);
  const programs = ["carillon-desktop", "carillon"].map((name) => path.join(root, "usr/bin", name));
  const control = path.join(root, "DEBIAN");
  fs.mkdirSync(control);
  fs.writeFileSync(path.join(control, "control"), description(neededLibraries(programs), root));
  fs.writeFileSync(path.join(control, "md5sums"), checksums(root));
  even(root, sourceTime());
  const file = path.join(OUT, nameOfDeb());
  must("dpkg-deb", ["--root-owner-group", "-Zxz", `-z${level}`, "--build", root, file], { env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceTime()) } });
  say.done(`${path.relative(process.cwd(), file)} (${(fs.statSync(file).size / 1e6).toFixed(1)} MB)`);
  return file;
}

/** What a package has besides: its changes, in Debian's form and as they are, and pages of the manual. */
function layTexts(root) {
  const put = (name, text) => {
    const file = path.join(root, "usr/share", `${name}.gz`);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, gzipSync(text, { level: 9 }));
  };
  const changes = fs.readFileSync(path.join(ROOT, "CHANGELOG.md"), "utf8");
  put("doc/carillon/CHANGELOG.md", changes);
  put("doc/carillon/changelog", debianChanges(changesOf(changes, version())));
  const date = new Date(sourceTime() * 1000).toISOString().slice(0, 10);
  const pages = path.join(ROOT, "packaging/man");
  for (const name of fs.readdirSync(pages)) {
    put(`man/man1/${name}`, fs.readFileSync(path.join(pages, name), "utf8").replace("@VERSION@", version()).replace("@DATE@", date));
  }
}

/** The changes of one version as Debian writes them (deb-changelog(5)): one item each, in lines of at most 80 characters. */
export function debianChanges(text, time_s = sourceTime()) {
  const items = [];
  for (const line of text.split("\n").filter((one) => one !== "" && !one.startsWith("#"))) {
    if (line.startsWith("- ")) items.push(line.slice(2));
    else items.push(`${items.pop() ?? ""} ${line.trim()}`.trim());
  }
  const date = new Date(time_s * 1000).toUTCString().replace("GMT", "+0000");
  return `carillon (${version()}) unstable; urgency=medium\n\n${items.map(folded).join("\n")}\n\n -- ${MAINTAINER}  ${date}\n`;
}

function folded(item) {
  const lines = ["  *"];
  for (const word of item.split(/\s+/)) {
    if (lines.at(-1).length + word.length < 80) lines.push(`${lines.pop()} ${word}`);
    else lines.push(`    ${word}`);
  }
  return lines.join("\n");
}

/** As md5sum prints them; dpkg --verify reads it. */
function checksums(root) {
  const files = fs.readdirSync(path.join(root, "usr"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = files.map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name))).sort();
  return names.map((name) => `${crypto.createHash("md5").update(fs.readFileSync(path.join(root, name))).digest("hex")}  ${name}\n`).join("");
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
Maintainer: ${MAINTAINER}
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
