import { type KeyboardEvent, useMemo, useRef } from "react";
import type { Workdir } from "../../generated/api";
import { useApp } from "../../state/app";
import { useWatched } from "../../state/watched";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { plain, plural } from "../../shared/text";
import { readDiff } from "./diff";
import { DiffLines, type DiffPlace } from "./DiffLines";

/** What a workdir has changed since it began, to read. */
export function DiffDialog({ workdir }: { workdir: Workdir }) {
  const app = useApp();
  const { data, error, loading } = useWatched(app.workdirs.diffs, workdir.id);
  const refresh = () => void app.workdirs.diffs.of(workdir.id).refresh();
  const read = useMemo(() => (data ? readDiff(data) : null), [data]);
  const place = useRef<DiffPlace>(null);
  const added = data?.files.reduce((sum, file) => sum + (file.added ?? 0), 0) ?? 0;
  const deleted = data?.files.reduce((sum, file) => sum + (file.deleted ?? 0), 0) ?? 0;
  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !read || !place.current) return;
    const starts = read.starts.filter((start) => start >= 0);
    const top = place.current.top();
    const to = event.key === "n" ? starts.find((start) => start > top) : event.key === "p" ? starts.findLast((start) => start < top) : undefined;
    if (to === undefined) return;
    event.preventDefault();
    place.current.goTo(to);
  };
  const nothing = data !== undefined && data.files.length === 0 && data.untracked.length === 0 && data.text === "";
  return (
    <Dialog title={`What ${plain(workdir.name)} has changed`} width="wide" testid={ids.diffDialog} onClose={app.closeDialog}>
      <div className="diff" onKeyDown={keyDown}>
        <div className="diff-head">
          <p className="grow muted clip">
            {data && <>{plural(data.files.length, "file")}, <span className="diff-plus">+{added}</span> <span className="diff-minus">−{deleted}</span> since {workdir.base_commit?.slice(0, 8) ?? "it began"}{workdir.base_branch && ` on ${plain(workdir.base_branch)}`}. Uncommitted changes are in it.</>}
            {!data && !error && <span role="status">Reading the difference…</span>}
          </p>
          <Button busy={loading} icon="retry" onClick={refresh}>Read again</Button>
        </div>
        {error && <ErrorText error={error} />}
        {read?.cut && <p className="diff-cut" role="status" data-testid={ids.diffCut}>This difference is too large to be shown whole; here is its beginning. The rest: <code className="mono">git -C {plain(workdir.path)} diff {workdir.base_commit?.slice(0, 12)}</code></p>}
        {nothing && <p className="muted diff-nothing">Nothing was changed in it.</p>}
        {data && read && !nothing && (
          <div className="diff-body">
            <nav className="diff-files" aria-label="Files">
              <ul>
                {data.files.map((file, at) => (
                  <li key={file.path}>
                    <button type="button" className="diff-file" disabled={read.starts[at]! < 0} title={plain(file.path)} onClick={() => place.current?.goTo(read.starts[at]!)} data-testid={ids.diffFile} data-path={file.path}>
                      <span className="diff-path">{plain(file.path)}</span>
                      {file.added === null ? <span className="muted">binary</span> : <span className="diff-count"><span className="diff-plus">+{file.added}</span> <span className="diff-minus">−{file.deleted ?? 0}</span></span>}
                    </button>
                  </li>
                ))}
              </ul>
              {data.untracked.length > 0 && (
                <>
                  <h3>New, and not known to git</h3>
                  <ul>{data.untracked.map((path) => <li key={path} className="diff-untracked" title={plain(path)}><span className="diff-path">{plain(path)}</span></li>)}</ul>
                </>
              )}
            </nav>
            {read.lines.length > 0 ? <DiffLines lines={read.lines} place={place} /> : <p className="muted diff-nothing">Only files that git does not know are new.</p>}
          </div>
        )}
      </div>
    </Dialog>
  );
}
