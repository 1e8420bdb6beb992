// @vitest-environment jsdom
// The settings that the desktop shell keeps: starting with the session, and updates, which are off until somebody wants them.

import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import { emptyWorld, FakeBackend } from "../backend/fake";
import { App } from "../state/app";
import { ids } from "../shared/testids";
import { Window } from "./Window";

let backend: FakeBackend;
let stop: () => void = () => undefined;
const user = userEvent.setup({ delay: null, pointerEventsCheck: 0 });
const field = (id: string) => screen.getByTestId<HTMLInputElement>(id);
const state = () => screen.getByTestId(ids.settingsUpdatesState).textContent;

async function openSettings(prepare: (backend: FakeBackend) => void = () => undefined): Promise<void> {
  backend = new FakeBackend(emptyWorld());
  prepare(backend);
  const app = new App(backend);
  stop = app.start();
  render(<Window app={app} />);
  await waitFor(() => expect(screen.getByTestId(ids.window).dataset["ready"]).toBe("true"));
  await user.click(screen.getByTestId(ids.settingsOpen));
  await screen.findByTestId(ids.settingsUpdatesOn);
}

/** Types into a field in the place of what is there, and leaves it with Enter. */
async function fill(id: string, text: string): Promise<void> {
  await user.clear(field(id));
  await user.type(field(id), `${text}{Enter}`);
}

afterEach(() => stop());

it("starts with the session when that is switched on, and says why when it could not", async () => {
  await openSettings();
  const autostart = await screen.findByTestId<HTMLInputElement>(ids.settingsAutostart);
  expect(autostart.checked).toBe(false);
  await user.click(autostart);
  await waitFor(() => expect(field(ids.settingsAutostart).checked).toBe(true));
  expect(backend.desktop.autostart).toBe(true);
  backend.failNext("desktop_set_autostart", new BackendError("failed", "the desktop's autostart folder could not be changed", "look whether you may write there"));
  await user.click(autostart);
  expect((await screen.findByTestId(ids.error)).textContent).toContain("autostart folder could not be changed");
  expect(field(ids.settingsAutostart).checked).toBe(true);
});

it("has updates off, and then nothing of them but the switch", async () => {
  await openSettings();
  expect(field(ids.settingsUpdatesOn).checked).toBe(false);
  expect(screen.queryByTestId(ids.settingsUpdatesCheck)).toBeNull();
  expect(backend.calls.some(({ method }) => method === "desktop_check_updates")).toBe(false);
});

it("looks only when it was said where and by which key, and installs on the user's word", async () => {
  await openSettings((backend) => { backend.desktop.next = { version: "9.0.0", notes: "Rings louder." }; });
  await user.click(field(ids.settingsUpdatesOn));
  await waitFor(() => expect(state()).toContain("Say where to look"));
  expect(field(ids.settingsUpdatesCheck).disabled).toBe(true);
  await fill(ids.settingsUpdatesAddress, "http://example.org/");
  expect((await screen.findByTestId(ids.error)).textContent).toContain("only https is asked");
  expect(backend.desktop.updates.address).toBe("");
  await fill(ids.settingsUpdatesAddress, "https://example.org/latest.json");
  await fill(ids.settingsUpdatesKey, "RWQkey");
  await waitFor(() => expect(state()).toContain("Not looked yet"));
  await user.click(field(ids.settingsUpdatesCheck));
  await waitFor(() => expect(state()).toContain("Version 9.0.0 is there"));
  expect(screen.getByTestId(ids.settingsUpdates).textContent).toContain("Rings louder.");
  await user.click(screen.getByTestId(ids.settingsUpdatesInstall));
  await waitFor(() => expect(state()).toContain("9.0.0 is in place"));
  expect(screen.queryByTestId(ids.settingsUpdatesInstall)).toBeNull();
});

it("asks for no key where the build has one, and offers nothing to install where nothing can be replaced", async () => {
  await openSettings(({ desktop }) => {
    desktop.updates = { ...desktop.updates, on: true, address: "https://example.org/", key: "RW", has_key: true, can_install: false, found: { version: "9.0.0", notes: null } };
  });
  expect(screen.queryByTestId(ids.settingsUpdatesKey)).toBeNull();
  expect(screen.queryByTestId(ids.settingsUpdatesInstall)).toBeNull();
  expect(state()).toContain("the way it was installed");
});

it("tells of a look that failed and of one that found nothing", async () => {
  await openSettings(({ desktop }) => {
    desktop.updates = { ...desktop.updates, on: true, address: "https://example.org/", key: "RW", error: "nobody answered" };
  });
  expect(state()).toBe("The last look failed: nobody answered.");
  await user.click(field(ids.settingsUpdatesCheck));
  await waitFor(() => expect(state()).toContain("No newer version"));
});
