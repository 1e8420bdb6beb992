import { useEffect, useState } from "react";
import "../shared/theme.css";
import "../shared/shared.css";
import "./views.css";
import { AskDialog, CancelAskDialog } from "../features/asks/AskDialogs";
import { CleanupDialog } from "../features/cleanup/CleanupDialog";
import { Palette } from "../features/commands/Palette";
import { ShortcutsDialog } from "../features/commands/Shortcuts";
import { LimitsDialog } from "../features/limits/LimitsDialog";
import { AddAgentDialog } from "../features/projects/AddAgentDialog";
import { OpenProjectDialog } from "../features/projects/OpenProjectDialog";
import { RemoveAgentDialog, RemoveProjectDialog } from "../features/projects/RemoveDialogs";
import { Sidebar } from "../features/projects/Sidebar";
import { QuitDialog } from "../features/quit/QuitDialog";
import { NewTaskDialog } from "../features/tasks/NewTaskDialog";
import { UsageDialog } from "../features/usage/UsageDialog";
import { SettingsDialog } from "../features/settings/SettingsDialog";
import { WorkdirDialog } from "../features/workdirs/WorkdirDialog";
import { NewWorkdirDialog } from "../features/workdirs/WorkdirDialogs";
import { type App, AppContext, useApp } from "../state/app";
import { useQuery } from "../state/query";
import { useStore } from "../state/store";
import { useScheme } from "../shared/hooks";
import { shortcutOf, TERMINAL_SHORTCUTS } from "../shared/keys";
import { ids } from "../shared/testids";
import { Toasts } from "../shared/Toasts";
import { Banners } from "./Banners";
import { commandsOf, runShortcut } from "./commands";
import { Mishap } from "./Mishap";
import { Welcome } from "./Welcome";
import { Workspace } from "./Workspace";

export function Window({ app }: { app: App }) {
  return (
    <Mishap>
      <AppContext value={app}>
        <Whole />
      </AppContext>
    </Mishap>
  );
}

function Whole() {
  const app = useApp();
  const view = useStore(app.view);
  const theme = useQuery(app.settings).data?.theme ?? "system";
  const scheme = useScheme(theme);

  useEffect(() => {
    document.documentElement.dataset["theme"] = scheme;
  }, [scheme]);
  useEffect(() => listenToKeys(app), [app]);
  useEffect(() => saveWhenHidden(app), [app]);
  useEffect(() => leaveOutTheBrowser(), []);

  // While a dialog is open nothing behind it can have the focus or be read out.
  const behind = view.dialog !== null || view.quit !== null;
  // A message that stood there before a dialog opened must not lie over it; it is back when the dialog is closed.
  const [opened, setOpened] = useState({ behind, newest: 0 });
  if (opened.behind !== behind) setOpened({ behind, newest: view.toasts.at(-1)?.id ?? 0 });
  const toasts = behind ? view.toasts.filter(({ id }) => id > opened.newest) : view.toasts;
  return (
    <div className="window" data-testid={ids.window} data-ready={view.ready}>
      <div className="content" inert={behind}>
        {view.sidebar && <Sidebar />}
        <main className="main">
          <Banners />
          <div className="stage">
            {view.project !== null ? <Workspace key={view.project} project={view.project} /> : view.ready && <Welcome />}
          </div>
        </main>
      </div>
      <OpenDialog />
      {view.quit && <QuitDialog request={view.quit} />}
      <Toasts toasts={toasts} place={behind ? "above" : view.sidebar ? "side" : "corner"} onDismiss={(id) => app.dismissToast(id)} onOpen={(id) => app.openToast(id)} />
    </div>
  );
}

function OpenDialog() {
  const app = useApp();
  const { dialog } = useStore(app.view);
  const agents = useQuery(app.agents).data;
  const projects = useQuery(app.projects).data;
  useStore(app.asks.state);
  if (!dialog) return null;
  switch (dialog.kind) {
    case "open_project": return <OpenProjectDialog />;
    case "add_agent": return <AddAgentDialog project={dialog.project} beside={dialog.beside} />;
    case "new_task": {
      const project = projects?.find(({ id }) => id === dialog.project);
      return project ? <NewTaskDialog project={project} /> : <Gone />;
    }
    case "ask_agent": return <AskDialog project={dialog.project} agent={dialog.agent} />;
    case "cancel_ask": {
      const ask = app.asks.find(dialog.ask);
      return ask ? <CancelAskDialog ask={ask} /> : <Gone />;
    }
    case "remove_agent": {
      const agent = agents?.find(({ id }) => id === dialog.agent);
      return agent ? <RemoveAgentDialog agent={agent} /> : <Gone />;
    }
    case "remove_project": {
      const project = projects?.find(({ id }) => id === dialog.project);
      return project ? <RemoveProjectDialog project={project} /> : <Gone />;
    }
    case "new_workdir": {
      const project = projects?.find(({ id }) => id === dialog.project);
      return project ? <NewWorkdirDialog project={project} /> : <Gone />;
    }
    case "workdir_diff":
    case "merge_workdir":
    case "remove_workdir":
    case "restore_workdir": return <WorkdirDialog {...dialog} />;
    case "limits": return <LimitsDialog />;
    case "usage": return <UsageDialog project={dialog.project} />;
    case "cleanup": return <CleanupDialog />;
    case "settings": return <SettingsDialog page={dialog.page} profile={dialog.profile ?? null} />;
    case "shortcuts": return <ShortcutsDialog />;
    case "palette": return <Palette commands={commandsOf(app)} />;
  }
}

/** What the dialog was about went away meanwhile, so the dialog does, too. */
function Gone() {
  const app = useApp();
  useEffect(() => app.closeDialog(), [app]);
  return null;
}

/** The window's shortcuts come before anything in it, a terminal too. */
function listenToKeys(app: App): () => void {
  const keyDown = (event: KeyboardEvent) => {
    const inTerminal = event.target instanceof Element && event.target.closest(".terminal-host") !== null;
    // F1 is a terminal program's own key, so it opens the shortcuts only where no program would get it.
    const name = event.key === "F1" && !inTerminal ? "shortcuts" : shortcutOf(event);
    if (name === null || TERMINAL_SHORTCUTS.includes(name)) return;
    if (runShortcut(app, name)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  addEventListener("keydown", keyDown, { capture: true });
  return () => removeEventListener("keydown", keyDown, { capture: true });
}

/** A web view is a browser at heart: a dropped file would replace the window, and a menu would offer to go back. */
function leaveOutTheBrowser(): () => void {
  const menu = (event: MouseEvent) => {
    const useful = event.target instanceof Element && event.target.closest("input, textarea, p, pre, code, .markdown, .log-scroll, .terminal-host") !== null;
    if (!useful) event.preventDefault();
  };
  const drop = (event: DragEvent) => event.preventDefault();
  addEventListener("contextmenu", menu);
  addEventListener("dragover", drop);
  addEventListener("drop", drop);
  return () => {
    removeEventListener("contextmenu", menu);
    removeEventListener("dragover", drop);
    removeEventListener("drop", drop);
  };
}

function saveWhenHidden(app: App): () => void {
  const save = () => {
    if (document.visibilityState === "hidden") void app.layouts.flush();
  };
  const leave = () => void app.layouts.flush();
  document.addEventListener("visibilitychange", save);
  addEventListener("pagehide", leave);
  return () => {
    document.removeEventListener("visibilitychange", save);
    removeEventListener("pagehide", leave);
  };
}
