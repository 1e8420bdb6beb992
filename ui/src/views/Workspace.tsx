// The panes of the project on show. This is where the layout, the agents and the terminals meet.

import { type ComponentProps, lazy, type ReactNode, Suspense, useEffect, useRef } from "react";
import type { Agent, Id } from "../generated/api";
import { assign, closePane, focusPane, openPanel, type Pane, paneOfAgent, type PanelView, setRatio, setTasksPanel, splitPane, tasksPanel, toggleZoom } from "../state/layout";
import { useApp } from "../state/app";
import { useQuery } from "../state/query";
import { useStore } from "../state/store";
import { isUp } from "../state/ask-words";
import { agentState, taskName } from "../state/words";
import { NO_WORK, useProjectWorkState } from "../state/work-state";
import { ApprovalsPanel } from "../features/approvals/ApprovalsPanel";
import { ApprovalsStrip } from "../features/approvals/ApprovalsNotice";
import { AsksPanel, AsksStrip, NewAskButton } from "../features/asks/AsksPanel";
import { CleanupStrip } from "../features/cleanup/CleanupStrip";
import { ConversationView } from "../features/conversation/ConversationView";
import { InboxPanel, InboxStrip } from "../features/inbox/InboxPanel";
import { Grid } from "../features/layout/Grid";
import { type PaneActions, PaneFrame } from "../features/layout/PaneFrame";
import { type PanelTab, SidePanel } from "../features/layout/SidePanel";
import { LogView } from "../features/tasks/LogView";
import { TaskActions } from "../features/tasks/TaskActions";
import { TaskTitle, useTask } from "../features/tasks/TaskPane";
import { NewTaskButton, TasksPanel } from "../features/tasks/TasksPanel";
import { TasksStrip } from "../features/tasks/TasksStrip";
import { AgentTempNotice, TaskTempNotice } from "../features/temp/TempNotice";
import { NewWorkdirButton, WorkdirsPanel, WorkdirsStrip } from "../features/workdirs/WorkdirsPanel";
import { Button, IconButton } from "../shared/Button";
import { Dot } from "../shared/Dot";
import { ErrorText } from "../shared/ErrorText";
import { withKeys } from "../shared/keys";
import { Retry } from "../shared/Retry";
import { ids } from "../shared/testids";
import { AgentTitle } from "./AgentTitle";
import { focusPanes } from "./focus";

/** xterm.js is more than half of the window's code, and the first picture does not need it. */
const TerminalView = lazy(async () => ({ default: (await import("../features/terminal/TerminalView")).TerminalView }));

const TABS: readonly PanelTab[] = [
  { view: "tasks", label: "Tasks", icon: "tasks", shortcut: "tasks" }, { view: "asks", label: "Asks", icon: "asks", shortcut: "asks" }, { view: "inbox", label: "Inbox", icon: "inbox", shortcut: "inbox" },
  { view: "workdirs", label: "Workdirs", icon: "branch", shortcut: "workdirs" }, { view: "approvals", label: "Approvals", icon: "shield", shortcut: "approvals" },
];

export function Workspace({ project }: { project: Id }) {
  const app = useApp();
  const layout = useStore(app.layouts.state)[project];
  const unread = useStore(app.layouts.errors)[project];
  const name = useQuery(app.projects).data?.find(({ id }) => id === project)?.name;
  if (!layout && unread) return <div className="centred"><Retry error={unread} again={() => app.layouts.load(project)} testid={ids.layoutUnread} /></div>;
  if (!layout) return <p className="muted centred" role="status">Loading…</p>;
  const panel = tasksPanel(layout);
  const shown = openPanel(layout);
  const set = (part: Parameters<typeof setTasksPanel>[1]) => app.change(project, (old) => setTasksPanel(old, part));
  const toggle = (view: PanelView) => set(shown === view ? { open: false } : { open: true, view });
  return (
    <div className="workspace">
      <h1 className="unseen">{name ?? "Carillon"}</h1>
      <div className={`workspace-main ${panel.dock}`}>
        <div className="workspace-panes">
          <Grid layout={layout} onRatio={(split, ratio) => app.change(project, (old) => setRatio(old, split, ratio))}
            renderPane={(pane, at) => <PaneView project={project} pane={pane} {...at} />} />
        </div>
        {shown && (
          <SidePanel panel={panel} tabs={TABS} view={shown} buttons={buttonsOf(shown, project)} onView={(view) => set({ view })} onDock={(dock) => set({ dock })} onShare={(share) => set({ share })}
            onClose={() => { set({ open: false }); focusPanes(); }}>
            {contentOf(shown, project)}
          </SidePanel>
        )}
      </div>
      <footer className="strip">
        <TasksStrip project={project} onPress={() => toggle("tasks")} />
        <AsksStrip project={project} onPress={() => toggle("asks")} />
        <InboxStrip project={project} onPress={() => toggle("inbox")} />
        <WorkdirsStrip project={project} onPress={() => toggle("workdirs")} />
        <ApprovalsStrip project={project} onPress={() => toggle("approvals")} />
        <CleanupStrip />
      </footer>
    </div>
  );
}

function contentOf(view: PanelView, project: Id): ReactNode {
  switch (view) {
    case "tasks": return <TasksPanel project={project} onLeave={focusPanes} noticeOf={(task) => <TaskTempNotice task={task} />} />;
    case "asks": return <AsksPanel project={project} onLeave={focusPanes} />;
    case "inbox": return <InboxPanel project={project} onLeave={focusPanes} />;
    case "workdirs": return <WorkdirsPanel key={project} project={project} onLeave={focusPanes} />;
    case "approvals": return <ApprovalsPanel onLeave={focusPanes} />;
  }
}

function buttonsOf(view: PanelView, project: Id): ReactNode {
  return view === "tasks" ? <NewTaskButton project={project} /> : view === "asks" ? <NewAskButton project={project} /> : view === "workdirs" ? <NewWorkdirButton project={project} /> : null;
}

interface PaneProps { project: Id; pane: Pane; focused: boolean; visible: boolean; zoomed: boolean; alone: boolean }

function PaneView({ project, pane, focused, visible, zoomed, alone }: PaneProps) {
  const app = useApp();
  const { data: agents, error } = useQuery(app.agents);
  const agent = agents?.find(({ id }) => id === pane.agent);
  const actions: PaneActions = {
    focus: () => app.change(project, (layout) => focusPane(layout, pane.id)),
    splitRight: () => app.change(project, (layout) => splitPane(layout, pane.id, "row")),
    splitDown: () => app.change(project, (layout) => splitPane(layout, pane.id, "column")),
    zoom: () => app.change(project, (layout) => toggleZoom(layout, pane.id)),
    close: () => app.change(project, (layout) => closePane(layout, pane.id)),
  };
  const work = useProjectWorkState(project);
  const frame = { focused, zoomed, alone, actions, agent: agent?.name ?? null, task: pane.task ?? null };
  if (pane.task !== undefined) return <TaskPane project={project} id={pane.task} frame={frame} focused={focused} visible={visible} />;
  if (!agent) {
    const unknown = pane.agent !== null && !agents;
    return (
      <PaneFrame {...frame} name={unknown ? "an agent" : "empty"} filled={false} title={<span className="muted">{unknown ? "Agent" : "Empty"}</span>}>
        {!unknown ? <EmptyPane project={project} pane={pane.id} focused={focused} />
          : error ? <div className="pane-message"><Retry error={error} again={() => app.agents.refresh()} testid={ids.paneUnread} /></div>
          : <p className="muted centred" role="status">Loading…</p>}
      </PaneFrame>
    );
  }
  return (
    <PaneFrame {...frame} name={agent.name} filled title={<AgentTitle agent={agent} work={work.agents.get(agent.id) ?? NO_WORK} />} buttons={<AgentButtons agent={agent} />} foot={<AgentTempNotice agent={agent} />}>
      {agent.mode === "headless" ? <ConversationView key={agent.id} agent={agent} focused={focused} visible={visible} />
        : agent.run ? <Suspense><TerminalView key={agent.run.id} agent={agent} run={agent.run} focused={focused} visible={visible} /></Suspense>
        : <NoRun agent={agent} focused={focused} />}
    </PaneFrame>
  );
}

type Frame = Pick<ComponentProps<typeof PaneFrame>, "focused" | "zoomed" | "alone" | "actions" | "agent" | "task">;

function TaskPane({ project, id, frame, focused, visible }: { project: Id; id: Id; frame: Frame; focused: boolean; visible: boolean }) {
  const { task, error, again } = useTask(project, id);
  if (!task) {
    return (
      <PaneFrame {...frame} name="a task" filled title={<span className="muted">Task</span>}>
        <div className="pane-message">{error ? <Retry error={error} again={again} /> : <p className="muted" role="status">Loading…</p>}</div>
      </PaneFrame>
    );
  }
  return (
    <PaneFrame {...frame} name={taskName(task)} filled title={<TaskTitle task={task} />} buttons={<TaskActions task={task} openPane={false} />} foot={<TaskTempNotice task={task} />}>
      <LogView task={task} focused={focused} visible={visible} />
    </PaneFrame>
  );
}

function AgentButtons({ agent }: { agent: Agent }) {
  const app = useApp();
  const busy = useStore(app.view).busy[agent.id];
  if (isUp(agent) || busy === "stopping") {
    return <IconButton icon="stop" label={`Stop ${agent.name}`} busy={busy !== undefined} onClick={() => void app.stopAgent(agent.id)} testid={ids.paneStop} />;
  }
  return <IconButton icon="play" label={`Start ${agent.name}`} busy={busy !== undefined} onClick={() => void app.startAgent(agent.id)} testid={ids.paneStart} />;
}

/** An agent that never ran: one button. */
function NoRun({ agent, focused }: { agent: Agent; focused: boolean }) {
  const app = useApp();
  const view = useStore(app.view);
  const failure = view.failures[agent.id];
  const starting = view.busy[agent.id] === "starting";
  const button = useRef<HTMLButtonElement>(null);
  useFocusOf(button, focused);
  return (
    <div className="pane-message" data-testid={failure ? ids.paneFailure : undefined}>
      {failure ? <ErrorText error={failure} /> : <p className="muted">{starting ? `${agent.name} is starting.` : `${agent.name} is not running.`}</p>}
      <Button ref={button} look="primary" icon="play" busy={starting} onClick={() => void app.startAgent(agent.id)} testid={ids.startAgain}>
        {failure ? "Try again" : "Start"}
      </Button>
    </div>
  );
}

/** A pane that shows nothing yet: the agents of the project to choose from. */
function EmptyPane({ project, pane, focused }: { project: Id; pane: string; focused: boolean }) {
  const app = useApp();
  const agents = useQuery(app.agents).data?.filter((agent) => agent.project === project) ?? [];
  const layout = useStore(app.layouts.state)[project];
  const view = useStore(app.view);
  const first = useRef<HTMLButtonElement>(null);
  useFocusOf(first, focused);
  const isShown = (agent: Agent) => layout !== undefined && paneOfAgent(layout, agent.id) !== undefined;
  // Enter in a new pane must not take an agent away from another one.
  const preferred = agents.find((agent) => !isShown(agent));
  const choose = (agent: Agent) => {
    app.change(project, (old) => focusPane(assign(old, pane, agent.id), pane));
    if (agent.run === null && agent.mode === "terminal") void app.startAgent(agent.id);
  };
  const add = () => {
    app.change(project, (old) => focusPane(old, pane));
    app.open({ kind: "add_agent", project, beside: false });
  };
  return (
    <div className="pane-message" data-testid={ids.paneEmpty}>
      {agents.length > 0 && (
        <ul className="pane-choices" aria-label="Agents of this project">
          {agents.map((agent) => {
            const { word, tone } = agentState(agent, view.busy[agent.id]);
            return (
              <li key={agent.id}>
                <button ref={agent === preferred ? first : undefined} type="button" className="pane-choice" data-autofocus={agent === preferred || undefined} data-testid={ids.paneChoice} data-name={agent.name} onClick={() => choose(agent)}>
                  <Dot tone={tone} word={word} />
                  <span className="grow">{agent.name}</span>
                  <span className="muted">{isShown(agent) ? "move here" : agent.mode === "headless" ? "conversation" : agent.run ? word : "start"}</span>
                </button>
              </li>
            );
          })}
        </ul>
      )}
      <Button ref={preferred ? undefined : first} data-autofocus={preferred === undefined || undefined} look={agents.length === 0 ? "primary" : "quiet"} icon="plus" title={withKeys("Add agent", "addAgent")} onClick={add}>Add agent</Button>
    </div>
  );
}

/** When the pane comes to have the focus and nothing in it has, the button takes it. */
function useFocusOf(target: { current: HTMLButtonElement | null }, focused: boolean): void {
  useEffect(() => {
    const button = target.current;
    const pane = button?.closest("section");
    if (focused && button && !pane?.contains(document.activeElement) && !document.querySelector('[aria-modal="true"]')) button.focus({ preventScroll: true });
  }, [focused, target]);
}
