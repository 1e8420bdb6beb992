// Everything that is left behind, of all projects: a dry run to read, then one button. Nothing goes before that.

import { useEffect, useMemo, useState } from "react";
import "./cleanup.css";
import type { Id, Residue, ResidueKind } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { KINDS, sizeOf } from "../../state/residue-words";
import { useStore } from "../../state/store";
import { Button, IconButton } from "../../shared/Button";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { byteSize, plain, plural } from "../../shared/text";
import { GoneWorkdirs } from "./GoneWorkdirs";
import { Outcome, ProgressLine } from "./Outcome";
import { ResidueList } from "./ResidueList";
import { type Plan, planOf, totalOf } from "./scope";

type Tab = "residue" | "gone";
const TABS: readonly { tab: Tab; title: string }[] = [{ tab: "residue", title: "Left behind" }, { tab: "gone", title: "Gone workdirs" }];
const NO_KINDS: ReadonlySet<ResidueKind> = new Set();
const NOBODY: ReadonlySet<Id> = new Set();

export function CleanupDialog() {
  const app = useApp();
  const [tab, setTab] = useState<Tab>("residue");
  const [pressed, setPressed] = useState(false);
  const [kinds, setKinds] = useState(NO_KINDS);
  const [project, setProject] = useState<Id | null>(null);
  const [ticked, setTicked] = useState(NOBODY);
  const report = useQuery(app.cleanup.report);
  const clearing = useStore(app.cleanup.clearing);
  useEffect(() => app.cleanup.watch(), [app]);
  const plan = useMemo(() => planOf(report.data ?? [], { kinds, project }, ticked), [report.data, kinds, project, ticked]);

  const press = (to: Tab) => {
    setPressed(true);
    setTab(to);
  };
  const apply = () => {
    if (clearing.running || plan.goes.count === 0) return;
    setTicked(NOBODY);
    void app.cleanup.apply({ only: plan.ids, consent: plan.consent });
  };
  const cancel = () => void app.cleanup.cancel().catch((reason: unknown) => app.report(reason, "It could not be stopped."));
  const tick = (item: Residue) => setTicked((old) => {
    const fresh = new Set(old);
    if (!fresh.delete(item.id)) fresh.add(item.id);
    return fresh;
  });
  const flip = (kind: ResidueKind) => setKinds((old) => {
    const fresh = new Set(old);
    if (!fresh.delete(kind)) fresh.add(kind);
    return fresh;
  });

  return (
    <Dialog title="Clean up" width="wide" testid={ids.cleanup} onClose={app.closeDialog}
      footer={tab === "residue" ? (
        <>
          {clearing.running ? <ProgressLine clearing={clearing} /> : <Summary plan={plan} loaded={report.data !== undefined} />}
          {clearing.running
            ? <Button icon="stop" disabled={clearing.cancelling} onClick={cancel} testid={ids.cleanupCancel}>Stop</Button>
            : <Button look="danger" icon="broom" disabled={plan.goes.count === 0} onClick={apply} testid={ids.cleanupApply}>{plan.goes.count === 0 ? "Nothing to clear up" : `Clear up ${plural(plan.goes.count, "thing")}`}</Button>}
        </>
      ) : undefined}>
      <div className="cleanup">
        <div className="tabs" role="tablist" aria-label="What is shown">
          {TABS.map((each) => <button key={each.tab} type="button" role="tab" className="tab" aria-selected={each.tab === tab} onClick={() => press(each.tab)} data-testid={ids.cleanupTab} data-tab={each.tab}>{each.title}</button>)}
        </div>
        {tab === "gone" ? <GoneWorkdirs /> : (
          <>
            <Filter report={report.data ?? []} kinds={kinds} project={project} locked={clearing.running} loading={report.loading} onKind={flip} onProject={setProject} onRefresh={() => void app.cleanup.report.refresh()} />
            <Outcome clearing={clearing} onRead={() => app.cleanup.forget()} />
            {report.error && <div className="cleanup-error"><ErrorText error={report.error} /><Button busy={report.loading} onClick={() => void app.cleanup.report.refresh()}>Try again</Button></div>}
            {!report.data && !report.error && <p className="cleanup-empty muted looking-up" role="status"><span className="spinner" aria-hidden="true" /> Looking at the disk, and measuring. Nothing is changed by it.</p>}
            {report.data && <Report plan={plan} any={report.data.length > 0} ticked={ticked} locked={clearing.running} first={!pressed} onTick={tick} />}
          </>
        )}
      </div>
    </Dialog>
  );
}

function Report({ plan, any, ticked, locked, first, onTick }: { plan: Plan; any: boolean; ticked: ReadonlySet<Id>; locked: boolean; first: boolean; onTick: (item: Residue) => void }) {
  const app = useApp();
  const projects = useQuery(app.projects).data;
  const agents = useQuery(app.agents).data;
  const whose = (item: Residue) => {
    const project = item.project === null ? "" : plain(projects?.find(({ id }) => id === item.project)?.name ?? "a project that is gone");
    const owner = item.owner === null ? "" : plain(agents?.find(({ id }) => id === item.owner)?.name ?? "an agent that is gone");
    return [owner, project].filter(Boolean).join(" in ");
  };
  if (plan.groups.length === 0) return <p className="cleanup-empty muted" data-testid={ids.cleanupEmpty}>{any ? "Nothing of what you chose is left behind." : "Nothing is left behind. All that was made has gone with its reason."}</p>;
  return <ResidueList groups={plan.groups} ticked={ticked} locked={locked} whose={whose} first={first} onTick={onTick} />;
}

interface FilterProps {
  report: readonly Residue[];
  kinds: ReadonlySet<ResidueKind>;
  project: Id | null;
  locked: boolean;
  loading: boolean;
  onKind: (kind: ResidueKind) => void;
  onProject: (project: Id | null) => void;
  onRefresh: () => void;
}

/** What is looked at, with the totals by kind and by project. */
function Filter({ report, kinds, project, locked, loading, onKind, onProject, onRefresh }: FilterProps) {
  const app = useApp();
  const projects = useQuery(app.projects).data ?? [];
  const inProject = report.filter((item) => project === null || item.project === project);
  const words = (items: readonly Residue[]) => {
    const { count, ...size } = totalOf(items);
    return `${count}${sizeOf(size) && `, ${sizeOf(size)}`}`;
  };
  return (
    <div className="cleanup-filter">
      <div className="chips grow" role="group" aria-label="Kinds">
        {KINDS.map(({ kind, many }) => {
          const items = inProject.filter((item) => item.kind === kind);
          if (items.length === 0 && !kinds.has(kind)) return null;
          return (
            <button key={kind} type="button" className="chip" aria-pressed={kinds.has(kind)} disabled={locked} onClick={() => onKind(kind)} data-testid={ids.cleanupKind} data-kind={kind}>
              {many}<span className="chip-count">{words(items)}</span>
            </button>
          );
        })}
      </div>
      <select className="input" aria-label="Project" value={project ?? ""} disabled={locked} onChange={(event) => onProject(event.target.value === "" ? null : event.target.value)} data-testid={ids.cleanupProject}>
        <option value="">All projects ({words(report)})</option>
        {projects.map(({ id, name }) => <option key={id} value={id}>{plain(name)} ({words(report.filter((item) => item.project === id))})</option>)}
      </select>
      <IconButton icon="retry" label="Look again" busy={loading} disabled={locked} onClick={onRefresh} testid={ids.cleanupRefresh} />
    </div>
  );
}

function Summary({ plan: { goes, consent, askable, blocked }, loaded }: { plan: Plan; loaded: boolean }) {
  if (!loaded) return <span className="grow" />;
  const rest = [askable > 0 ? `${plural(askable, "thing")} ${askable === 1 ? "waits" : "wait"} for your tick` : "", blocked > 0 ? `${blocked} must stay` : ""].filter(Boolean);
  return (
    <p className="grow cleanup-total" role="status" data-testid={ids.cleanupTotal}>
      {goes.count === 0 ? "Nothing goes by itself here." : `${plural(goes.count, "thing")} would go${goes.bytes > 0 ? `, about ${byteSize(goes.bytes)}` : ""}${consent.length > 0 ? `; ${consent.length} of them on your word` : ""}.`}
      {rest.length > 0 && <span className="muted"> {rest.join(", ")}.</span>}
    </p>
  );
}
