import type { ReactNode } from "react";
import type { Task, Workdir } from "../../generated/api";
import { useApp } from "../../state/app";
import type { WorkdirWork } from "../../state/workdirs";
import { sizeOf } from "../../state/residue-words";
import { useWatched } from "../../state/watched";
import { isGone, verdictWord, workdirFacts, workdirState } from "../../state/workdir-words";
import { isOver, taskState } from "../../state/words";
import { IconButton } from "../../shared/Button";
import { Elapsed } from "../../shared/Elapsed";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { ago, capital, plain } from "../../shared/text";
import { WorkdirActions } from "./WorkdirActions";

interface Props { workdir: Workdir; owner: string | null; busy: WorkdirWork | undefined; setUp: Task | undefined; onClose: () => void }

/** One workdir: what it is, whether it may go and why, and what can be done. */
export function WorkdirDetail({ workdir, owner, busy, setUp, onClose }: Props) {
  const now = useNow();
  const { word, tone, icon } = workdirState(workdir, busy);
  const gone = isGone(workdir);
  const verdict = verdictWord(workdir.verdict);
  const facts = workdirFacts(workdir);
  return (
    <section className="workdir-detail" aria-label={`Workdir ${plain(workdir.name)}`} data-testid={ids.workdirDetail} data-workdir={workdir.id}>
      <header className="workdir-detail-head">
        <div className="workdir-line">
          <span className={`mark ${tone}`}><Icon name={icon} /></span>
          <span className="grow clip"><strong>{plain(workdir.name)}</strong> <span className="muted">{word}</span></span>
          <IconButton icon="close" label="Back to the list (Esc)" onClick={onClose} />
        </div>
        <WorkdirActions workdir={workdir} />
      </header>
      <div className="workdir-detail-body" tabIndex={-1}>
        <dl className="facts">
          {workdir.branch && <Fact name="Branch"><span className="mono breakable">{plain(workdir.branch)}</span>{workdir.base_branch && <span className="muted"> → {plain(workdir.base_branch)}</span>}</Fact>}
          {facts.length > 0 && <Fact name="Work">{facts.join(" · ")}</Fact>}
          {owner !== null && <Fact name={gone ? "Was of" : "Owner"}>{owner}</Fact>}
          <Fact name={gone ? "Was at" : "Path"}><span className="mono breakable">{plain(workdir.path)}</span></Fact>
          {!gone && <Fact name="Size"><Size workdir={workdir} /></Fact>}
          {gone
            ? <Fact name="Went">{capital(plain(workdir.why ?? "gone"))}, {ago(workdir.ended_ms ?? workdir.created_ms, now)}</Fact>
            : <Fact name="Made">{ago(workdir.created_ms, now)}</Fact>}
          {setUp && <Fact name="Set-up"><SetUp task={setUp} /></Fact>}
          {verdict && <Fact name="Verdict"><span className={`verdict ${verdict.tone}`}>{verdict.word}</span></Fact>}
        </dl>
        <Sentences texts={workdir.reasons} />
        {gone && <p className={workdir.archive_ref ? "" : "muted"}>{workdir.archive_ref ? "What was only in it is archived, and comes back with Restore." : "Nothing in it was only there, so nothing was archived."}</p>}
        {workdir.not_kept.length > 0 && <><p className="workdir-warn">Its archive could not keep:</p><Sentences texts={workdir.not_kept} mono /></>}
        {workdir.notes.length > 0 && <Sentences texts={workdir.notes} />}
      </div>
    </section>
  );
}

function Size({ workdir: { project, path } }: { workdir: Workdir }) {
  const { data, error } = useWatched(useApp().workdirs.sizes, project);
  const item = data?.get(path);
  if (item) return <span data-testid={ids.workdirSize}>{sizeOf(item) || "0 B"}</span>;
  return <span className="muted" title={error?.message}>{data || error ? "not known" : "measuring…"}</span>;
}

/** The task that sets a new workdir up: how it stands, and the way to what it says. */
function SetUp({ task }: { task: Task }) {
  const app = useApp();
  const { word, tone } = taskState(task, null);
  return (
    <span data-testid={ids.workdirSetUp} data-state={task.state}>
      <span className={`task-word ${tone}`}>{word}</span>
      {task.started_ms !== null && <span className="muted"> · <Elapsed since_ms={task.started_ms} until_ms={isOver(task) ? task.ended_ms ?? task.started_ms : null} /></span>}
      {" "}<button type="button" className="link" onClick={() => void app.showTask(task.project, task.id)}>Show the task</button>
    </span>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <><dt className="muted">{name}</dt><dd>{children}</dd></>;
}

/** Reasons and notes, as the engine says them. */
export function Sentences({ texts, mono = false }: { texts: readonly string[]; mono?: boolean }) {
  if (texts.length === 0) return null;
  return <ul className={`sentences ${mono ? "mono" : ""}`}>{texts.map((text) => <li key={text} className="breakable">{mono ? plain(text) : capital(plain(text))}</li>)}</ul>;
}
