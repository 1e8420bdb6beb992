// Memory as the kernel counts it, in MiB.
//
// RSS counts a shared page for everybody who uses it; PSS gives each user his share, so it may be added up; private is what would be free
// again if the process ended.

import fs from "node:fs";
import { descendants, processes } from "../e2e/processes.mjs";

const KIB = 1 / 1024;

function field(text, name) {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text);
  return found ? Number(found[1]) * KIB : 0;
}

/** One process as { rss, pss, own }; null when it has gone. */
export function memoryOf(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return { rss: field(text, "Rss"), pss: field(text, "Pss"), own: field(text, "Private_Clean") + field(text, "Private_Dirty") };
  } catch {
    return null;
  }
}

/** These processes with all their descendants: { rss, pss, own, byName }. Names are counted with how many carry them. */
export function treeMemory(pids) {
  const all = new Map();
  const known = processes();
  for (const pid of pids) for (const one of [...known.filter((each) => each.pid === pid), ...descendants(pid)]) all.set(one.pid, one.name);
  const sum = { rss: 0, pss: 0, own: 0, byName: {} };
  for (const [pid, name] of all) {
    const memory = memoryOf(pid);
    if (!memory) continue;
    const group = (sum.byName[name] ??= { count: 0, rss: 0, pss: 0, own: 0 });
    group.count += 1;
    for (const kind of ["rss", "pss", "own"]) {
      sum[kind] += memory[kind];
      group[kind] += memory[kind];
    }
  }
  return sum;
}

/** Begins to count the highest resident memory of a process anew. */
export function resetPeak(pid) {
  fs.writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** The highest resident memory of a process since the last reset. */
export function peakOf(pid) {
  return field(fs.readFileSync(`/proc/${pid}/status`, "utf8"), "VmHWM");
}

/** Waits until memory stands still: less than 1 % between two looks a second apart. */
export async function settled(look, tries = 12) {
  let before = look();
  for (let at = 0; at < tries; at += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const now = look();
    if (Math.abs(now.pss - before.pss) < 0.01 * before.pss) return now;
    before = now;
  }
  return before;
}
