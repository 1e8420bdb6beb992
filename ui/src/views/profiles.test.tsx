// @vitest-environment jsdom
// Profiles edited in the settings, on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { BackendError } from "../backend/backend";
import type { Profile } from "../generated/api";
import { emptyWorld, profileOf } from "../backend/fake";
import { ids } from "../shared/testids";
import { app, backend, openWindow, projectOf, user } from "./opened-window";

async function edit(part: Partial<Profile> = {}): Promise<void> {
  await openWindow({ ...emptyWorld(), projects: [projectOf("atlas")], profiles: [{ ...profileOf("work", "codex", "/bin/codex"), ...part }] });
  act(() => app.open({ kind: "settings", page: "profiles" }));
  await user.click(await screen.findByTestId(ids.profileEdit));
  await screen.findByTestId(ids.profileEditor);
}

const profile = () => backend.world.profiles[0]!;
const values = () => backend.profiles.values.get(profile().id);
const save = () => screen.getByTestId<HTMLButtonElement>(ids.profileSave);
const sent = () => backend.calls.filter(({ method }) => method === "profile_set").map(({ params }) => params);

describe("a profile", () => {
  it("is changed by what differs alone, and what was typed comes apart as in a shell", async () => {
    await edit({ args: ["--flag", "two words"], policy: "ask" });
    expect(screen.getByTestId<HTMLInputElement>(ids.profileArgs).value).toBe("--flag 'two words'");
    expect(save().disabled).toBe(true);
    await user.type(screen.getByTestId(ids.profileArgs), ` -q "a b"`);
    await user.click(screen.getAllByTestId(ids.profilePolicy).find((each) => each.dataset["policy"] === "never")!);
    await user.click(save());
    await screen.findByTestId(ids.profileSaid);
    expect(sent()).toEqual([{ profile: profile().id, args: ["--flag", "two words", "-q", "a b"], policy: "never" }]);
    expect(save().disabled).toBe(true);
    await user.click(screen.getByTestId(ids.profileBack));
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.profileEdit)));
  });

  it("shows no value of a variable; each is kept, replaced or taken away, and new ones are added", async () => {
    await edit({ env_names: ["API_KEY", "OLD", "KEPT"] });
    const rows = () => screen.getAllByTestId(ids.profileVariable);
    const row = (name: string) => rows().find((each) => each.dataset["name"] === name)!;
    expect(rows().map((each) => [each.dataset["name"], each.dataset["state"]])).toEqual([["API_KEY", "kept"], ["OLD", "kept"], ["KEPT", "kept"]]);
    await user.click(within(row("API_KEY")).getByTestId(ids.profileVariableReplace));
    const field = within(row("API_KEY")).getByTestId<HTMLInputElement>(ids.profileVariableValue);
    expect([field.type, document.activeElement]).toEqual(["password", field]);
    await user.type(field, "s3cret");
    await user.click(within(row("OLD")).getByTestId(ids.profileVariableRemove));
    await user.click(screen.getByTestId(ids.profileVariableAdd));
    await user.type(screen.getByTestId(ids.profileVariableName), "1bad");
    expect(screen.getByTestId(ids.profileEditor).textContent).toContain("1bad cannot be the name of a variable");
    expect(save().disabled).toBe(true);
    await user.clear(screen.getByTestId(ids.profileVariableName));
    await user.type(screen.getByTestId(ids.profileVariableName), "KEPT");
    expect(screen.getByTestId(ids.profileEditor).textContent).toContain("KEPT is there already; replace its value instead.");
    await user.clear(screen.getByTestId(ids.profileVariableName));
    await user.type(screen.getByTestId(ids.profileVariableName), "NEW");
    await user.type(within(rows().at(-1)!).getByTestId(ids.profileVariableValue), "v=1{Enter}");
    await screen.findByTestId(ids.profileSaid);
    expect(values()).toEqual({ API_KEY: "s3cret", KEPT: "kept", NEW: "v=1" });
    expect(document.body.innerHTML).not.toContain("s3cret");
    expect(rows().map((each) => each.dataset["state"])).toEqual(["kept", "kept", "kept"]);
  });

  it("names the account directory of its program, which is browsed for, and taken back", async () => {
    await edit();
    expect(screen.getByTestId(ids.profileEditor).textContent).toContain("CODEX_HOME");
    backend.picks.push("/home/dev/.codex-work");
    await user.click(screen.getByText("Browse…"));
    await waitFor(() => expect(screen.getByTestId<HTMLInputElement>(ids.profileAccount).value).toBe("/home/dev/.codex-work"));
    await user.click(save());
    await waitFor(() => expect(values()).toEqual({ CODEX_HOME: "/home/dev/.codex-work" }));
    await waitFor(() => expect(screen.getByTestId<HTMLInputElement>(ids.profileAccount).placeholder).toBe("Set; it is not shown"));
    expect(screen.queryAllByTestId(ids.profileVariable)).toEqual([]);
    await user.click(screen.getByText("Use the usual"));
    await user.click(save());
    await waitFor(() => expect(values()).toEqual({}));
  });

  it("allows beginnings of commands, and asks again for one that is taken out", async () => {
    await edit({ allow_prefixes: ["npm test"] });
    await user.type(screen.getByTestId(ids.profilePrefixText), "  cargo   test {Enter}");
    expect(screen.getAllByTestId(ids.profilePrefix).map((each) => each.dataset["prefix"])).toEqual(["npm test", "cargo test"]);
    await user.click(screen.getAllByTestId(ids.profilePrefixRemove)[0]!);
    await user.click(save());
    await waitFor(() => expect(profile().allow_prefixes).toEqual(["cargo test"]));
  });

  it("is tested, and what it said is shown; what is changed is saved before; a failure says what to do", async () => {
    await edit();
    backend.profiles.says.set(profile().id, "codex-cli 0.171.0");
    await user.click(screen.getByTestId(ids.profileTest));
    expect((await screen.findByTestId(ids.profileSaid)).textContent).toContain("codex-cli 0.171.0");
    expect(sent()).toEqual([]);
    await user.clear(screen.getByTestId(ids.profileProgram));
    expect(screen.getByTestId(ids.profileEditor).textContent).toContain("A profile needs a program.");
    await user.type(screen.getByTestId(ids.profileProgram), "/bin/nothing");
    expect(screen.getByTestId(ids.profileTest).textContent).toBe("Save and test");
    await user.click(screen.getByTestId(ids.profileTest));
    const error = await screen.findByTestId(ids.error);
    expect(error.textContent).toContain("/bin/nothing was not found.");
    expect(within(error).getByTestId(ids.errorHint).textContent).toContain("Install it");
    expect(backend.countOf("profile_test")).toBe(1);
    backend.failNext("profile_test", new BackendError("failed", "/bin/codex2 does not tell its version", "start it in a terminal to see what it says"));
    await user.clear(screen.getByTestId(ids.profileProgram));
    await user.type(screen.getByTestId(ids.profileProgram), "/bin/codex2");
    await user.click(screen.getByTestId(ids.profileTest));
    expect((await screen.findByTestId(ids.errorHint)).textContent).toBe("Start it in a terminal to see what it says");
    expect(profile().program).toBe("/bin/codex2");
  });

  it("bounds how many headless turns run at once, and takes the bound away", async () => {
    await edit();
    const field = screen.getByTestId<HTMLInputElement>(ids.profileConcurrency);
    expect([field.value, field.placeholder]).toEqual(["", "Any number"]);
    await user.type(field, "0");
    expect(screen.getByTestId(ids.profileEditor).textContent).toContain("Turns at once are a number from 1 to 1000");
    expect(save().disabled).toBe(true);
    await user.clear(field);
    await user.type(field, "2");
    await user.click(save());
    await waitFor(() => expect(profile().concurrency).toBe(2));
    await user.clear(field);
    await user.click(save());
    await waitFor(() => expect(profile().concurrency).toBeNull());
    expect(sent()).toEqual([{ profile: profile().id, concurrency: 2 }, { profile: profile().id, concurrency: 0 }]);
  });

  it("shows what its program printed, and doubts a bad end", async () => {
    await edit();
    backend.profiles.says.set(profile().id, { said: "/bin/codex started, and ended with exit code 3", output: "no key\n\u001b[31mset one", is_well: false });
    await user.click(screen.getByTestId(ids.profileTest));
    const said = await screen.findByTestId(ids.profileSaid);
    expect(said.dataset["well"]).toBe("false");
    expect(said.textContent).toContain("exit code 3. Look at what it said");
    expect(screen.getByTestId(ids.profileOutput).textContent).toBe("no key\n[31mset one");
  });

  it("that is tested says so, and the test can be stopped", async () => {
    await edit();
    backend.profiles.hangs = true;
    await user.click(screen.getByTestId(ids.profileTest));
    await screen.findByTestId(ids.profileTesting);
    expect(save().disabled).toBe(true);
    const stop = screen.getByTestId(ids.profileTestStop);
    expect(document.activeElement).toBe(stop);
    await user.click(stop);
    await screen.findByTestId(ids.profileTest);
    expect(backend.countOf("profile_test_stop")).toBe(1);
    expect([screen.queryByTestId(ids.error), screen.queryByTestId(ids.profileSaid)]).toEqual([null, null]);
  });
});
