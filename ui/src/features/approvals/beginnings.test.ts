import { describe, expect, it } from "vitest";
import { beginningsOf, isBroad } from "./beginnings";
import { hasHidden, seen } from "./words";

const line = (text: string) => ["sh", "-c", text];

describe("beginnings", () => {
  it.each([
    [["npm", "test", "--", "--watch"], ["npm", "npm test", "npm test -- --watch"], 1],
    [["npm", "run", "e2e", "--", "--headed"], ["npm", "npm run", "npm run e2e"], 1],
    [["make"], ["make"], 0],
    [["ls", "-l", "src"], ["ls", "ls -l", "ls -l src"], 0],
    // A program that runs whatever it is given is never proposed alone.
    [["python3", "-m", "pytest"], ["python3", "python3 -m", "python3 -m pytest"], 1],
    [line("cargo  test   -p lamp"), ["cargo", "cargo test", "cargo test -p", "cargo test -p lamp"], 1],
    // The engine compares word by word, so none can hold a blank.
    [["git", "commit", "-m", "two words"], ["git", "git commit", "git commit -m"], 1],
  ])("of %j are %j", (command, choices, usual) => {
    expect(beginningsOf(command)).toEqual({ choices, usual });
  });

  it.each([line("npm test; rm -rf ~"), line("npm test > out"), line("a && b"), line("echo $HOME"), line("x 'y'"), line("a\nb"), ["two words"]])("of %j there are none, and it is said why", (...command) => {
    expect(beginningsOf(command)).toHaveProperty("reason");
  });

  it("that allow anything are known", () => {
    expect(["sh", "sudo", "python3", "python3 -c", "/usr/bin/env", "npx"].every(isBroad)).toBe(true);
    expect(["npm", "npm test", "python3 setup.py", "npx vitest"].some(isBroad)).toBe(false);
  });
});

it("a command hides nothing", () => {
  expect(seen("rm\u202e fr- \u200b\n\u001b[2J")).toBe("rm⟨U+202E⟩ fr- ⟨U+200B⟩⟨newline⟩⟨escape⟩[2J");
  expect([hasHidden("plain -x=1 büro 鐘"), hasHidden("a\u0000b")]).toEqual([false, true]);
});
