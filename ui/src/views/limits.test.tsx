// @vitest-environment jsdom
// Session limits and approvals in the window, on the fake engine.

import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { BackendError } from "../backend/backend";
import { agentOf, emptyWorld, profileOf, type World } from "../backend/fake";
import { ids } from "../shared/testids";
import { app, backend, idOf, onePane, openWindow, press, projectOf, user } from "./opened-window";

function world(): World {
  const atlas = projectOf("atlas");
  const lamp = projectOf("lamp");
  const claude = profileOf("claude", "claude", "/bin/claude");
  const codex = profileOf("codex", "codex", "/bin/codex");
  const scout = agentOf("scout", atlas, claude, "headless");
  return {
    ...emptyWorld(), projects: [atlas, lamp], profiles: [claude, codex], agents: [scout, agentOf("tester", atlas, codex, "headless"), agentOf("docs", lamp, codex, "headless")],
    layouts: onePane(atlas, scout.id),
  };
}

async function open(fill: () => void = () => undefined): Promise<void> {
  await openWindow(world(), fill);
  await waitFor(() => expect(app.approvals.all.data && app.limits.all.data && app.profiles.data).toBeTruthy());
}

const profile = (at: number) => backend.world.profiles[at]!;
const SOON_MS = 30 * 60_000;
const APPROVALS = "{Control>}{Shift>}Y{/Shift}{/Control}";
const cards = () => screen.queryAllByTestId(ids.approval);
const chosen = () => cards().findIndex((card) => card.getAttribute("aria-current") === "true");
const stateOf = (id: string) => backend.limits.approvals.find((each) => each.id === id)!.state;

describe("a session limit", () => {
  it("is said above the panes with what comes next and who waits, and goes when it is over", async () => {
    await open();
    const now = Date.now();
    vi.spyOn(Date, "now").mockReturnValue(now);
    expect(screen.queryByTestId(ids.limitBanner)).toBeNull();
    act(() => backend.limits.limit(profile(0), { until_ms: now + SOON_MS, waiting: ["scout", "ada"] }));
    const banner = await screen.findByTestId(ids.limitBanner);
    expect(banner.textContent).toMatch(/claude is at its session limit\. It resets at .*\d\d:\d\d, in 30 min 00 s\. scout and ada wait\./);
    act(() => backend.limits.limit(profile(0), { until_ms: null, resume_ms: now + SOON_MS }));
    await waitFor(() => expect(banner.textContent).toContain("Its reset is unknown; next try at"));
    act(() => void backend.limits.clear({ profile: profile(0).id }));
    await waitFor(() => expect(screen.queryByTestId(ids.limitBanner)).toBeNull());
  });

  it("counts down to the second", async () => {
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(now);
    await open(() => backend.limits.limit(profile(0), { until_ms: now + 5_000 }));
    const words = () => screen.getByTestId(ids.limitNext).textContent;
    expect(words()).toContain("in 5 s.");
    clock.mockReturnValue(now + 3_000);
    await waitFor(() => expect(words()).toContain("in 2 s."));
  });

  it("is tried, held and cleared by the user; a refusal says why", async () => {
    await open(() => backend.limits.limit(profile(0), { waiting: ["scout"] }));
    await user.click(await screen.findByTestId(ids.limitHold));
    await waitFor(() => expect(screen.getByTestId(ids.limitNext).textContent).toContain("It stays stopped until you say otherwise."));
    expect(screen.queryByTestId(ids.limitHold)).toBeNull();
    await user.click(screen.getByTestId(ids.limitResume));
    await waitFor(() => expect(screen.getByTestId(ids.limitNext).textContent).toContain("One agent tries now"));
    expect(screen.queryByTestId(ids.limitResume)).toBeNull();
    backend.failNext("limit_clear", new BackendError("failed", "The ledger is busy.", "Try again."));
    await user.click(screen.getByTestId(ids.limitClear));
    expect((await screen.findByTestId(ids.toast)).textContent).toContain("The limit of claude could not be changed. The ledger is busy.");
    await user.click(screen.getByTestId(ids.limitClear));
    await waitFor(() => expect(screen.queryByTestId(ids.limitBanner)).toBeNull());
  });

  it("of several profiles stands in one line that leads to all; dismissed, it comes back when it begins anew", async () => {
    await open(() => {
      backend.limits.limit(profile(0));
      backend.limits.limit(profile(1), { until_ms: null, reason: "usage limit\u0007" });
    });
    const banner = await screen.findByTestId(ids.limitBanner);
    expect(banner.textContent).toContain("2 profiles are at their session limit: claude, codex.");
    await user.click(screen.getByTestId(ids.limitsShow));
    const rows = () => screen.getAllByTestId(ids.limitRow);
    await waitFor(() => expect(rows().map((row) => row.dataset["name"])).toEqual(["claude", "codex"]));
    expect(rows()[1]!.textContent).toContain("“usage limit”");
    backend.failNext("limit_hold", new BackendError("failed", "The ledger is busy.", "Try again."));
    await user.click(within(rows()[1]!).getByTestId(ids.limitHold));
    expect((await within(rows()[1]!).findByTestId(ids.error)).textContent).toContain("The ledger is busy.");
    await press("{Escape}");
    await user.click(within(banner).getByLabelText("Dismiss; the limit stays"));
    expect(screen.queryByTestId(ids.limitBanner)).toBeNull();
    act(() => backend.limits.limit(profile(1), { since_ms: Date.now() + 5 }));
    await screen.findByTestId(ids.limitBanner);
  });

  it("badges its profile, and is listed by keys", async () => {
    await open(() => backend.limits.limit(profile(1), { until_ms: null }));
    act(() => app.open({ kind: "settings", page: "profiles" }));
    expect((await screen.findByTestId(ids.profileLimited)).textContent).toBe("limited, reset unknown");
    await press("{Escape}{Control>}{Shift>}T{/Shift}{/Control}");
    expect((await screen.findAllByTestId(ids.limitRow)).length).toBe(1);
    act(() => void backend.limits.clear({ profile: profile(1).id }));
    await screen.findByTestId(ids.limitsEmpty);
  });
});

describe("a command that waits for approval", () => {
  it("is noticed without taking the keyboard, told to the desktop once, and shown exactly", async () => {
    await open();
    const field = await screen.findByTestId(ids.composer);
    field.focus();
    act(() => void backend.limits.ask(idOf("docs"), ["npm", "test", "a  b\u202e\n"], { cwd: "/srv" }));
    const banner = await screen.findByTestId(ids.approvalsBanner);
    expect(banner.textContent).toContain("docs waits for your word: npm test a  b");
    expect(screen.getByTestId(ids.approvalsOpen).textContent).toContain("1 waits");
    expect(document.activeElement).toBe(field);
    await waitFor(() => expect(backend.notified).toEqual([{ title: "docs wants to run a command in lamp", body: "npm test a  b" }]));
    await user.click(screen.getByTestId(ids.approvalsShow));
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId(ids.approvalsList)));
    expect(screen.queryByTestId(ids.approvalsBanner)).toBeNull();
    const [card] = cards();
    expect(within(card!).getByTestId(ids.approvalLine).textContent).toContain("npm test a  b⟨U+202E⟩");
    expect(within(card!).getAllByTestId(ids.approvalWord).map((word) => word.textContent)).toEqual(["npm", "test", "a  b⟨U+202E⟩⟨newline⟩"]);
    expect(within(card!).getByTestId(ids.approvalCwd).textContent).toBe("/srv");
    expect(card!.textContent).toContain("outside of the project");
    expect(card!.textContent).toContain("docs wants to run in lamp");
    expect(within(card!).getByTestId(ids.approvalExpiry).textContent).toMatch(/^expires in (1 h 00 min|59 min \d\d s)$/);
  });

  it("is approved and denied by keys, each only after it was chosen", async () => {
    let first = "";
    let second = "";
    await open(() => {
      first = backend.limits.ask(idOf("scout"), ["npm", "test"], { created_ms: 1 }).id;
      second = backend.limits.ask(idOf("tester"), ["make"], { created_ms: 2 }).id;
    });
    expect(screen.getByTestId(ids.approvalsBanner).textContent).toContain("2 commands wait for your word: of scout and tester.");
    await press(APPROVALS);
    await waitFor(() => expect(chosen()).toBe(0));
    await press("a");
    await waitFor(() => expect(stateOf(first)).toBe("approved"));
    await waitFor(() => expect(cards().length).toBe(1));
    expect(backend.tasks.list({})[0]).toMatchObject({ command: ["npm", "test"], owner: idOf("scout") });
    // The same key once more decides nothing: the other one was not chosen.
    await press("a");
    expect([chosen(), stateOf(second)]).toEqual([-1, "pending"]);
    await press("{ArrowDown}");
    expect(chosen()).toBe(0);
    backend.failNext("approval_decide", new BackendError("failed", "The ledger is busy.", "Try again."));
    await press("d");
    expect((await within(cards()[0]!).findByTestId(ids.error)).textContent).toContain("The ledger is busy.");
    await press("d");
    await waitFor(() => expect(stateOf(second)).toBe("denied"));
    await screen.findByTestId(ids.approvalsEmpty);
    await user.click(within(screen.getByTestId(ids.approvalsEarlier)).getByText("Earlier"));
    expect(screen.getByTestId(ids.approvalsEarlier).textContent).toMatch(/npm testapproved, scout.*makedenied, tester|makedenied, tester.*npm testapproved, scout/);
    await press(APPROVALS);
    await waitFor(() => expect(screen.queryByTestId(ids.approvalsPanel)).toBeNull());
  });

  it("may be allowed for good by its beginning, which says beforehand what that means", async () => {
    let id = "";
    await open(() => {
      id = backend.limits.ask(idOf("scout"), ["npm", "run", "e2e"]).id;
    });
    await press(APPROVALS);
    await waitFor(() => expect(chosen()).toBe(0));
    await press("w");
    const prefixes = () => screen.getAllByTestId(ids.approvalPrefix);
    await waitFor(() => expect(prefixes().map((each) => each.dataset["prefix"])).toEqual(["npm", "npm run", "npm run e2e"]));
    expect(cards()[0]!.textContent).toContain("For all agents of the profile claude");
    // No letter decides while the beginnings stand open.
    await press("a");
    expect(stateOf(id)).toBe("pending");
    await press("{Escape}");
    expect(screen.queryAllByTestId(ids.approvalPrefix)).toEqual([]);
    await press("w{ArrowRight}{Enter}");
    await waitFor(() => expect(stateOf(id)).toBe("approved"));
    expect(profile(0).allow_prefixes).toEqual(["npm run e2e"]);
  });

  it("without a beginning says why, and one that was decided elsewhere goes", async () => {
    await open(() => void backend.limits.ask(idOf("scout"), ["sh", "-c", "a | b"]));
    await press(APPROVALS);
    await waitFor(() => expect(chosen()).toBe(0));
    expect(cards()[0]!.textContent).toContain("uses signs of the shell");
    expect(screen.queryByTestId(ids.approvalAlways)).toBeNull();
    await press("w");
    expect(screen.queryAllByTestId(ids.approvalPrefix)).toEqual([]);
    act(() => backend.limits.expire(backend.limits.approvals[0]!.id));
    await screen.findByTestId(ids.approvalsEmpty);
    backend.failNext("approvals_list", new BackendError("failed", "The ledger is busy.", "Try again."));
    await act(() => app.approvals.refresh());
    expect(screen.getByTestId(ids.approvalsPanel).textContent).toContain("The ledger is busy.");
    await user.click(within(screen.getByTestId(ids.approvalsPanel)).getByText("Try again"));
    await waitFor(() => expect(screen.getByTestId(ids.approvalsPanel).textContent).not.toContain("The ledger is busy."));
  });
});
