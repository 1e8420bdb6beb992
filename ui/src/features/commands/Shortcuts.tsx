import "./commands.css";
import { useApp } from "../../state/app";
import { Dialog } from "../../shared/Dialog";
import { Keys } from "../../shared/Keys";
import { type Chord, SHORTCUTS, TASK_KEYS } from "../../shared/keys";
import { ids } from "../../shared/testids";

export function ShortcutsDialog() {
  const app = useApp();
  return (
    <Dialog title="Keyboard shortcuts" width="large" testid={ids.shortcuts} onClose={app.closeDialog}>
      <div className="shortcut-groups">
        <Group title="Window" />
        <Group title="Terminal" />
        <section aria-label="List of tasks">
          <h3>List of tasks</h3>
          <dl>{TASK_KEYS.map(({ label, keys }) => <Line key={label} label={label} chords={keys} />)}</dl>
        </section>
        <Group title="Panes" />
      </div>
      <p className="muted">All other keys go to the program in the pane.</p>
    </Dialog>
  );
}

function Group({ title }: { title: "Window" | "Panes" | "Terminal" }) {
  const all = Object.values(SHORTCUTS).filter(({ group }) => group === title);
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl>{all.map(({ label, chords }) => <Line key={label} label={label} chords={[chords[0]!]} />)}</dl>
    </section>
  );
}

function Line({ label, chords }: { label: string; chords: readonly Chord[] }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className="keys">{chords.map((chord) => <Keys key={chord.key} chord={chord} />)}</dd>
    </div>
  );
}
