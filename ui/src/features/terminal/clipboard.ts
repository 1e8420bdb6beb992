// Text on its way between a terminal and the clipboard.

import { plain } from "../../shared/text";

/** The most text that a program may put on the clipboard by itself. */
export const PROGRAM_TEXT_BYTES_MAX = 1024 * 1024;

/**
 * Reads the payload of OSC 52 (`c;<base64>`). Null for everything that is not a plain write: a request to read the clipboard, which
 * is never answered, a payload that is no base64 or no UTF-8, and one that is too large.
 */
export function clipboardWrite(data: string): string | null {
  const at = data.indexOf(";");
  if (at < 0) return null;
  const encoded = data.slice(at + 1).trim();
  if (encoded === "" || encoded === "?" || encoded.length > (PROGRAM_TEXT_BYTES_MAX * 4) / 3 + 4) return null;
  try {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Makes text fit to be pasted: an escape character in it could end the bracket early and have the rest run as typed, so it is shown
 * instead of sent, and so are its one-byte forms.
 */
export function harmlessPaste(text: string): string {
  return text.replace(/\u001b/g, "\u241b").replace(/[\u0080-\u009f]/g, "\ufffd");
}

/** How many lines a person would say that the text has: one line end at its end does not begin another. */
export function lineCount(text: string): number {
  return text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n").length;
}

/** The text has a line end and the program did not ask for brackets: each line end would act as Enter. */
export function needsWarning(text: string, bracketed: boolean): boolean {
  return !bracketed && /[\r\n]/.test(text);
}

/** A short, single-line sample of text for a question, free of control and direction characters. */
export function preview(text: string, length = 80): string {
  const sample = plain(text);
  return sample.length > length ? `${sample.slice(0, length)}…` : sample;
}
