import "./commands.css";
import { useApp } from "../../state/app";
import { Dialog } from "../../shared/Dialog";
import { Keys } from "../../shared/Keys";
import { SHORTCUTS, TASK_KEYS } from "../../shared/keys";
import { ids } from "../../shared/testids";

export function ShortcutsDialog() {
  const app = useApp();
  const all = Object.entries(SHORTCUTS);
  return (
    <Dialog title="Keyboard shortcuts" width="large" testid={ids.shortcuts} onClose={app.closeDialog}>
      <div className="shortcut-groups">
        {(["Window", "Panes", "Terminal"] as const).map((group) => (
          <section key={group} aria-label={group}>
            <h3>{group}</h3>
            <dl>
              {all.filter(([, shortcut]) => shortcut.group === group).map(([name, shortcut]) => (
                <div key={name}>
                  <dt>{shortcut.label}</dt>
                  <dd><Keys chord={shortcut.chords[0]!} /></dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section aria-label="List of tasks">
          <h3>List of tasks</h3>
          <dl>
            {TASK_KEYS.map(({ label, keys }) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd className="keys">{keys.map((chord) => <Keys key={chord.key} chord={chord} />)}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
      <p className="muted">All other keys go to the program in the pane.</p>
    </Dialog>
  );
}
