import { describe, expect, it } from "vitest";
import type { Task } from "../generated/api";
import { byteSize, duration } from "../shared/text";
import { commandLine, taskName, taskOutcome } from "./words";

const task = (part: Partial<Task>): Task => ({
  id: "t", project: "p", owner: null, title: "", command: ["true"], cwd: "/", state: "succeeded", exit_code: null, signal: null, reason: null, attempt: 1, joined_ask: null,
  log_bytes: 0, log_truncated: false, created_ms: 0, started_ms: null, ended_ms: null, tty: false, output_held: false, left_over: [], ...part,
});

describe("how a task ended", () => {
  it.each([
    [{ state: "succeeded", reason: "exited 0" }, "succeeded"],
    [{ state: "failed", reason: "exited 3" }, "failed: exited 3"],
    [{ state: "failed", signal: 9 }, "failed: killed by signal 9"],
    [{ state: "cancelled", reason: "cancelled by you", signal: 15 }, "cancelled by you"],
    [{ state: "lost", reason: "lost: the machine was restarted" }, "lost: the machine was restarted"],
    [{ state: "timed_out", reason: "timed out" }, "timed out"],
    [{ state: "running", reason: null }, "running"],
    [{ state: "failed", reason: "exited\u001b[31m 3\u202e" }, "failed: exited [31m 3"],
  ] as [Partial<Task>, string][])("%o is %s", (part, words) => {
    expect(taskOutcome(task(part))).toBe(words);
  });

  it("has no word of failure when it was cancelled, whatever the signal", () => {
    expect(taskOutcome(task({ state: "cancelled", signal: 15, exit_code: 143 }))).not.toMatch(/fail|143/);
  });

  it("says what is being asked of it first", () => {
    expect(taskOutcome(task({ state: "running" }), "cancelling")).toBe("cancelling…");
  });
});

describe("a command", () => {
  it.each([
    [["sh", "-c", "npm test && echo done"], "npm test && echo done"],
    [["make", "-j8", "all"], "make -j8 all"],
    [["echo", "it's", "", "a b"], "echo 'it'\\''s' '' 'a b'"],
    [["printf", "a\u001b[31m\n"], "printf $'a\\x1b[31m\\n'"],
    [["sh", "-c", "echo a\necho b"], "sh -c $'echo a\\necho b'"],
    [["echo", "\u202eabc"], "echo $'\\u202eabc'"],
  ])("%j is copied as %s", (command, line) => {
    expect(commandLine({ command })).toBe(line);
  });

  it("is the name of a task without a title, on one line and without control characters", () => {
    expect(taskName(task({ title: "\u001b]0;x\u0007build\u009b31m\u202e" }))).toBe("]0;x build 31m");
    expect(taskName(task({ command: ["make", "all"] }))).toBe("make all");
  });

  it.each([
    [["sh", "-c", "npm test"], "sh -c npm test", "npm test"],
    [["/bin/bash", "-c", "echo a\necho b"], "/bin/bash -c echo a echo b", "echo a echo b"],
    [["sh", "-c", "npm test"], "the tests", "the tests"],
    [["make", "all"], "make", "make"],
    [["sh", "-c", `echo ${"x".repeat(400)}`], `sh -c echo ${"x".repeat(190)}`, `echo ${"x".repeat(400)}`],
    [["sh", "-c", "  "], "sh -c", "sh -c"],
  ])("%j titled %s is called %s", (command, title, name) => {
    expect(taskName(task({ command, title }))).toBe(name);
  });
});

it.each([[0, "0.0 s"], [9_940, "9.9 s"], [9_960, "9 s"], [59_900, "59 s"], [185_000, "3 min 05 s"], [7_620_000, "2 h 07 min"], [100 * 3_600_000, "4 days 4 h"]])("%i ms is %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});

it.each([[0, "0 B"], [1023, "1023 B"], [1024, "1 KiB"], [1500, "1.5 KiB"], [64 * 1024 ** 2, "64 MiB"], [2 * 1024 ** 3, "2 GiB"], [150 * 1024, "150 KiB"]])("%i bytes are %s", (bytes, words) => {
  expect(byteSize(bytes)).toBe(words);
});
