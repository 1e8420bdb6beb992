import { describe, expect, it } from "vitest";
import { clipboardWrite, harmlessPaste, lineCount, needsWarning, preview, PROGRAM_TEXT_BYTES_MAX } from "./clipboard";
import { DARK, LIGHT } from "./themes";
import type { ITheme } from "@xterm/xterm";

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

describe("what a program puts on the clipboard", () => {
  it("is read as UTF-8", () => {
    expect(clipboardWrite(`c;${base64("schön 😀")}`)).toBe("schön 😀");
    expect(clipboardWrite(`;${base64("x")}`)).toBe("x");
  });

  it.each([["a request to read", "c;?"], ["nothing", "c;"], ["no base64", "c;%%%"], ["no UTF-8", "c;/w=="], ["no separator", "abc"], ["too much", `c;${"A".repeat(PROGRAM_TEXT_BYTES_MAX * 2)}`]])(
    "is nothing when it is %s", (_name, data) => expect(clipboardWrite(data)).toBeNull(),
  );
});

describe("a paste", () => {
  it("cannot end its own bracket", () => {
    const sent = harmlessPaste("echo one\x1b[201~rm -rf ~\n\u009b201~");
    expect(sent).not.toMatch(/[\u001b\u0080-\u009f]/);
    expect(sent).toContain("echo one");
  });

  it("is asked about only when a line end would act as Enter", () => {
    expect(needsWarning("a\nb", false)).toBe(true);
    expect(needsWarning("a\r", false)).toBe(true);
    expect(needsWarning("a\nb", true)).toBe(false);
    expect(needsWarning("a b", false)).toBe(false);
  });

  it("is counted in lines", () => {
    expect(["a", "a\n", "a\nb", "a\r\nb\r\n", "a\n\nb"].map(lineCount)).toEqual([1, 1, 2, 2, 3]);
  });

  it("is shown without anything that could mislead", () => {
    expect(preview("a\n\x1b[31mb\u202e c")).toBe("a [31mb  c");
    expect(preview("x".repeat(200)).length).toBe(81);
  });
});

describe("the colours of the terminal", () => {
  const channel = (value: number) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (hex: string) => {
    const [r, g, b] = [1, 3, 5].map((at) => channel(Number.parseInt(hex.slice(at, at + 2), 16)));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const contrast = (a: string, b: string) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high! + 0.05) / (low! + 0.05);
  };
  const names = ["foreground", "cursor", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "brightBlack", "brightRed", "brightGreen", "brightYellow", "brightBlue", "brightMagenta", "brightCyan", "brightWhite"] as const;

  it.each([["dark", DARK], ["light", LIGHT]] as [string, ITheme][])("of the %s theme are legible on its background", (_name, theme) => {
    for (const name of names) expect(contrast(theme[name]!, theme.background!), name).toBeGreaterThanOrEqual(4.5);
  });
});
