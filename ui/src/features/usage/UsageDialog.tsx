import "./usage.css";
import type { Id, Usage } from "../../generated/api";
import { useApp } from "../../state/app";
import { useQuery } from "../../state/query";
import { costWords, tokenCount } from "../../state/usage-words";
import { Dialog } from "../../shared/Dialog";
import { ids } from "../../shared/testids";
import { plain } from "../../shared/text";

/** What the agents of a project have used, with the sum that stays when an agent is removed. */
export function UsageDialog({ project: id }: { project: Id }) {
  const app = useApp();
  const project = useQuery(app.projects).data?.find((each) => each.id === id);
  const agents = useQuery(app.agents).data?.filter((agent) => agent.project === id) ?? [];
  const told = agents.filter(({ usage }) => usage);
  return (
    <Dialog title={`Used in ${plain(project?.name ?? "this project")}`} width="medium" testid={ids.usage} onClose={app.closeDialog}>
      {project?.usage ? (
        <div className="usage-table" tabIndex={0} role="region" aria-label="What was used, by agent" data-autofocus>
          <table>
            <thead><tr><th scope="col">Agent</th><th scope="col">Turns</th><th scope="col">Read</th><th scope="col">Wrote</th><th scope="col">Price</th></tr></thead>
            <tbody>{told.map((agent) => <Line key={agent.id} name={plain(agent.name)} usage={agent.usage!} />)}</tbody>
            <tfoot><Line name="The project, with removed agents" usage={project.usage} /></tfoot>
          </table>
        </div>
      ) : <p className="muted">No turn has told yet what it used.</p>}
      <p className="muted">Counted are headless turns whose program tells what it used. Nobody tells what was used in a terminal.</p>
    </Dialog>
  );
}

function Line({ name, usage }: { name: string; usage: Usage }) {
  const { turns, input_tokens, cached_tokens, output_tokens } = usage;
  return (
    <tr data-testid={ids.usageRow} data-name={name}>
      <th scope="row" className="breakable">{name}</th>
      <td>{turns.toLocaleString("en")}</td>
      <td>{input_tokens === null ? <Unknown /> : <>{tokenCount(input_tokens)}{cached_tokens !== null && <span className="muted usage-of"> {tokenCount(cached_tokens)} cached</span>}</>}</td>
      <td>{output_tokens === null ? <Unknown /> : tokenCount(output_tokens)}</td>
      <td>{costWords(usage) ?? <Unknown />}</td>
    </tr>
  );
}

function Unknown() {
  return <span className="muted">not told</span>;
}
