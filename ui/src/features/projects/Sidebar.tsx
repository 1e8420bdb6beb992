import { type KeyboardEvent, useEffect } from "react";
import "./projects.css";
import type { Agent, Project } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { usageBrief } from "../../state/usage-words";
import { NO_WORK, useProjectWorkState } from "../../state/work-state";
import { Badge } from "../../shared/Badge";
import { Button, IconButton } from "../../shared/Button";
import { withKeys } from "../../shared/keys";
import { Retry } from "../../shared/Retry";
import { ids } from "../../shared/testids";
import { plural } from "../../shared/text";
import { AgentRow } from "./AgentRow";

/** The projects, each with its agents. */
export function Sidebar() {
  const app = useApp();
  const projects = useQuery(app.projects);
  const agents = useQuery(app.agents);
  const view = useStore(app.view);
  const error = projects.error ?? agents.error;
  const again = () => Promise.all([app.projects.refresh(), app.agents.refresh()]);
  return (
    <nav className="sidebar" aria-label="Projects and agents" data-testid={ids.sidebar} onKeyDown={moveBetweenRows}>
      <div className="sidebar-list">
        {error && <Retry error={error} again={again} testid={ids.sidebarError} />}
        {projects.data?.map((project) => (
          <ProjectItem key={project.id} project={project} shown={project.id === view.project} agents={agents.data?.filter((agent) => agent.project === project.id)} />
        ))}
        {projects.data?.length === 0 && <p className="muted sidebar-empty">No project is open.</p>}
      </div>
      <footer className="sidebar-footer">
        <Button look="quiet" icon="folder" title={withKeys("Open project…", "openProject")} onClick={() => app.open({ kind: "open_project" })} testid={ids.openProject}>Open project…</Button>
        <span className="grow" />
        <IconButton icon="keys" label={withKeys("Keyboard shortcuts", "shortcuts")} onClick={() => app.open({ kind: "shortcuts" })} />
        <IconButton icon="gear" label={withKeys("Settings", "settings")} onClick={() => app.open({ kind: "settings", page: "general" })} testid={ids.settingsOpen} />
      </footer>
    </nav>
  );
}

function ProjectItem({ project, shown, agents }: { project: Project; shown: boolean; agents: Agent[] | undefined }) {
  const app = useApp();
  const work = useProjectWorkState(project.id);
  const used = usageBrief(project.usage);
  const add = () => {
    void app.showProject(project.id);
    app.open({ kind: "add_agent", project: project.id, beside: true });
  };
  useEffect(() => void app.layouts.load(project.id), [app, project.id]);
  return (
    <section className={`project ${shown ? "shown" : ""}`} aria-label={project.name} data-testid={ids.project} data-name={project.name}>
      <div className="row project-row">
        <button type="button" className="row-main" data-row aria-current={shown || undefined} title={used === null ? project.root : `${project.root}\nUsed: ${used}`} onClick={() => void app.showProject(project.id)}>
          <span className="row-name">{project.name}</span>
          {work.running > 0 && (
            <Badge icon="running" word="running" count={work.running} small title={`${plural(work.running, "task")} running`} testid={ids.projectRunning} />
          )}
        </button>
        <div className="row-buttons">
          <IconButton icon="trash" label={`Remove ${project.name} from the list`} onClick={() => app.open({ kind: "remove_project", project: project.id })} testid={ids.projectMenu} />
          <IconButton icon="plus" className="always" label={withKeys(`Add agent to ${project.name}`, "addAgent")} onClick={add} testid={ids.addAgent} />
        </div>
      </div>
      <ul className="agents" data-testid={ids.projectAgents}>
        {agents?.map((agent) => <AgentRow key={agent.id} agent={agent} work={work.agents.get(agent.id) ?? NO_WORK} />)}
        {agents?.length === 0 && (
          <li><Button look="quiet" icon="plus" className="add-first" onClick={add}>Add agent</Button></li>
        )}
      </ul>
    </section>
  );
}

/** The arrow keys go from row to row. */
function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (event.ctrlKey || event.altKey || event.shiftKey || event.metaKey) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.findIndex((row) => row.closest(".row")?.contains(document.activeElement));
  const next = rows[event.key === "ArrowDown" ? at + 1 : at - 1];
  if (at < 0 || !next) return;
  event.preventDefault();
  next.focus();
}
