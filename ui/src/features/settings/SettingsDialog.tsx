import "./settings.css";
import type { Id, Settings } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { AutostartRow, UpdateRows } from "./DesktopRows";
import { DoctorPage } from "./DoctorPage";
import { ProfilesPage } from "./ProfilesPage";
import { Row } from "./Row";

export const FONT_SIZE = { min: 8, max: 32, usual: 13 };
export const SCROLLBACK = { min: 0, max: 100_000 };

type Page = "general" | "profiles" | "doctor";
const PAGES: { page: Page; title: string; testid: string }[] = [
  { page: "general", title: "General", testid: ids.settingsTabGeneral },
  { page: "profiles", title: "Profiles", testid: ids.settingsTabProfiles },
  { page: "doctor", title: "Doctor", testid: ids.settingsTabDoctor },
];

export function SettingsDialog({ page, profile }: { page: Page; profile: Id | null }) {
  const app = useApp();
  return (
    <Dialog title="Settings" width="large" testid={ids.settings} onClose={app.closeDialog}>
      <div className="tabs" role="tablist" aria-label="Pages of the settings">
        {PAGES.map((each) => (
          <button key={each.page} type="button" role="tab" aria-selected={each.page === page} className="tab" data-testid={each.testid}
            data-autofocus={each.page === page || undefined} onClick={() => app.open({ kind: "settings", page: each.page })}>{each.title}</button>
        ))}
      </div>
      <div role="tabpanel" className="tab-panel" aria-label={PAGES.find((each) => each.page === page)!.title}>
        {page === "general" ? <GeneralPage /> : page === "profiles" ? <ProfilesPage edited={profile} /> : <DoctorPage />}
      </div>
    </Dialog>
  );
}

function GeneralPage() {
  const app = useApp();
  const { data: settings, error } = useQuery(app.settings);
  const info = useQuery(app.info).data;
  if (!settings) {
    return error
      ? <><ErrorText error={error} /><Button onClick={() => void app.settings.refresh()}>Try again</Button></>
      : <p className="muted" role="status">Loading…</p>;
  }
  const save = (patch: Partial<Settings>) => void app.saveSettings(patch);
  return (
    <div className="settings-rows">
      <Row title="Theme" note="Of the window and its terminals.">
        <Select value={settings.theme} testid={ids.settingsTheme} label="Theme" onChange={(theme) => save({ theme })}
          options={[["system", "As the system"], ["light", "Light"], ["dark", "Dark"]]} />
      </Row>
      <Row title="Text size" note="Of the terminals, in pixels.">
        <NumberField value={settings.font_size} {...FONT_SIZE} label="Text size" testid={ids.settingsFontSize} onChange={(font_size) => save({ font_size })} />
      </Row>
      <Row title="Scrollback" note="Lines that a terminal keeps above its screen.">
        <NumberField value={settings.scrollback} {...SCROLLBACK} step={500} label="Scrollback" testid={ids.settingsScrollback} onChange={(scrollback) => save({ scrollback })} />
      </Row>
      <Row title="When the window closes" note="What happens to agents and tasks that are still running.">
        <Select value={settings.at_exit} testid={ids.settingsAtExit} label="When the window closes" onChange={(at_exit) => save({ at_exit })}
          options={[["ask", "Ask"], ["stop", "Stop them"], ["keep", "Keep them running"]]} />
      </Row>
      <Row title="Programs that write the clipboard" note="A program in a terminal puts text on the clipboard. None can ever read it.">
        <Select value={settings.clipboard_write} testid={ids.settingsClipboard} label="Programs that write the clipboard" onChange={(clipboard_write) => save({ clipboard_write })}
          options={[["ask", "Ask each time"], ["allow", "Allow"], ["deny", "Never"]]} />
      </Row>
      <AutostartRow />
      <UpdateRows />
      {info && <p className="muted about">Carillon {info.version} · data in <span className="mono">{info.home}</span></p>}
    </div>
  );
}

interface SelectProps<T extends string> { value: T; options: [T, string][]; label: string; testid: string; onChange: (value: T) => void }

function Select<T extends string>({ value, options, label, testid, onChange }: SelectProps<T>) {
  return (
    <select className="input" value={value} aria-label={label} data-testid={testid} onChange={(event) => onChange(event.target.value as T)}>
      {options.map(([key, word]) => <option key={key} value={key}>{word}</option>)}
    </select>
  );
}

interface NumberProps { value: number; min: number; max: number; step?: number; label: string; testid: string; onChange: (value: number) => void }

/** Takes what is typed when the field is left or Enter is pressed, and keeps it within its bounds. */
function NumberField({ value, min, max, step = 1, label, testid, onChange }: NumberProps) {
  const take = (input: HTMLInputElement) => {
    const typed = Math.round(input.valueAsNumber);
    const next = Number.isFinite(typed) ? Math.min(max, Math.max(min, typed)) : value;
    input.value = String(next);
    if (next !== value) onChange(next);
  };
  return (
    <input key={value} className="input number" type="number" defaultValue={value} min={min} max={max} step={step} aria-label={label} data-testid={testid}
      onBlur={(event) => take(event.currentTarget)}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        take(event.currentTarget);
      }} />
  );
}
