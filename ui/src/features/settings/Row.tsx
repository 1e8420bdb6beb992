import type { ReactNode } from "react";

/** One setting: what it is, what it does, and what changes it. */
export function Row({ title, note, children }: { title: string; note: string; children: ReactNode }) {
  return (
    <div className="settings-row">
      <div>
        <p className="settings-title">{title}</p>
        <p className="muted">{note}</p>
      </div>
      {children}
    </div>
  );
}

interface SwitchProps { on: boolean; label: string; testid: string; onChange: (on: boolean) => void }

export function Switch({ on, label, testid, onChange }: SwitchProps) {
  return <input type="checkbox" role="switch" className="switch" checked={on} aria-label={label} data-testid={testid} onChange={(event) => onChange(event.target.checked)} />;
}
