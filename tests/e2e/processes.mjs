// What /proc says about processes: who is whose child, and who carries a given variable.

import fs from "node:fs";

function read(path) {
  try {
    return fs.readFileSync(path);
  } catch {
    // Ended meanwhile, or not ours.
    return null;
  }
}

/** All processes as { pid, parent, name, state }. */
export function processes() {
  const found = [];
  for (const entry of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = read(`/proc/${entry}/stat`)?.toString("latin1");
    if (!stat) continue;
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    found.push({ pid: Number(entry), parent: Number(parent), name: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")), state });
  }
  return found;
}

/** All descendants of `pid`. */
export function descendants(pid) {
  const all = processes();
  const found = [];
  const parents = [pid];
  while (parents.length > 0) {
    const parent = parents.pop();
    for (const one of all) {
      if (one.parent === parent) {
        found.push(one);
        parents.push(one.pid);
      }
    }
  }
  return found;
}

/** All processes whose environment, when they were started, held `name=value`; the dead that nobody has waited for are not counted. */
export function carriers(name, value) {
  const wanted = `${name}=${value}`;
  return processes().filter((one) => one.state !== "Z" && (read(`/proc/${one.pid}/environ`)?.toString().split("\0").includes(wanted) ?? false));
}

/** The environment that a process was started with, as "NAME=value". */
export function variables(pid) {
  return (read(`/proc/${pid}/environ`)?.toString() ?? "").split("\0").filter(Boolean);
}

export function isAlive(pid) {
  return processes().some((one) => one.pid === pid && one.state !== "Z");
}
