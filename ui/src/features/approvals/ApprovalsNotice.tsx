// How a waiting command is noticed: a line above the panes, and a button in the line below them. Neither takes the keyboard.

import "./approvals.css";
import { openPanel } from "../../state/layout";
import type { Approval, Id } from "../../generated/api";
import { pendingOf } from "../../state/approvals";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { Banner } from "../../shared/Banner";
import { Button } from "../../shared/Button";
import { Icon } from "../../shared/Icon";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";
import { clipped, plain, plural } from "../../shared/text";

/** Stands until all are decided, or the panel that shows them is open. */
export function ApprovalsBanner({ onShow }: { onShow: (project: Id) => void }) {
  const app = useApp();
  const { project } = useStore(app.view);
  const layouts = useStore(app.layouts.state);
  const pending = pendingOf(useQuery(app.approvals.all).data);
  const layout = project === null ? undefined : layouts[project];
  if (pending.length === 0 || project === null || (layout && openPanel(layout) === "approvals")) return null;
  return (
    <Banner level="warn" testid={ids.approvalsBanner}
      buttons={<Button look="primary" onClick={() => onShow(project)} title={withKeys("Look at it", "approvals")} testid={ids.approvalsShow}>{pending.length === 1 ? "Look at it" : "Look at them"}</Button>}>
      <p className="approvals-banner-words">{bannerWords(pending)}</p>
    </Banner>
  );
}

function bannerWords(pending: readonly Approval[]) {
  const [first] = pending;
  const who = plain(first!.agent_name ?? "An agent");
  if (pending.length === 1) return <><strong>{who}</strong> waits for your word: <code className="mono">{clipped(plain(first!.shown), 120)}</code></>;
  const names = [...new Set(pending.map(({ agent_name }) => plain(agent_name ?? "an agent")))];
  const shown = names.length > 3 ? [...names.slice(0, 2), "others"] : names;
  return <><strong>{plural(pending.length, "command")}</strong> wait for your word: of {[shown.slice(0, -1).join(", "), shown.at(-1)].filter(Boolean).join(" and ")}.</>;
}

/** In the line under the panes, while there is something to decide or the panel is open. */
export function ApprovalsStrip({ project, onPress }: { project: Id; onPress: () => void }) {
  const app = useApp();
  const layout = useStore(app.layouts.state)[project];
  const count = pendingOf(useQuery(app.approvals.all).data).length;
  const open = layout !== undefined && openPanel(layout) === "approvals";
  if (count === 0 && !open) return null;
  return (
    <button type="button" className={`strip-button ${count > 0 ? "approvals-strip" : ""}`} aria-pressed={open} title={withKeys(open ? "Hide the approvals" : "Show the approvals", "approvals")} onClick={onPress} data-testid={ids.approvalsOpen} data-count={count}>
      <Icon name="shield" />
      Approvals
      <span>{count === 0 ? "none wait" : <>{count}<span className="strip-word"> {count === 1 ? "waits" : "wait"}</span></>}</span>
    </button>
  );
}
