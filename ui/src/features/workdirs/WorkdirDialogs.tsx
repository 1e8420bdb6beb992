// Each says beforehand what it will do, and stays with the reason when it was refused.

import { useState } from "react";
import "./workdirs.css";
import type { Project, Workdir } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import type { MergeHow } from "../../state/workdirs";
import { Button } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { plain, plural } from "../../shared/text";
import { useGitWork } from "./useGitWork";
import { StopButton } from "./WorkdirActions";
import { Sentences } from "./WorkdirDetail";

export function NewWorkdirDialog({ project }: { project: Project }) {
  const app = useApp();
  const [name, setName] = useState("");
  const [base, setBase] = useState("");
  const { busy, error, run, forget } = useGitWork("The workdir could not be made.");
  const create = () => void run(() => app.workdirs.create(project.id, name.trim(), base.trim()), (made) => `The workdir ${plain(made.name)} is there.`);
  return (
    <Dialog title={`New workdir in ${plain(project.name)}`} width="medium" testid={ids.workdirNewDialog} onClose={app.closeDialog} onSubmit={create}
      footer={<>
        <Button onClick={app.closeDialog}>Cancel</Button>
        <Button look="primary" icon="plus" type="submit" busy={busy} testid={ids.workdirNewCreate}>Create</Button>
      </>}>
      <label className="field"><span>Name</span>
        <input className="input" value={name} data-autofocus spellCheck={false} autoComplete="off" placeholder="One is made up" aria-invalid={error !== null} onChange={(event) => { setName(event.target.value); forget(); }} data-testid={ids.workdirNewName} />
      </label>
      <label className="field"><span>Begins from: a branch, a tag or a commit</span>
        <input className="input mono" value={base} spellCheck={false} autoComplete="off" placeholder="What the project's rules or its checkout say" onChange={(event) => { setBase(event.target.value); forget(); }} data-testid={ids.workdirNewBase} />
      </label>
      <p className="muted">It makes the branch <code className="mono">carillon/{plain(name.trim()) || "…"}</code> and a worktree for it in Carillon's own directory. Your checkout is not touched. What <code className="mono">carillon.toml</code> names is copied into it, and its set-up runs as a task.</p>
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}

const HOWS: readonly { how: MergeHow; title: string; note: (ahead: number | null, into: string) => string }[] = [
  { how: "merge", title: "Merge", note: (ahead, into) => `Brings ${commitsOf(ahead)} to ${into} ${ahead === 1 ? "as it is" : "as they are"}, with a merge commit where ${into} has moved on.` },
  { how: "squash", title: "Squash", note: (ahead, into) => `Brings the work of ${commitsOf(ahead)} to ${into} as one commit of its own.` },
  { how: "rebase", title: "Rebase", note: (ahead, into) => `Repeats ${commitsOf(ahead)} on top of ${into}${ahead === 1 ? "" : ", one by one"}.` },
];

const commitsOf = (ahead: number | null) => (ahead === null ? "its commits" : ahead === 1 ? "its one commit" : `its ${ahead} commits`);

export function MergeDialog({ workdir }: { workdir: Workdir }) {
  const app = useApp();
  const [how, setHow] = useState<MergeHow>("merge");
  const [into, setInto] = useState(workdir.base_branch ?? "");
  const [keep, setKeep] = useState(false);
  const root = useQuery(app.projects).data?.find(({ id }) => id === workdir.project)?.root;
  const { busy, error, run, forget } = useGitWork(`${plain(workdir.name)} was not merged.`);
  const target = plain(into.trim()) || "the branch";
  const dirty = workdir.dirty === true;
  const merge = () => {
    if (!dirty && into.trim() !== "") void run(() => app.workdirs.merge(workdir, { how, into: into.trim(), keep }), (done) => (done.state === "tombstoned" ? `${plain(workdir.name)} was merged into ${target}, and is gone.` : `${plain(workdir.name)} was merged into ${target}.`));
  };
  return (
    <Dialog title={`Merge ${plain(workdir.name)}`} width="medium" testid={ids.workdirDialog} onClose={app.closeDialog} onSubmit={merge}
      footer={<>
        <Button onClick={app.closeDialog}>{busy ? "Close" : "Cancel"}</Button>
        {busy && <StopButton workdir={workdir} />}
        {dirty
          ? <Button icon="retry" onClick={() => void app.workdirs.lists.of(workdir.project).refresh()}>Look again</Button>
          : <Button look="primary" icon="merge" type="submit" busy={busy} disabled={into.trim() === ""} testid={ids.workdirDialogYes}>Merge into {target}</Button>}
      </>}>
      {dirty && <div className="workdir-warning" role="status"><p><strong>Something in it is not committed, so it cannot be merged yet.</strong></p><Sentences texts={workdir.reasons} /><p className="muted">Commit it in {plain(workdir.path)}, or let its agent do it.</p></div>}
      <fieldset className="hows">
        <legend className="muted">How</legend>
        {HOWS.map((each) => (
          <label key={each.how} className={`how ${how === each.how ? "picked" : ""}`} data-testid={ids.workdirMergeHow} data-how={each.how}>
            <input type="radio" name="how" checked={how === each.how} data-autofocus={each.how === "merge" || undefined} onChange={() => setHow(each.how)} />
            <span><b>{each.title}</b> <span className="muted">{each.note(workdir.ahead, target)}</span></span>
          </label>
        ))}
      </fieldset>
      <label className="field"><span>Into the branch</span>
        <input className="input mono" value={into} spellCheck={false} autoComplete="off" onChange={(event) => { setInto(event.target.value); forget(); }} data-testid={ids.workdirMergeInto} />
      </label>
      <label className="check-field"><input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} data-testid={ids.workdirMergeKeep} /> Keep the worktree and its branch</label>
      <ul className="sentences muted">
        <li>Conflicts are found beforehand; then nothing is changed.</li>
        <li>Where {target} is checked out{root && ` in ${plain(root)}`}, that checkout is brought along.</li>
        <li>{keep ? "The worktree and its branch stay." : workdir.verdict === "blocked" ? "The worktree goes when its last task, ask or agent is over." : "Then the worktree and its branch are removed."}</li>
      </ul>
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}

export function RemoveWorkdirDialog({ workdir }: { workdir: Workdir }) {
  const app = useApp();
  const { busy, error, run } = useGitWork(`${plain(workdir.name)} was not removed.`);
  const blocked = workdir.verdict === "blocked";
  const name = plain(workdir.name);
  const remove = () => void run(() => app.workdirs.remove(workdir), (done) => (done.state === "tombstoned" ? `${name} is gone${done.archive_ref ? "; it can be restored" : ""}.` : `${name} is given up.`));
  const refresh = () => void app.workdirs.lists.of(workdir.project).refresh();
  return (
    <Dialog title={blocked ? `${name} must stay` : `Remove ${name}?`} width="medium" testid={ids.workdirDialog} onClose={app.closeDialog}
      footer={<>
        <Button data-autofocus onClick={app.closeDialog}>{blocked || busy ? "Close" : "Cancel"}</Button>
        {busy && <StopButton workdir={workdir} />}
        {blocked ? <Button icon="retry" onClick={refresh}>Look again</Button> : <Button look="danger" icon="trash" busy={busy} onClick={remove} testid={ids.workdirDialogYes}>Remove</Button>}
      </>}>
      {blocked ? <p>It cannot be removed now:</p> : workdir.verdict === "needs_consent" ? <p>It holds work that is nowhere else:</p> : workdir.verdict === "safe" ? <p>Nothing in it is only there:</p> : <p>It could not be looked at. It is looked at once more before anything goes.</p>}
      <Sentences texts={[...workdir.reasons, ...workdir.notes]} />
      {!blocked && (
        <>
          <p>This removes the worktree at <span className="mono breakable">{plain(workdir.path)}</span>{workdir.branch && <> and its branch <span className="mono breakable">{plain(workdir.branch)}</span></>}.</p>
          {workdir.verdict !== "safe" && <p>Before that its commits, its index and its files that git does not know are archived: for 30 days Restore brings them back. If they cannot be archived, nothing is removed.</p>}
        </>
      )}
      {blocked && <p className="muted">See to the reason, then look again.</p>}
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}

export function RestoreWorkdirDialog({ workdir }: { workdir: Workdir }) {
  const app = useApp();
  const { busy, error, run } = useGitWork(`${plain(workdir.name)} was not restored.`);
  const restore = () => void run(() => app.workdirs.restore(workdir), () => `${plain(workdir.name)} is back.`);
  return (
    <Dialog title={`Restore ${plain(workdir.name)}`} width="medium" testid={ids.workdirDialog} onClose={app.closeDialog} onSubmit={restore}
      footer={<>
        <Button onClick={app.closeDialog}>Cancel</Button>
        <Button look="primary" icon="retry" type="submit" busy={busy} data-autofocus testid={ids.workdirDialogYes}>Restore</Button>
      </>}>
      <p>This makes the worktree again at <span className="mono breakable">{plain(workdir.path)}</span>{workdir.branch && <>, with its branch <span className="mono breakable">{plain(workdir.branch)}</span></>}: its commits, its index and the files that git did not know, as they were.</p>
      {workdir.not_kept.length > 0 && <><p className="workdir-warn">{plural(workdir.not_kept.length, "thing")} could not be kept and will be missing:</p><Sentences texts={workdir.not_kept} mono /></>}
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}
