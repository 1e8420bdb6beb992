import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import "./commands.css";
import { useApp } from "../../state/app";
import { Dialog } from "../../shared/Dialog";
import { Keys } from "../../shared/Keys";
import { chordKeys, type ShortcutName, SHORTCUTS } from "../../shared/keys";
import { ids } from "../../shared/testids";

export interface Command {
  id: string;
  label: string;
  /** What the command acts on, in muted words behind its label. */
  note?: string;
  shortcut?: ShortcutName;
  run: () => void;
}

/** Everything that can be done, found by typing a part of its name. */
export function Palette({ commands }: { commands: Command[] }) {
  const app = useApp();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = useMemo(() => ranked(commands.filter((command) => contains(command, text)), text), [commands, text]);

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView?.({ block: "nearest" });
  }, [at]);

  const go = (command: Command | undefined) => {
    if (!command) return;
    app.closeDialog();
    command.run();
  };
  const keyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt((old) => Math.min(found.length - 1, old + 1));
    else if (event.key === "ArrowUp") setAt((old) => Math.max(0, old - 1));
    else if (event.key === "Enter") go(found[at]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog title="Commands" width="medium" testid={ids.palette} onClose={app.closeDialog}>
      <input className="input palette-input" value={text} placeholder="Type a part of a command's name" data-autofocus spellCheck={false} autoComplete="off"
        role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found[at] ? `command-${found[at].id}` : undefined} aria-label="Command"
        data-testid={ids.paletteInput} onChange={(event) => { setText(event.target.value); setAt(0); }} onKeyDown={keyDown} />
      <ul className="palette-list" id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {found.map((command, index) => (
          <li key={command.id} id={`command-${command.id}`} role="option" aria-selected={index === at} className="palette-item" data-testid={ids.paletteItem}
            onMouseMove={() => setAt(index)} onClick={() => go(command)}>
            <span>{command.label}{command.note && <span className="muted"> {command.note}</span>}</span>
            {command.shortcut && <Keys keys={chordKeys(SHORTCUTS[command.shortcut].chords[0]!)} />}
          </li>
        ))}
        {found.length === 0 && <li className="muted palette-none">Nothing has this in its name.</li>}
      </ul>
    </Dialog>
  );
}

/** A name in which a word begins with what was typed comes before one that has it somewhere inside. */
function ranked(commands: Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const begins = (command: Command) => {
    const name = ` ${command.label} ${command.note ?? ""}`.toLowerCase();
    return words.every((word) => name.includes(` ${word}`));
  };
  return [...commands.filter(begins), ...commands.filter((command) => !begins(command))];
}

function contains(command: Command, text: string): boolean {
  const name = `${command.label} ${command.note ?? ""}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => name.includes(word));
}
