// What the desktop shell keeps, in memory: starting with the session, and updates.

import { type Answer, BackendError, type Params, type Updates } from "./backend";

export class FakeDesktop {
  autostart = false;
  updates: Updates = { on: false, address: "", key: "", has_key: false, can_install: true, checked_ms: null, found: null, installed: null, error: null };
  /** What the user's own environment names. */
  programs: Answer<"user_programs"> = { shell: "/bin/zsh", editor: null };
  /** Directories that were opened. */
  readonly opened: string[] = [];
  /** What the next look finds. */
  next: Updates["found"] = null;

  setAutostart({ on }: Params<"desktop_set_autostart">): Answer<"desktop_autostart"> {
    this.autostart = on;
    return { on };
  }

  openDirectory({ path, in_file_manager = false }: Params<"desktop_open_directory">): Answer<"desktop_open_directory"> {
    this.opened.push(path);
    return in_file_manager ? { with: null } : { with: this.programs.editor?.[0]?.split("/").at(-1) ?? null };
  }

  set(change: Params<"desktop_set_updates">): Updates {
    if (change.address && !/^(https:|http:\/\/(localhost|127\.0\.0\.1))/.test(change.address)) {
      throw new BackendError("invalid", "the address for updates cannot be used: http may be listened to and changed on its way; only https is asked", null);
    }
    this.updates = { ...this.updates, ...change, found: null, checked_ms: null, error: null };
    return this.updates;
  }

  check(): Updates {
    if (!this.updates.on) throw new BackendError("refused", "updates are off, so nobody is asked for any", "turn them on first");
    this.updates = { ...this.updates, checked_ms: Date.now(), found: this.next, error: null };
    return this.updates;
  }

  install(): Updates {
    if (!this.updates.found) throw new BackendError("refused", "no newer version is known", "look for updates first");
    this.updates = { ...this.updates, installed: this.updates.found.version, found: null };
    return this.updates;
  }
}
