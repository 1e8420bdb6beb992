// The libraries that a full AppImage carries, and those that must be the host's.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Stop } from "../say.mjs";
import { MACHINE, must } from "./build.mjs";

/**
 * Never carried. They belong to the host's kernel, drivers, display server or fonts, and another version beside those breaks them: the C
 * library with what must fit it, OpenGL and its drivers, X11, Wayland, sound, and the chain that finds and shapes the host's fonts.
 */
export const HOSTS = new RegExp(
  `^(ld-linux.*|lib(${[
    "anl|BrokenLocale|c|dl|m|mvec|nss_.*|pthread|resolv|rt|thread_db|util|stdc\\+\\+|gcc_s",
    "GL|EGL|GLdispatch|GLX|OpenGL|GLESv2|drm.*|glapi|gbm|LLVM.*|va.*|vulkan",
    "xcb|xcb-dri[23]|X11|X11-xcb|ICE|SM|wayland-.*|asound",
    "fontconfig|freetype|harfbuzz|fribidi|thai|expat|uuid|z|p11-kit|gmp",
  ].join("|")}))\\.so(\\..*)?$`,
);

/** WebKit's programs, and what it loads by name: no list of needed libraries tells of these. */
const WEBKIT = ["WebKitNetworkProcess", "WebKitWebProcess", "WebKitGPUProcess", "injected-bundle/libwebkit2gtkinjectedbundle.so"];
/** The user's settings of the desktop: theme, fonts, dark or light. TLS is left out: the window loads nothing from the network. */
const GIO_MODULES = ["libdconfsettings.so"];
/** Keyboards that compose, by the display server. Other input methods bring libraries of their own that only fit the host's. */
const INPUT_METHODS = ["im-xim.so", "im-wayland.so"];
const PICTURES = ["libpixbufloader-svg.so"];

/** Copies what `program` (a path in `root`) and the toolkit need into the AppDir `root`; answers the names with where they are from. */
export function layLibraries(root, program) {
  const system = path.join("/usr/lib", MACHINE.triplet);
  const own = path.join(root, "usr/lib");
  const loaded = [
    ...WEBKIT.map((name) => [`webkit2gtk-4.1/${name}`, path.join(system, "webkit2gtk-4.1", name)]),
    ...GIO_MODULES.map((name) => [`gio/modules/${name}`, path.join(system, "gio/modules", name)]),
    ...INPUT_METHODS.map((name) => [`gtk-3.0/3.0.0/immodules/${name}`, path.join(system, "gtk-3.0/3.0.0/immodules", name)]),
    ...PICTURES.map((name) => [`gdk-pixbuf-2.0/loaders/${name}`, path.join(system, "gdk-pixbuf-2.0/2.10.0/loaders", name)]),
  ].filter(([, file]) => fs.existsSync(file));
  const needed = new Map();
  for (const file of [program, ...loaded.map(([, file]) => file)]) {
    for (const [name, found] of neededBy(file)) if (!HOSTS.test(name)) needed.set(name, found);
  }
  const from = new Map([...needed, ...loaded]);
  for (const [name, file] of from) {
    const target = path.join(own, name);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.copyFileSync(fs.realpathSync(file), target);
    fs.chmodSync(target, 0o755);
    const up = path.relative(path.dirname(target), own);
    must("patchelf", ["--set-rpath", up === "" ? "$ORIGIN" : `$ORIGIN/${up}`, target]);
  }
  must("patchelf", ["--set-rpath", "$ORIGIN/../lib", program]);
  moveHelpers(path.join(own, "libwebkit2gtk-4.1.so.0"), path.join(system, "webkit2gtk-4.1"));
  layCaches(own, system);
  laySchemas(root);
  return new Map([...from].map(([name, file]) => [name, fs.realpathSync(file)]));
}

/** The libraries that a file needs, all the way down, as [name, path]. */
function neededBy(file) {
  const { status, stdout } = spawnSync("ldd", [file], { encoding: "utf8" });
  if (status !== 0) throw new Stop(`ldd cannot read ${file}.`);
  const missing = /^\s*(\S+) => not found/m.exec(stdout);
  if (missing) throw new Stop(`${file} needs ${missing[1]}, which is not installed.`);
  return [...stdout.matchAll(/^\s*(\S+) => (\/\S+)/gm)].map(([, name, found]) => [name, found]);
}

/**
 * WebKit's library knows the folder of its helper programs by an absolute path. It becomes one that is relative to the app's working
 * directory, `usr` of the image, and just as long: slashes do not count.
 */
function moveHelpers(library, folder) {
  const before = Buffer.from(folder);
  const end = "lib/webkit2gtk-4.1";
  const after = Buffer.from(`.${"/".repeat(before.length - end.length - 1)}${end}`);
  const bytes = fs.readFileSync(library);
  let count = 0;
  for (let at = bytes.indexOf(before); at >= 0; at = bytes.indexOf(before, at + after.length)) {
    after.copy(bytes, at);
    count += 1;
  }
  // The folder itself and the one of the injected bundle.
  if (count < 2) throw new Stop(`${library} names its helpers' folder ${count} times; this version of WebKitGTK is built in another way.`);
  fs.writeFileSync(library, bytes);
}

/** The lists of modules, with paths that are relative to the app's working directory. */
function layCaches(own, system) {
  const only = (text, names) => {
    const blocks = text.split(/\n\s*\n/).filter((block) => names.some((name) => block.includes(`/${name}"`)));
    return `${blocks.map((block) => block.trim()).join("\n\n")}\n`;
  };
  const pictures = fs.readFileSync(path.join(system, "gdk-pixbuf-2.0/2.10.0/loaders.cache"), "utf8");
  const methods = fs.readFileSync(path.join(system, "gtk-3.0/3.0.0/immodules.cache"), "utf8");
  const relative = (text, before, after) => text.replaceAll(`"${before}/`, `"./lib/${after}/`);
  const write = (name, text) => {
    fs.mkdirSync(path.dirname(path.join(own, name)), { recursive: true });
    fs.writeFileSync(path.join(own, name), text.split("\n").filter((line) => !line.startsWith("#")).join("\n"));
  };
  write("gdk-pixbuf-2.0/loaders.cache", relative(only(pictures, PICTURES), path.join(system, "gdk-pixbuf-2.0/2.10.0/loaders"), "gdk-pixbuf-2.0/loaders"));
  write("gtk-3.0/immodules.cache", relative(only(methods, INPUT_METHODS), path.join(system, "gtk-3.0/3.0.0/immodules"), "gtk-3.0/3.0.0/immodules"));
}

/** The toolkit's own settings and those of the desktop: without the first, its file dialog ends the program on a host without GTK. */
function laySchemas(root) {
  const from = "/usr/share/glib-2.0/schemas";
  const folder = path.join(root, "usr/share/glib-2.0/schemas");
  fs.mkdirSync(folder, { recursive: true });
  for (const name of fs.readdirSync(from).filter((name) => /^(org\.gtk\.Settings|org\.gnome\.desktop)\..*\.xml$/.test(name))) {
    fs.copyFileSync(path.join(from, name), path.join(folder, name));
  }
  must("glib-compile-schemas", [folder]);
  for (const name of fs.readdirSync(folder).filter((name) => name.endsWith(".xml"))) fs.rmSync(path.join(folder, name));
}
