// The system clipboard as a web view offers it. Some engines have the asynchronous interface but refuse it outside a user's
// gesture, others have only the old command: both are tried, and a refusal is an error that the caller shows.

import { BackendError } from "./backend";

const REFUSED_HINT = "Select the text and use the context menu of the window instead.";

export async function readClipboard(): Promise<string> {
  try {
    return await navigator.clipboard.readText();
  } catch {
    throw new BackendError("refused", "The clipboard could not be read.", REFUSED_HINT);
  }
}

export async function writeClipboard(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyByCommand(text)) throw new BackendError("refused", "The text could not be put on the clipboard.", REFUSED_HINT);
  }
}

function copyByCommand(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
