// The workdirs of a project: what each holds, whether it may go and why, and what is left of those that are gone.

import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import "./workdirs.css";
import type { Id, Workdir } from "../../generated/api";
import { openPanel } from "../../state/layout";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { useWatched } from "../../state/watched";
import { isGone } from "../../state/workdir-words";
import { Button, IconButton } from "../../shared/Button";
import { ErrorText } from "../../shared/ErrorText";
import { useNow } from "../../shared/hooks";
import { Icon } from "../../shared/Icon";
import { withKeys } from "../../shared/keys";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";
import { actionsOf } from "./WorkdirActions";
import { WorkdirDetail } from "./WorkdirDetail";
import { WorkdirRow } from "./WorkdirRow";

type Which = "there" | "gone";
const STEP = 100;

interface Props {
  project: Id;
  /** Gives the keyboard back to the panes. */
  onLeave: () => void;
}

export function WorkdirsPanel({ project, onLeave }: Props) {
  const app = useApp();
  const { data, error, loading } = useWatched(app.workdirs.lists, project);
  const busy = useStore(app.workdirs.busy);
  const work = useStore(app.work.state)[project];
  // The set-up of a workdir is the task with the workdir's own id.
  const tasks = useMemo(() => new Map(work?.items.map((task) => [task.id, task])), [work]);
  const agents = useQuery(app.agents).data;
  const [which, setWhich] = useState<Which>("there");
  const [picked, setPicked] = useState<Id | null>(null);
  const [detail, setDetail] = useState(false);
  const [most, setMost] = useState(STEP);
  const list = useRef<HTMLDivElement>(null);
  const now = useNow();
  const refresh = () => void app.workdirs.lists.of(project).refresh();

  const there = useMemo(() => data?.filter((each) => !isGone(each)) ?? [], [data]);
  const gone = useMemo(() => data?.filter(isGone) ?? [], [data]);
  const rows = which === "there" ? there : gone;
  const at = rows.findIndex(({ id }) => id === picked);
  const chosen = rows[at];
  const ownerOf = ({ owner }: Workdir) => (owner === null ? null : plain(agents?.find(({ id }) => id === owner)?.name ?? "an agent that is gone"));

  // What happens in a worktree changes no row, so whoever comes back to the window gets a fresh look.
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && void app.workdirs.lists.of(project).refresh();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [app, project]);
  // One that goes or comes back is followed to the other list.
  const elsewhere = picked !== null && detail && at < 0 && data?.some(({ id }) => id === picked);
  useEffect(() => {
    if (elsewhere) setWhich((old) => (old === "there" ? "gone" : "there"));
  }, [elsewhere]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView?.({ block: "nearest" });
  }, [picked, detail]);

  const open = useCallback((workdir: Workdir) => {
    setPicked(workdir.id);
    setDetail(true);
  }, []);
  const close = () => {
    setDetail(false);
    list.current?.focus();
  };
  const show = (to: Which) => {
    setWhich(to);
    setPicked(null);
    setDetail(false);
  };
  const create = () => app.open({ kind: "new_workdir", project });

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target as Element;
    const inList = target === list.current;
    const key = event.key.toLowerCase();
    const actions = chosen ? actionsOf(app, chosen) : null;
    const move = key === "arrowdown" ? Math.min(rows.length - 1, at + 1) : key === "arrowup" ? Math.max(0, at - 1) : key === "home" ? 0 : key === "end" ? rows.length - 1 : null;
    if (inList && move !== null) setPicked(rows[move]?.id ?? null);
    else if (inList && event.key === "Enter" && chosen) open(chosen);
    else if (event.key === "Escape") {
      if (detail && (inList || target.closest(".workdir-detail"))) close();
      else if (!inList) list.current?.focus();
      else onLeave();
    } else if (key === "n") create();
    else if (key === "g") show(which === "there" ? "gone" : "there");
    else if (key === "d" && actions?.diff) actions.diff();
    else if (key === "m" && actions?.merge) actions.merge();
    else if (key === "x" && actions?.remove) actions.remove();
    else if (key === "s" && actions?.stop) actions.stop();
    else if (key === "r" && actions?.restore) actions.restore();
    else if (key === "t" && actions?.shell) actions.shell();
    else if (key === "e" && actions?.editor) actions.editor();
    else if (key === "y" && actions) void actions.copy().then((done) => done && app.tell("The path was copied."));
    else return;
    event.preventDefault();
  };

  return (
    <div className="workdirs-body" data-testid={ids.workdirsPanel} onKeyDown={keyDown}>
      <div className="workdirs-left">
        <div className="workdirs-filter">
          <div className="chips grow" role="group" aria-label="Which workdirs">
            <Chip which="there" label="There" count={there.length} shown={which} onPress={show} />
            <Chip which="gone" label="Gone" count={gone.length} shown={which} onPress={show} />
          </div>
          <IconButton icon="retry" label="Look again" busy={loading} onClick={refresh} testid={ids.workdirsRefresh} />
          <IconButton icon="broom" label={withKeys("Clean up…", "cleanup")} onClick={() => app.open({ kind: "cleanup" })} />
        </div>
        {error && <div className="workdirs-error"><ErrorText error={error} /><Button busy={loading} onClick={refresh}>Try again</Button></div>}
        <div className="workdirs-room">
          <div className="workdirs-scroll">
            <div ref={list} className="workdirs-list" data-panel-list role="listbox" tabIndex={0} aria-label="Workdirs" aria-activedescendant={chosen ? `workdir-${chosen.id}` : undefined} data-testid={ids.workdirsList}
              onFocus={(event) => event.target === event.currentTarget && at < 0 && rows[0] && setPicked(rows[0].id)}>
              {rows.slice(0, most).map((workdir) => <WorkdirRow key={workdir.id} workdir={workdir} owner={ownerOf(workdir)} chosen={workdir.id === picked} busy={busy[workdir.id]} setUp={tasks.get(workdir.id)} now={now} onChoose={open} />)}
            </div>
            {rows.length > most && <Button look="quiet" icon="down" className="workdirs-more" onClick={() => setMost(most + STEP)}>Show {Math.min(STEP, rows.length - most)} more</Button>}
          </div>
          {rows.length === 0 && !error && (
            <div className="workdirs-empty muted" data-testid={ids.workdirsEmpty}>
              {!data ? <p role="status">Looking at the worktrees…</p> : which === "gone" ? <p>No workdir of this project is gone yet. What is left of one stands here, and so does the way to bring it back.</p> : (
                <>
                  <p>A workdir is a branch and a worktree of its own, in which an agent can work without touching your checkout.</p>
                  <Button icon="plus" onClick={create}>New workdir…</Button>
                </>
              )}
            </div>
          )}
        </div>
        {rows.length > 0 && !(detail && chosen) && <p className="workdirs-hint muted clip">Enter opens one · D difference · M merge · T terminal · E editor · X remove · G gone ones</p>}
      </div>
      {detail && chosen && <WorkdirDetail key={chosen.id} workdir={chosen} owner={ownerOf(chosen)} busy={busy[chosen.id]} setUp={tasks.get(chosen.id)} onClose={close} />}
    </div>
  );
}

function Chip({ which, label, count, shown, onPress }: { which: Which; label: string; count: number; shown: Which; onPress: (which: Which) => void }) {
  return (
    <button type="button" className="chip" aria-pressed={shown === which} onClick={() => onPress(which)} data-testid={ids.workdirsFilter} data-which={which}>
      {label}<span className="chip-count">{count}</span>
    </button>
  );
}

/** For the head of the panel. */
export function NewWorkdirButton({ project }: { project: Id }) {
  const app = useApp();
  return <Button look="quiet" icon="plus" onClick={() => app.open({ kind: "new_workdir", project })} title="New workdir (N)" testid={ids.workdirNew}>New…</Button>;
}

/** In the line under the panes: the way to the workdirs. How many there are would cost a look at each of them. */
export function WorkdirsStrip({ project, onPress }: { project: Id; onPress: () => void }) {
  const layout = useStore(useApp().layouts.state)[project];
  const open = layout !== undefined && openPanel(layout) === "workdirs";
  return (
    <button type="button" className="strip-button" aria-pressed={open} title={withKeys(open ? "Hide the workdirs" : "Show the workdirs", "workdirs")} onClick={onPress} data-testid={ids.workdirsOpen}>
      <Icon name="branch" />
      <span className="strip-word">Workdirs</span>
    </button>
  );
}
