import { useEffect, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Workdir } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { canRestore, isGone } from "../../state/workdir-words";
import { Button } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { ago, plain } from "../../shared/text";

/** What is left of the workdirs of all projects, and the way to bring one back. */
export function GoneWorkdirs() {
  const app = useApp();
  const { data, error, loading } = useQuery(app.workdirs.all);
  const projects = useQuery(app.projects).data;
  const [most, setMost] = useState(100);
  useEffect(() => void app.workdirs.all.refresh(), [app]);
  const gone = data?.filter(isGone);
  return (
    <div className="residue-list" tabIndex={0} aria-label="Workdirs that are gone" data-autofocus>
      {error && <div className="cleanup-error"><ErrorText error={error} /><Button busy={loading} onClick={() => void app.workdirs.all.refresh()}>Try again</Button></div>}
      {!gone && !error && <p className="cleanup-empty muted" role="status">Looking…</p>}
      {gone?.length === 0 && <p className="cleanup-empty muted">No workdir is gone yet.</p>}
      <ul>{gone?.slice(0, most).map((workdir) => <Gone key={workdir.id} workdir={workdir} project={projects?.find(({ id }) => id === workdir.project)?.name ?? ""} />)}</ul>
      {gone && gone.length > most && <Button look="quiet" icon="down" onClick={() => setMost(most + 100)}>Show {Math.min(100, gone.length - most)} more</Button>}
    </div>
  );
}

function Gone({ workdir, project }: { workdir: Workdir; project: string }) {
  const app = useApp();
  const busy = useStore(app.workdirs.busy)[workdir.id] === "restoring";
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);
  const now = useNow();
  const restore = async () => {
    setError(null);
    try {
      const back = await app.workdirs.restore(workdir);
      // That it left this list says that it is back; what else there is to know needs words.
      if (back.notes.length > 0) app.tell([`${plain(workdir.name)} is back.`, ...back.notes.map(plain)].join(" "));
    } catch (reason) {
      setError(toBackendError(reason));
    }
  };
  return (
    <li className="residue gone-workdir" data-testid={ids.goneRow} data-name={workdir.name}>
      <span className="residue-box"><span className="mark"><Icon name="branch" /></span></span>
      <span className="residue-what">
        <span className="residue-name clip">{plain(workdir.name)} <span className="mono muted">{plain(workdir.path)}</span></span>
        <span className="residue-why muted">{[plain(project), plain(workdir.why ?? "gone"), ago(workdir.ended_ms ?? workdir.created_ms, now), workdir.archive_ref ? "" : "nothing to restore"].filter(Boolean).join(" · ")}</span>
        {asked && (
          <span className="gone-ask">
            <span>This makes the worktree again{workdir.branch && ` with its branch ${plain(workdir.branch)}`}: commits, index and files as they were.{workdir.not_kept.length > 0 && ` Missing will be: ${workdir.not_kept.map(plain).join(", ")}.`}</span>
            {error && <ErrorText error={error} />}
            <span className="gone-buttons">
              <Button look="primary" icon="retry" busy={busy} autoFocus onClick={() => void restore()} testid={ids.workdirDialogYes}>Restore</Button>
              <Button disabled={busy} onClick={() => setAsked(false)}>Cancel</Button>
            </span>
          </span>
        )}
      </span>
      {canRestore(workdir) && !asked && <Button icon="retry" onClick={() => setAsked(true)} testid={ids.goneRestore}>Restore…</Button>}
    </li>
  );
}
