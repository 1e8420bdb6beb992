import { memo } from "react";
import type { Task, Workdir } from "../../generated/api";
import type { WorkdirWork } from "../../state/workdirs";
import { canRestore, isGone, setUpWords, verdictWord, workdirFacts, workdirState } from "../../state/workdir-words";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { ago, plain } from "../../shared/text";

interface Props {
  workdir: Workdir;
  owner: string | null;
  chosen: boolean;
  busy: WorkdirWork | undefined;
  setUp: Task | undefined;
  now: number;
  onChoose: (workdir: Workdir) => void;
}

export const WorkdirRow = memo(function WorkdirRow({ workdir, owner, chosen, busy, setUp, now, onChoose }: Props) {
  const { word, tone, icon } = workdirState(workdir, busy);
  const gone = isGone(workdir);
  const setting = gone ? null : setUpWords(setUp);
  const verdict = busy || gone ? null : verdictWord(workdir.verdict);
  const facts = gone ? [plain(workdir.why ?? "gone"), canRestore(workdir) ? "can be restored" : "nothing to restore"] : workdirFacts(workdir);
  return (
    <div id={`workdir-${workdir.id}`} role="option" aria-selected={chosen} className={`workdir-row ${gone ? "gone" : ""}`} data-testid={ids.workdirRow} data-workdir={workdir.id} data-name={workdir.name} data-state={workdir.state} data-verdict={workdir.verdict ?? ""}
      title={plain(workdir.path)} onClick={() => onChoose(workdir)}>
      <div className="workdir-line">
        <span className={`mark ${tone}`} role="img" aria-label={word} title={word}><Icon name={icon} /></span>
        <span className="workdir-name clip">{plain(workdir.name)}</span>
        {(workdir.state !== "active" && !gone) || busy ? <span className="muted workdir-word">{word}</span> : null}
        <span className="grow" />
        {owner !== null && !gone && <span className="muted workdir-owner" title={`${owner} works in it`}><Icon name="person" /><span className="clip">{owner}</span></span>}
        {gone && <span className="muted workdir-word">{ago(workdir.ended_ms ?? workdir.created_ms, now)}</span>}
      </div>
      <p className="workdir-facts muted">
        {verdict && <span className={`verdict ${verdict.tone}`}>{verdict.word}</span>}
        {verdict && facts.length > 0 && " · "}{facts.join(" · ")}
        {setting && <>{(verdict || facts.length > 0) && " · "}<span className={`set-up ${setting.tone}`}>{setting.word}</span></>}
      </p>
    </div>
  );
});
