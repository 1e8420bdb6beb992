import { describe, expect, it } from "vitest";
import { inTerminal } from "./editors";

const line = (text: string) => inTerminal(text.split(" "))?.join(" ") ?? null;

describe("an editor that works in a terminal", () => {
  it.each([
    ["/usr/bin/vim", "/usr/bin/vim ."], ["/usr/bin/nvim -p", "/usr/bin/nvim -p ."], ["/usr/bin/vim.basic", "/usr/bin/vim.basic ."], ["/usr/bin/hx", "/usr/bin/hx ."],
    ["/usr/bin/emacs -nw", "/usr/bin/emacs -nw ."], ["/usr/bin/emacs", "/usr/bin/emacs -nw ."], ["/usr/bin/emacsclient -t", "/usr/bin/emacsclient -t ."],
  ])("is begun in the directory: %s", (command, begun) => expect(line(command)).toBe(begun));

  it.each(["/usr/bin/nano", "/usr/bin/nano -w", "/usr/bin/micro", "/usr/bin/kak", "/usr/bin/editor"])("is begun with an empty text, where it takes no directory: %s", (command) => {
    expect(line(command)).toBe(command);
  });

  it.each(["/usr/bin/code --wait", "/usr/bin/gvim", "/usr/bin/emacsclient", "/usr/bin/vimdiffer", "/opt/own-editor"])("is not taken for one: %s", (command) => expect(line(command)).toBeNull());

  it("is none where none is named", () => expect(inTerminal([])).toBeNull());
});
