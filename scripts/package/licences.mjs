// The licences of what is shipped: of the crates and npm packages that are compiled in, and of the system's libraries that are copied.

import fs from "node:fs";
import path from "node:path";
import { output } from "../say.mjs";
import { ROOT } from "../setup.mjs";
import { MACHINE, must } from "./build.mjs";

/** The packages of ours whose programs are shipped. */
const SHIPPED = ["carillon-cli", "carillon-desktop", "carillon-appimage-runtime"];
const LICENCE_FILE = /^(licen[cs]e|copying|notice|unlicense)/i;

/** One text with every third-party package that is compiled in, its licence, and each licence text once. */
export function thirdParty() {
  const packages = [...crates(), ...npmPackages()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const texts = new Map();
  const lines = packages.map(({ name, version, licence, folder }) => {
    const numbers = licenceTexts(folder).map((text) => {
      if (!texts.has(text)) texts.set(text, texts.size + 1);
      return texts.get(text);
    });
    return `${name} ${version}: ${licence}${numbers.length > 0 ? ` (texts ${numbers.join(", ")})` : ""}`;
  });
  const head = "Carillon is made with these packages. Their licence texts stand below, each once.\n";
  const bodies = [...texts].map(([text, number]) => `\n${"=".repeat(78)}\nText ${number}\n${"=".repeat(78)}\n\n${text}\n`);
  return `${head}\n${lines.join("\n")}\n${bodies.join("")}`;
}

function licenceTexts(folder) {
  const names = fs.readdirSync(folder).filter((name) => LICENCE_FILE.test(name)).sort();
  return names.map((name) => path.join(folder, name)).filter((file) => fs.statSync(file).isFile()).map((file) => fs.readFileSync(file, "utf8").trim());
}

function crates() {
  const metadata = JSON.parse(must("cargo", ["metadata", "--format-version=1", "--locked", "--filter-platform", MACHINE.rust], { cwd: ROOT, maxBuffer: 1 << 28 }));
  const byId = new Map(metadata.packages.map((one) => [one.id, one]));
  const nodes = new Map(metadata.resolve.nodes.map((node) => [node.id, node]));
  const open = metadata.packages.filter(({ name, source }) => source === null && SHIPPED.includes(name)).map(({ id }) => id);
  const found = new Set(open);
  while (open.length > 0) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(open.pop()).deps) {
      if (!found.has(pkg) && kinds.some(({ kind }) => kind === null)) {
        found.add(pkg);
        open.push(pkg);
      }
    }
  }
  const theirs = [...found].map((id) => byId.get(id)).filter(({ source }) => source !== null);
  return theirs.map((one) => ({ name: one.name, version: one.version, licence: one.license ?? "see its text", folder: path.dirname(one.manifest_path) }));
}

/** What the window's page is built from. Tools of the build are not part of it. */
function npmPackages() {
  const { packages } = JSON.parse(fs.readFileSync(path.join(ROOT, "package-lock.json"), "utf8"));
  const shipped = Object.entries(packages).filter(([folder, one]) => folder.startsWith("node_modules/") && !one.dev);
  return shipped.map(([folder, one]) => ({
    name: folder.slice("node_modules/".length),
    version: one.version,
    licence: one.license ?? "see its text",
    folder: path.join(ROOT, folder),
  }));
}

/**
 * Lays the licences of copied libraries under `folder`, with a list of where each comes from.
 * @param {Map<string, string>} libraries the name in the image and the file that it was copied from
 */
export function layLibraryLicences(folder, libraries) {
  fs.mkdirSync(folder, { recursive: true });
  const byPackage = new Map();
  for (const [name, file] of libraries) {
    const owner = packageOf(file);
    if (!byPackage.has(owner)) byPackage.set(owner, []);
    byPackage.get(owner).push(name);
  }
  const lines = [];
  for (const [owner, names] of [...byPackage].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const source = output("dpkg-query", ["-W", "-f", "${source:Package} ${source:Version}", owner]);
    lines.push(`${owner} (source: ${source ?? "unknown"}): ${names.sort().join(" ")}`);
    const copyright = path.join("/usr/share/doc", owner.split(":")[0], "copyright");
    if (fs.existsSync(copyright)) fs.copyFileSync(copyright, path.join(folder, `${owner.split(":")[0]}.copyright`));
  }
  fs.writeFileSync(path.join(folder, "LIBRARIES.txt"), `${ABOUT_LIBRARIES}\n${lines.join("\n")}\n`);
}

const ABOUT_LIBRARIES = `The AppImage carries these files of the system that it was built on, each package with its copyright file here.

Changes: the search path of each library was set to its own folder (patchelf --set-rpath). In libwebkit2gtk the folder of its
helper programs, an absolute path, was replaced by a relative one of the same length, so that they are found in the image. Nothing
else was changed. Their sources are those of the packages named below.

You may replace any of them: unpack the AppImage with --appimage-extract, put your own library in its place, and run AppRun, or pack
the folder again with mksquashfs behind the first bytes of this file, as many as --appimage-offset says.
`;

/** Which package a file is of. The same file may go by a path with or without /usr. */
function packageOf(file) {
  for (const name of [file, file.replace(/^\/usr/, ""), `/usr${file}`]) {
    const found = output("dpkg", ["-S", name]);
    if (found) return found.split("\n")[0].split(": ")[0].split(",")[0];
  }
  return "unknown";
}
