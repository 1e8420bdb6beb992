import { memo, type ReactNode, useState } from "react";
import type { BackendError } from "../../backend/backend";
import type { Approval, Profile } from "../../generated/api";
import type { Word } from "../../state/approvals";
import { Button } from "../../shared/Button";
import { clock, until } from "../../shared/clock";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { AlwaysAllow } from "./AlwaysAllow";
import { beginningsOf } from "./beginnings";
import { hasHidden, seen } from "./words";

/** Words that are drawn at once. */
const WORDS_STEP = 200;

interface Props {
  approval: Approval;
  chosen: boolean;
  project: { name: string; root: string } | null;
  /** The profile of its agent; null when one of them is gone. */
  profile: Profile | null;
  deciding: Word | undefined;
  error: BackendError | null;
  /** The beginnings that could be allowed stand open. */
  always: boolean;
  onChoose: (approval: Approval) => void;
  onSay: (approval: Approval, approve: boolean) => void;
  onAlways: (approval: Approval, open: boolean) => void;
  onAllow: (approval: Approval, profile: Profile, prefix: string) => void;
  onShowAgent: (approval: Approval) => void;
}

/** One command that waits for the user's word: exactly what would run, where, and for whom. */
export const ApprovalCard = memo(function ApprovalCard(props: Props) {
  const { approval, chosen, project, profile, deciding, error, always, onChoose, onSay, onAlways, onAllow, onShowAgent } = props;
  const { command, cwd, shown } = approval;
  const who = plain(approval.agent_name ?? "an agent that is gone");
  const beginnings = beginningsOf(command);
  const outside = project !== null && cwd !== project.root && !cwd.startsWith(`${project.root}/`);
  const hidden = command.some(hasHidden) || hasHidden(cwd);
  return (
    <article id={`approval-${approval.id}`} aria-current={chosen || undefined} aria-label={`${who} wants to run ${plain(shown)}`} className="approval" data-testid={ids.approval} data-approval={approval.id} onClick={() => onChoose(approval)}>
      <header className="approval-head">
        <p className="grow"><button type="button" className="link" onClick={() => onShowAgent(approval)}>{who}</button> wants to run{project && <span className="muted"> in {plain(project.name)}</span>}</p>
        <Expiry approval={approval} />
      </header>
      <pre className="approval-line mono" tabIndex={-1} data-testid={ids.approvalLine}>{seen(shown)}</pre>
      <Fact name="Words"><Words command={command} /></Fact>
      <Fact name="Directory"><span className="mono breakable" data-testid={ids.approvalCwd}>{seen(cwd)}</span>{outside && <span className="approval-warn"> outside of the project</span>}</Fact>
      {hidden && <p className="approval-warn">There are characters in it that cannot be seen; each is shown by a sign.</p>}
      {error && <ErrorText error={error} />}
      {always && profile && !("reason" in beginnings)
        ? <AlwaysAllow beginnings={beginnings} profile={profile} busy={deciding !== undefined} onAllow={(prefix) => onAllow(approval, profile, prefix)} onClose={() => onAlways(approval, false)} />
        : (
          <div className="approval-buttons">
            <Button look="primary" icon="check" busy={deciding === "approve"} disabled={deciding !== undefined} title="Approve (A)" onClick={() => onSay(approval, true)} testid={ids.approvalApprove}>Approve</Button>
            <Button icon="close" busy={deciding === "deny"} disabled={deciding !== undefined} title="Deny (D)" onClick={() => onSay(approval, false)} testid={ids.approvalDeny}>Deny</Button>
            {profile && !("reason" in beginnings) && <Button look="quiet" disabled={deciding !== undefined} title="Always allow its beginning (W)" onClick={() => onAlways(approval, true)} testid={ids.approvalAlways}>Always allow…</Button>}
          </div>
        )}
      {"reason" in beginnings && <p className="muted approval-note">{beginnings.reason}</p>}
    </article>
  );
});

function Expiry({ approval }: { approval: Approval }) {
  const now = useNow(1_000);
  const left = approval.until_ms - now;
  return (
    <span className={`approval-expiry ${left < 5 * 60_000 ? "soon" : "muted"}`} title={`Without your word it is denied at ${clock(approval.until_ms, now)}`} data-testid={ids.approvalExpiry}>
      {left <= 0 ? "expires now" : `expires in ${until(approval.until_ms, now)}`}
    </span>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <div className="approval-fact"><span className="muted">{name}</span><div>{children}</div></div>;
}

/** The words that the program gets, each by itself: so it is seen where one ends and the next begins. */
function Words({ command }: { command: readonly string[] }) {
  const [most, setMost] = useState(WORDS_STEP);
  return (
    <>
      <ol className="approval-words">
        {command.slice(0, most).map((word, at) => <li key={at}><code className="mono" data-testid={ids.approvalWord}>{word === "" ? <i className="muted">empty</i> : seen(word)}</code></li>)}
      </ol>
      {command.length > most && <Button look="quiet" onClick={() => setMost(most + WORDS_STEP)}>Show {Math.min(WORDS_STEP, command.length - most)} more of {command.length - most} words</Button>}
    </>
  );
}
