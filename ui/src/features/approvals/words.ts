// A command as it is: nothing in it may hide, and nothing may look like something else.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g;
const NAMES: Readonly<Record<string, string>> = { "\n": "newline", "\t": "tab", "\r": "return", "\u001b": "escape" };

/** The word with a sign in the place of each character that could not be seen. */
export function seen(word: string): string {
  return word.replace(HIDDEN, (char) => `⟨${NAMES[char] ?? `U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`}⟩`);
}

export function hasHidden(word: string): boolean {
  return word !== seen(word);
}
