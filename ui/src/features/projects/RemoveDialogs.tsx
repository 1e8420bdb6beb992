import type { Agent, Project } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { isLive } from "../../state/words";
import { isUp } from "../../state/ask-words";
import { Confirm } from "../../shared/Confirm";
import { plural } from "../../shared/text";

export function RemoveAgentDialog({ agent }: { agent: Agent }) {
  const app = useApp();
  const headless = agent.mode === "headless";
  const running = headless ? agent.turn !== null : isUp(agent);
  return (
    <Confirm title={`Remove ${agent.name}?`} yes={running ? "Stop and remove" : "Remove"} onClose={app.closeDialog} onYes={() => app.removeAgent(agent.id)}>
      <p>
        {running ? "It is running and will be stopped. " : ""}{headless ? "Its conversation and its inbox go" : "Its screen, its log and its inbox go"} with it, and whoever waits for
        its answer is told so. Files in {agent.workdir} stay as they are.
      </p>
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
