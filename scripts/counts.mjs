// How many tests a runner says have passed and failed, read from the end of what it printed.

/** Without the colours. */
function plain(text) {
  return text.replaceAll(/\u001b\[[0-9;]*m/g, "");
}

/** Of nextest: "Summary [ 12.3s] 210 tests run: 208 passed (1 slow), 1 failed, 1 timed out, 3 skipped". Every kind but passed is a failure. */
export function nextestCounts(text) {
  const found = [...plain(text).matchAll(/(?:(\d+)\/)?(\d+) tests? run: (\d+) passed/g)].at(-1);
  if (!found) return { passed: 0, failed: 0 };
  // "90/210 tests run" says that the run was cut short: what has not run has not passed.
  const [, , total, passed] = found;
  return { passed: Number(passed), failed: Number(total) - Number(passed) };
}

/** Of node's own runner: "ℹ pass 4" and "ℹ fail 0". */
export function nodeCounts(text) {
  const number = (name) => Number([...plain(text).matchAll(new RegExp(`^[ℹ#] ${name} (\\d+)$`, "gm"))].at(-1)?.[1] ?? 0);
  return { passed: number("pass"), failed: number("fail") + number("cancelled") };
}

/** Whatever was counted, a program that failed has failed at least once. */
export function honest(code, { passed, failed }) {
  return { passed, failed: code === 0 ? failed : Math.max(1, failed) };
}
