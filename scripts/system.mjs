// The system's own packages: which are needed, which are missing, and how they get here (Debian, Ubuntu and what descends from them).

import fs from "node:fs";
import { output, run, say, Stop } from "./say.mjs";

/** For the build and the window. */
const FOR_START = ["build-essential", "pkg-config", "libwebkit2gtk-4.1-dev"];
/** For making packages, besides: images, search paths of libraries, and the validators of what describes the app. */
const FOR_PACKAGE = ["squashfs-tools", "patchelf", "desktop-file-utils", "appstream", "dpkg-dev"];
/** For the tests, besides: a display, a driver and a bus for the window, and mounting as a user does for the AppImage. */
const FOR_TEST = ["xvfb", "webkit2gtk-driver", "dbus", "fuse3"];

/** The names of the packages that `purpose` ("start", "package" or "test") needs. */
export function neededPackages(purpose) {
  const more = { start: [], package: FOR_PACKAGE, test: [...FOR_PACKAGE, ...FOR_TEST] };
  return [...FOR_START, ...more[purpose]];
}

/** Whether the system has apt's packages, by what it says about itself. */
export function isDebianLike(release) {
  const ids = [...release.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].flatMap(([, value]) => value.replaceAll(/["']/g, "").split(/\s+/));
  return ids.includes("debian") || ids.includes("ubuntu");
}

/** The packages of `names` that are not installed. */
export function missingPackages(names) {
  // It exits with 1 as soon as one is unknown, and still prints the others: what it prints is what counts.
  const listed = output("sh", ["-c", `dpkg-query -W -f '\${db:Status-Status} \${Package}\\n' "$@" 2>/dev/null || true`, "sh", ...names]) ?? "";
  const installed = new Set(listed.split("\n").filter((line) => line.startsWith("installed ")).map((line) => line.slice("installed ".length)));
  return names.filter((name) => !installed.has(name));
}

/** Makes sure that the packages are there. */
export async function systemPackages(purpose, release = osRelease()) {
  if (process.platform !== "linux") {
    throw new Stop(`Carillon's window runs on Linux for now, not on ${process.platform}.`, "Clone it on a Linux machine, or in a Linux virtual machine.");
  }
  const names = neededPackages(purpose);
  if (!isDebianLike(release)) return otherSystem(names);
  const missing = missingPackages(names);
  if (missing.length > 0) await install(missing);
  say.done("system packages");
}

function osRelease() {
  try {
    return fs.readFileSync("/etc/os-release", "utf8");
  } catch {
    return "";
  }
}

/** Another Linux: its packages have other names, so it is asked for what counts, and the rest is left to the user. */
function otherSystem(names) {
  const library = "webkit2gtk-4.1";
  if (output("pkg-config", ["--exists", library]) === null) {
    throw new Stop(
      `This is neither Debian nor Ubuntu, and the development files of ${library} were not found.`,
      `Install your system's counterparts of these Debian packages, then try again: ${names.join(", ")}`,
    );
  }
  say.done(`system packages (${library} is here; the others are not checked on this system)`);
}

async function install(missing) {
  const command = ["apt-get", "install", "-y", "--no-install-recommends", ...missing];
  const wayOut = `Run this, then try again:\n${process.getuid() === 0 ? "" : "sudo "}${command.join(" ")}`;
  const prefix = asRoot();
  if (!prefix) throw new Stop(`System packages are missing, and installing them takes root: ${missing.join(", ")}`, wayOut);
  say.busy(`installing ${missing.length} system package${missing.length === 1 ? "" : "s"}: ${missing.join(", ")}`);
  const apt = (...args) => run(prefix[0] ?? "apt-get", prefix.length > 0 ? [...prefix.slice(1), "apt-get", ...args] : args, { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
  const waiting = ["-q", "-o", "DPkg::Lock::Timeout=300"];
  // A source that cannot be reached need not be the one that has our packages: whether they can be installed decides.
  if ((await apt("update", ...waiting)) !== 0) say.bad("apt-get update had trouble; trying all the same");
  const code = await apt(...command.slice(1), ...waiting);
  const still = missingPackages(missing);
  if (code !== 0 || still.length > 0) {
    const old = still.includes("libwebkit2gtk-4.1-dev") ? "\nlibwebkit2gtk-4.1-dev is in Debian 12, Ubuntu 22.04 and later." : "";
    throw new Stop(`apt-get could not install: ${(still.length > 0 ? still : missing).join(", ")}`, wayOut + old);
  }
}

/** How a command is run as root: [] when we are, the words before it, or null when there is no way. */
function asRoot() {
  if (process.getuid() === 0) return [];
  if (output("sudo", ["-n", "true"]) !== null) return ["sudo", "-n", "--preserve-env=DEBIAN_FRONTEND"];
  // With a terminal, sudo can ask for the password.
  return process.stdin.isTTY && output("sudo", ["-V"]) !== null ? ["sudo", "--preserve-env=DEBIAN_FRONTEND"] : null;
}
