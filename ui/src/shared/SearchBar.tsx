import { type KeyboardEvent, useState } from "react";
import { IconButton } from "./Button";
import { ids } from "./testids";

interface Props {
  /** What is searched in: "the terminal", "the log". */
  place: string;
  found: { index: number; count: number };
  onFind: (text: string, back: boolean, typing: boolean) => void;
  onClose: () => void;
}

/** A small bar over what is searched. Enter goes on, Shift+Enter goes back, Escape closes it. */
export function SearchBar({ place, found, onFind, onClose }: Props) {
  const [text, setText] = useState("");
  const keyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") onFind(text, event.shiftKey, false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const count = text === "" ? "" : found.count === 0 ? "none" : found.index < 0 ? `${found.count}` : `${found.index + 1} of ${found.count}`;
  return (
    <div className="search-bar" role="search" data-testid={ids.searchBar}>
      <input autoFocus aria-label={`Search in ${place}`} placeholder="Search" value={text} data-testid={ids.searchInput}
        spellCheck={false} autoComplete="off"
        onChange={(event) => { setText(event.target.value); onFind(event.target.value, true, true); }} onKeyDown={keyDown} />
      <span className="muted search-count" role="status" data-testid={ids.searchCount}>{count}</span>
      <IconButton icon="up" label="Previous (Shift+Enter)" onClick={() => onFind(text, true, false)} disabled={text === ""} />
      <IconButton icon="down" label="Next (Enter)" onClick={() => onFind(text, false, false)} disabled={text === ""} />
      <IconButton icon="close" label="Close the search (Escape)" onClick={onClose} />
    </div>
  );
}
