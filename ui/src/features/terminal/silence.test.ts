// @vitest-environment jsdom
import { Terminal } from "@xterm/xterm";
import { describe, expect, it } from "vitest";
import { silence } from "./silence";

const ESC = "\x1b";

/** Every question that a program may ask, by its usual name. */
const QUESTIONS: [string, string][] = [
  ["DA1", `${ESC}[c`], ["DA1 with 0", `${ESC}[0c`], ["DA2", `${ESC}[>c`], ["DA3", `${ESC}[=c`],
  ["DSR", `${ESC}[5n`], ["CPR", `${ESC}[6n`], ["DECXCPR", `${ESC}[?6n`], ["colour scheme", `${ESC}[?996n`],
  ["DECRQM ansi", `${ESC}[4$p`], ["DECRQM private", `${ESC}[?2004$p`], ["XTVERSION", `${ESC}[>q`], ["XTVERSION with 0", `${ESC}[>0q`], ["kitty keyboard", `${ESC}[?u`],
  ["DECREQTPARM", `${ESC}[x`], ["window size in pixels", `${ESC}[14t`], ["cell size", `${ESC}[16t`], ["text size", `${ESC}[18t`], ["title", `${ESC}[21t`],
  ["palette", `${ESC}]4;1;?${ESC}\\`], ["foreground", `${ESC}]10;?\x07`], ["background", `${ESC}]11;?${ESC}\\`], ["cursor colour", `${ESC}]12;?\x07`],
  ["two colours at once", `${ESC}]10;?;?\x07`], ["DECRQSS", `${ESC}P$qm${ESC}\\`], ["XTGETTCAP", `${ESC}P+q544e${ESC}\\`],
  ["focus reports on", `${ESC}[?1004h`], ["focus reports among others", `${ESC}[?25;1004;2004h`],
];

async function saidTo(bytes: string, silenced: boolean) {
  const terminal = new Terminal({ allowProposedApi: true, windowOptions: { getWinSizeChars: true, getWinSizePixels: true, getCellSizePixels: true, getWinTitle: true } });
  const quiet = silenced ? silence(terminal) : null;
  const said: string[] = [];
  terminal.onData((data) => {
    if (!quiet?.speaking()) said.push(data);
  });
  await new Promise<void>((resolve) => terminal.write(bytes, resolve));
  return { said, terminal };
}

describe("a silenced terminal", () => {
  it.each(QUESTIONS)("answers nothing to %s", async (_name, question) => {
    const { said } = await saidTo(`before${question}after`, true);
    expect(said).toEqual([]);
  });

  it("would answer without it, so the test can fail", async () => {
    expect((await saidTo(`${ESC}[c`, false)).said.length).toBe(1);
    expect((await saidTo(`${ESC}[6n`, false)).said.length).toBe(1);
    expect((await saidTo(`${ESC}[?2004$p`, false)).said.length).toBe(1);
    expect((await saidTo(`${ESC}P$qm${ESC}\\`, false)).said.length).toBe(1);
    expect((await saidTo(`${ESC}[18t`, false)).said.length).toBe(1);
  });

  it("shows the text around a question, whole", async () => {
    const { terminal } = await saidTo(QUESTIONS.map(([, question], at) => `${at}${question}`).join(" "), true);
    const line = terminal.buffer.active.getLine(0)!.translateToString(true);
    expect(line.trim()).toBe(QUESTIONS.map((_, at) => at).join(" "));
  });

  it("keeps modes, and still speaks for the user", async () => {
    const { said, terminal } = await saidTo(`${ESC}[?1004h${ESC}[?2004h${ESC}[?1h`, true);
    expect(terminal.modes).toMatchObject({ sendFocusMode: true, bracketedPasteMode: true, applicationCursorKeysMode: true });
    terminal.input("typed");
    expect(said).toEqual(["typed"]);
  });

  it("lets the title stack and plain colour settings through", async () => {
    const { said } = await saidTo(`${ESC}[22;0t${ESC}[23;0t${ESC}]11;#102030\x07${ESC}]4;1;#ff0000\x07`, true);
    expect(said).toEqual([]);
  });
});
