// Commands of agents that wait for the user's word, of all projects. A panel and no dialog: it never takes the keyboard by itself, and
// each command is chosen before a key decides about it.

import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import "./approvals.css";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Approval, Id, Profile } from "../../generated/api";
import { pendingOf } from "../../state/approvals";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { without } from "../../state/view";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { ago, plain } from "../../shared/text";
import { ApprovalCard } from "./ApprovalCard";
import { beginningsOf } from "./beginnings";

/** Cards that are drawn at once, and decided ones that are remembered below. */
const PENDING_STEP = 30;
const EARLIER_MAX = 30;

interface Props {
  /** Gives the keyboard back to the panes. */
  onLeave: () => void;
}

export function ApprovalsPanel({ onLeave }: Props) {
  const app = useApp();
  const { data, error, loading } = useQuery(app.approvals.all);
  const deciding = useStore(app.approvals.deciding);
  const projects = useQuery(app.projects).data;
  const agents = useQuery(app.agents).data;
  const profiles = useQuery(app.profiles).data;
  const [picked, setPicked] = useState<Id | null>(null);
  const [always, setAlways] = useState<Id | null>(null);
  const [most, setMost] = useState(PENDING_STEP);
  const [errors, setErrors] = useState<Readonly<Record<Id, BackendError>>>({});
  const list = useRef<HTMLDivElement>(null);
  /** The list gets the keyboard back after a decision: that chooses nothing. */
  const decided = useRef(false);

  const pending = useMemo(() => pendingOf(data), [data]);
  const shown = pending.slice(0, most);
  const at = shown.findIndex(({ id }) => id === picked);
  const chosen = shown[at];
  const profileOf = (approval: Approval) => profiles?.find(({ id }) => id === agents?.find((agent) => agent.id === approval.agent)?.profile) ?? null;

  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView?.({ block: "nearest" });
  }, [picked]);

  const choose = useCallback((approval: Approval) => setPicked(approval.id), []);
  const did = useCallback(async (approval: Approval, call: () => Promise<void>) => {
    setErrors((all) => without(all, approval.id));
    try {
      await call();
      // The next one is not chosen by itself: the same key pressed twice must not decide about what nobody has read.
      setPicked((old) => (old === approval.id ? null : old));
      setAlways((old) => (old === approval.id ? null : old));
      decided.current = true;
      if (document.activeElement === document.body) list.current?.focus({ preventScroll: true });
      decided.current = false;
    } catch (reason) {
      setErrors((all) => ({ ...all, [approval.id]: toBackendError(reason) }));
    }
  }, []);
  const say = useCallback((approval: Approval, approve: boolean) => void did(approval, () => app.approvals.decide(approval, approve)), [app, did]);
  const allow = useCallback((approval: Approval, profile: Profile, prefix: string) => void did(approval, () => app.approvals.always(approval, profile, prefix)), [app, did]);
  const openAlways = useCallback((approval: Approval, open: boolean) => {
    setPicked(approval.id);
    setAlways(open ? approval.id : null);
    if (!open) list.current?.focus();
  }, []);
  const showAgent = useCallback((approval: Approval) => {
    const agent = app.agent(approval.agent);
    if (agent) void app.show(agent, true);
    else void app.showTask(approval.project, approval.task);
  }, [app]);

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const key = event.key.toLowerCase();
    const to = key === "arrowdown" ? at + 1 : key === "arrowup" ? Math.max(0, at - 1) : key === "home" ? 0 : key === "end" ? shown.length - 1 : null;
    const free = chosen !== undefined && !event.repeat && !deciding.has(chosen.id);
    if (to !== null && event.target === list.current) setPicked(shown[Math.min(shown.length - 1, to)]?.id ?? null);
    else if (event.key === "Escape") {
      if (event.target === list.current) onLeave();
      else list.current?.focus();
    } else if (key === "a" && free) say(chosen, true);
    else if (key === "d" && free) say(chosen, false);
    else if (key === "w" && free && profileOf(chosen) && !("reason" in beginningsOf(chosen.command))) openAlways(chosen, true);
    else return;
    event.preventDefault();
  };

  return (
    <div className="approvals" data-testid={ids.approvalsPanel} onKeyDown={keyDown}>
      {error && <div className="approvals-error"><ErrorText error={error} /><Button busy={loading} onClick={() => void app.approvals.refresh()}>Try again</Button></div>}
      <div className="approvals-room">
        <div ref={list} className="approvals-list" data-panel-list role="group" tabIndex={0} aria-label="Commands that wait for your approval" aria-activedescendant={chosen ? `approval-${chosen.id}` : undefined}
          data-testid={ids.approvalsList} onFocus={(event) => event.target === event.currentTarget && picked === null && !decided.current && shown[0] && setPicked(shown[0].id)}>
          {shown.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} chosen={approval.id === picked} project={projects?.find(({ id }) => id === approval.project) ?? null} profile={profileOf(approval)}
              deciding={deciding.get(approval.id)} error={errors[approval.id] ?? null} always={always === approval.id} onChoose={choose} onSay={say} onAlways={openAlways} onAllow={allow} onShowAgent={showAgent} />
          ))}
          {pending.length > most && <Button look="quiet" icon="down" onClick={() => setMost(most + PENDING_STEP)}>Show {Math.min(PENDING_STEP, pending.length - most)} more of {pending.length - most}</Button>}
          {pending.length === 0 && !error && (
            <div className="approvals-empty muted" data-testid={ids.approvalsEmpty}>
              {data ? <p>No command waits for you. What an agent may run without asking stands in its profile. <button type="button" className="link" onClick={() => app.open({ kind: "settings", page: "profiles" })}>Profiles</button></p> : <p role="status">Loading…</p>}
            </div>
          )}
          <Earlier approvals={data?.filter(({ state }) => state !== "pending").slice(0, EARLIER_MAX) ?? []} />
        </div>
      </div>
      {shown.length > 0 && <p className="approvals-hint muted clip">↑ ↓ choose · A approve · D deny · W always allow</p>}
    </div>
  );
}

const DECIDED = { pending: "waits", approved: "approved", denied: "denied", expired: "expired" } as const;

function Earlier({ approvals }: { approvals: readonly Approval[] }) {
  const now = useNow();
  if (approvals.length === 0) return null;
  return (
    <details className="approvals-earlier" data-testid={ids.approvalsEarlier}>
      <summary>Earlier <span className="muted">· {approvals.length}</span></summary>
      <ul>
        {approvals.map((approval) => (
          <li key={approval.id}>
            <span className={`mark ${approval.state === "approved" ? "ok" : ""}`} title={DECIDED[approval.state]}><Icon name={approval.state === "approved" ? "check" : approval.state === "denied" ? "close" : "clock"} /></span>
            <span className="mono clip grow" title={plain(approval.shown)}>{plain(approval.shown)}</span>
            <span className="muted">{DECIDED[approval.state]}, {plain(approval.agent_name ?? "")} {ago(approval.created_ms, now)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
