import { type KeyboardEvent, useEffect, useState } from "react";
import { type BackendError, toBackendError } from "../../backend/backend";
import type { Ask, Id } from "../../generated/api";
import { useApp } from "../../state/app";
import { calleeName, isAskOver, isChildOpen, isUp } from "../../state/ask-words";
import { useQuery } from "../../state/query";
import { useStore } from "../../state/store";
import { agentState } from "../../state/words";
import { Button } from "../../shared/Button";
import { Confirm } from "../../shared/Confirm";
import { Dialog } from "../../shared/Dialog";
import { ErrorText } from "../../shared/ErrorText";
import { ids } from "../../shared/testids";
import { plain, plural } from "../../shared/text";

/** A question to any agent of the project. */
export function AskDialog({ project, agent: wanted }: { project: Id; agent: Id | null }) {
  const app = useApp();
  const agents = useQuery(app.agents).data?.filter((agent) => agent.project === project) ?? [];
  useStore(app.conversations.drafts);
  const [picked, setPicked] = useState<Id | null>(wanted);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<BackendError | null>(null);
  const agent = agents.find(({ id }) => id === picked) ?? agents[0];
  const text = agent ? app.conversations.draft("ask", agent.id) : "";
  const send = async () => {
    if (!agent || text.trim() === "" || busy) return;
    setBusy(true);
    setError(null);
    try {
      await app.ask(agent);
      app.closeDialog();
      // The answer of a headless agent comes in its conversation; that of a terminal's agent is told by the ask.
      if (agent.mode === "headless") await app.show(agent, true);
    } catch (reason) {
      setError(toBackendError(reason));
      setBusy(false);
    }
  };
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat) void send();
  };
  const choose = (to: Id) => {
    // What was written goes along to the other agent.
    if (agent && text !== "") {
      app.conversations.setDraft("ask", to, text);
      app.conversations.setDraft("ask", agent.id, "");
    }
    setPicked(to);
    setError(null);
  };
  return (
    <Dialog title="Ask an agent" width="medium" testid={ids.askDialog} onClose={app.closeDialog} onSubmit={() => void send()}
      footer={<>
        <Button onClick={app.closeDialog}>Cancel</Button>
        {agent && error?.code === "refused" && !isUp(agent) && <Button icon="play" onClick={() => void app.startAgent(agent.id).then(() => setError(null))}>Start {plain(agent.name)}</Button>}
        <Button look="primary" icon="send" type="submit" busy={busy} disabled={!agent || text.trim() === ""} testid={ids.askDialogSend}>Ask</Button>
      </>}>
      {agents.length === 0 ? (
        <p className="muted">This project has no agent yet. <button type="button" className="link" onClick={() => app.open({ kind: "add_agent", project, beside: true })}>Add one</button> first.</p>
      ) : (
        <>
          <label className="field">
            <span>Whom</span>
            <select className="input" value={agent?.id} onChange={(event) => choose(event.target.value)} data-testid={ids.askDialogAgent}>
              {agents.map((each) => <option key={each.id} value={each.id}>{plain(each.name)} ({agentState(each).word})</option>)}
            </select>
          </label>
          <label className="field">
            <span>What it should do or answer</span>
            <textarea className="input" rows={6} value={text} data-autofocus data-testid={ids.askDialogPrompt} aria-invalid={error !== null} onKeyDown={keyDown}
              onChange={(event) => { if (agent) app.conversations.setDraft("ask", agent.id, event.target.value); setError(null); }} />
          </label>
          <p className="muted">Enter asks, Shift+Enter begins a new line. One answer comes when the agent is done, and so is the work that it started for it.</p>
        </>
      )}
      {error && <ErrorText error={error} />}
    </Dialog>
  );
}

/** Before something is cancelled that is being worked on. */
export function CancelAskDialog({ ask }: { ask: Ask }) {
  const app = useApp();
  const over = isAskOver(ask);
  useEffect(() => {
    if (over) app.closeDialog();
  }, [app, over]);
  const open = ask.children.filter(isChildOpen);
  const asks = open.filter(({ kind }) => kind === "ask").length;
  const tasks = open.length - asks;
  const work = [tasks > 0 ? plural(tasks, "task") : "", asks > 0 ? plural(asks, "ask") : ""].filter(Boolean).join(" and ");
  return (
    <Confirm title={`Cancel the ask to ${calleeName(ask)}?`} yes="Cancel the ask" no="Let it go on" onClose={app.closeDialog} onYes={() => app.cancelAsk(ask)}>
      <p>
        {ask.state === "open" ? `${calleeName(ask)} is stopped in what it does for it` : `${calleeName(ask)} has answered already, but the answer is not delivered`}
        {work === "" ? "." : `, and ${work} that it waits for ${open.length === 1 ? "is" : "are"} cancelled.`}
        {" "}What was done so far stays.
      </p>
    </Confirm>
  );
}
