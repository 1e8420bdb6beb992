import "./commands.css";
import { useApp } from "../../state/app";
import { Dialog } from "../../shared/Dialog";
import { Keys } from "../../shared/Keys";
import { APPROVAL_KEYS, ASK_KEYS, type Chord, chordKeys, COMPOSER_KEYS, SHORTCUTS, TASK_KEYS, WORKDIR_KEYS } from "../../shared/keys";
import { ids } from "../../shared/testids";

export function ShortcutsDialog() {
  const app = useApp();
  return (
    <Dialog title="Keyboard shortcuts" width="large" testid={ids.shortcuts} onClose={app.closeDialog}>
      <div className="shortcut-groups" tabIndex={0} role="group" aria-label="All shortcuts" data-autofocus>
        <div>
          <Group title="Window" />
          <Group title="Terminal" />
          <Plain title="Conversation and notes" lines={COMPOSER_KEYS} />
        </div>
        <div>
          <Group title="Panes" />
          <Plain title="List of tasks" lines={TASK_KEYS} />
          <Plain title="Asks" lines={ASK_KEYS} />
          <Plain title="Approvals" lines={APPROVAL_KEYS} />
          <Plain title="Workdirs" lines={WORKDIR_KEYS} />
        </div>
      </div>
      <p className="muted">All other keys go to the program in the pane.</p>
    </Dialog>
  );
}

function Plain({ title, lines }: { title: string; lines: readonly { label: string; keys: Chord[] }[] }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl>{lines.map(({ label, keys }) => <Line key={label} label={label} keys={keys.map(chordKeys)} />)}</dl>
    </section>
  );
}

function Group({ title }: { title: "Window" | "Panes" | "Terminal" }) {
  const all = Object.values(SHORTCUTS).filter(({ group, chords }) => group === title && !isArrow(chords[0]!));
  const arrows = Object.values(SHORTCUTS).filter(({ group, chords }) => group === title && isArrow(chords[0]!));
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl>
        {all.map(({ label, chords }) => <Line key={label} label={label} keys={[chordKeys(chords[0]!)]} />)}
        {ARROWS.filter(({ alt }) => arrows.some(({ chords }) => (chords[0]!.alt ?? false) === alt)).map(({ label, alt }) => {
          const chords = arrows.map((each) => chordKeys(each.chords[0]!)).filter((keys) => keys.includes("Alt") === alt);
          return <Line key={label} label={label} keys={[[...chords[0]!.slice(0, -1), chords.map((keys) => keys.at(-1)).join(" ")]]} />;
        })}
      </dl>
    </section>
  );
}

/** Four directions are one line. */
const ARROWS = [{ label: "Go to another pane", alt: false }, { label: "Move the divider", alt: true }];
const isArrow = ({ key }: Chord) => key.startsWith("Arrow");

function Line({ label, keys }: { label: string; keys: readonly string[][] }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className="keys">{keys.map((each) => <Keys key={each.join()} keys={each} />)}</dd>
    </div>
  );
}
