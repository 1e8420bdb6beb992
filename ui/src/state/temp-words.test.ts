import { describe, expect, it } from "vitest";
import type { TempUse } from "../generated/api";
import { tempWords } from "./temp-words";

const GIB = 1024 ** 3;
const use = (part: Partial<TempUse>): TempUse => ({ path: "/t/a", bytes: 6.2 * GIB, files: 12_400, max_bytes: 50 * GIB, max_files: 5_000_000, level: "warn", warning: null, ...part });

describe("the room that a temp directory takes", () => {
  it("is worth no word while it is ordinary, or was not measured", () => {
    expect(tempWords("planner", "agent", use({ level: "fine" }))).toBeNull();
    expect(tempWords("planner", "agent", null)).toBeNull();
  });

  it("is said with its bound, and with what happens beyond it", () => {
    expect(tempWords("planner", "agent", use({}))).toEqual({
      title: "The temp directory of planner takes 6.2 GiB in 12,400 files.", next: "Beyond 50 GiB or 5,000,000 files, planner is ended.", ending: false,
    });
    expect(tempWords("npm test", "task", use({ files: 1 }))?.title).toBe("The temp directory of npm test takes 6.2 GiB in 1 file.");
    expect(tempWords("npm test", "task", use({}))?.next).toBe("Beyond 50 GiB or 5,000,000 files, the task is cancelled.");
    expect(tempWords("planner", "tasks", use({}))).toMatchObject({ title: "The temp directory that planner left to its tasks takes 6.2 GiB in 12,400 files.", next: "Beyond 50 GiB or 5,000,000 files, its tasks are cancelled." });
  });

  it("is said with who is being ended once it is too much", () => {
    expect(tempWords("planner", "agent", use({ level: "end", bytes: 51 * GIB }))).toMatchObject({ next: "More than 50 GiB or 5,000,000 files is too much: planner is being ended.", ending: true });
    expect(tempWords("npm test", "task", use({ level: "end" }))?.next).toContain("the task is being cancelled");
  });
});
