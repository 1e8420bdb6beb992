import type { Agent, Project } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { isLive } from "../../state/words";
import { Confirm } from "../../shared/Confirm";
import { plural } from "../../shared/text";

export function RemoveAgentDialog({ agent }: { agent: Agent }) {
  const app = useApp();
  return (
    <Confirm title={`Remove ${agent.name}?`} yes={isLive(agent.run) ? "Stop and remove" : "Remove"} onClose={app.closeDialog} onYes={() => app.removeAgent(agent.id)}>
      <p>{isLive(agent.run) ? "It is running and will be stopped. " : ""}Its screen and its log go with it. Files in {agent.workdir} stay as they are.</p>
    </Confirm>
  );
}

export function RemoveProjectDialog({ project }: { project: Project }) {
  const app = useApp();
  const agents = useQuery(app.agents).data?.filter((agent) => agent.project === project.id) ?? [];
  const running = agents.filter((agent) => isLive(agent.run)).length;
  return (
    <Confirm title={`Remove ${project.name} from the list?`} yes="Remove" onClose={app.closeDialog} onYes={() => app.removeProject(project.id)}>
      <p>
        The repository at {project.root} stays as it is.
        {agents.length > 0 && ` ${plural(agents.length, "agent")} of the project ${agents.length === 1 ? "goes" : "go"} with it${running > 0 ? `, ${running} of them running` : ""}.`}
      </p>
    </Confirm>
  );
}
