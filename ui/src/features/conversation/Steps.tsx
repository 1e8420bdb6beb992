import { memo, useEffect, useMemo } from "react";
import type { Turn } from "../../generated/api";
import { useApp } from "../../state/app";
import { isTurnOver } from "../../state/ask-words";
import { useStore } from "../../state/store";
import { ErrorText } from "../../shared/ErrorText";
import { Icon } from "../../shared/Icon";
import { LongText } from "../../shared/LongText";
import { Markdown } from "../../shared/Markdown";
import { ids } from "../../shared/testids";
import { clipped, plain, plural } from "../../shared/text";
import { type Step, TurnWatch } from "./turn-watch";

const TOOL_CHARS = 200;

/** What an agent did in a turn, as it happens: what it says, what it thinks, and the tools that it uses. */
export function Steps({ turn, onOpenUrl }: { turn: Turn; onOpenUrl: (url: string) => void }) {
  const { backend } = useApp();
  const watch = useMemo(() => new TurnWatch(backend, turn.id), [backend, turn.id]);
  const { steps, dropped, over, loading, error } = useStore(watch.state);
  useEffect(() => {
    watch.start();
    return () => watch.stop();
  }, [watch]);
  const live = !isTurnOver(turn) && !over;
  return (
    <div className="steps" data-testid={ids.turnSteps} data-over={over} role="log" aria-live="off" aria-label="What it does">
      {dropped > 0 && <p className="muted step-dropped">{plural(dropped, "earlier step")} not shown</p>}
      {steps.map((step, at) => <StepView key={step.key} step={step} last={live && at === steps.length - 1} onOpenUrl={onOpenUrl} />)}
      {steps.length === 0 && !loading && !error && !live && <p className="muted">It left no steps to see.</p>}
      {error && (error.code === "not_found" ? <p className="muted">Its steps are not kept any more.</p> : <ErrorText error={error} />)}
      {live && <p className="step-live muted" role="status"><span className="spinner" aria-hidden="true" />{turn.state === "starting" ? "Starting…" : steps.length === 0 ? "Working…" : "Still working…"}</p>}
    </div>
  );
}

const StepView = memo(function StepView({ step, last, onOpenUrl }: { step: Step; last: boolean; onOpenUrl: (url: string) => void }) {
  switch (step.kind) {
    case "text": return <div className="step" data-testid={ids.turnStep} data-kind="text"><Markdown text={step.text} onOpenUrl={onOpenUrl} /></div>;
    case "thinking":
      return (
        <details className="step step-thinking" data-testid={ids.turnStep} data-kind="thinking">
          <summary><Icon name="right" />{last ? "Thinking" : "Thought"}<span className="muted clip">{clipped(plain(step.text), TOOL_CHARS)}</span></summary>
          <LongText text={step.text} lines={40} chars={6_000} />
        </details>
      );
    case "tool": {
      const line = plain(step.text);
      const name = plain(step.name ?? "") || "Tool";
      // A short line needs nothing to unfold.
      if (line.length <= 60 && !step.text.trim().includes("\n")) {
        return <p className="step step-tool" data-testid={ids.turnStep} data-kind="tool"><Icon name="command" /><b>{name}</b><span className="mono clip">{line}</span></p>;
      }
      return (
        <details className="step step-tool" data-testid={ids.turnStep} data-kind="tool">
          <summary><Icon name="right" /><b>{name}</b><span className="mono clip">{clipped(line, TOOL_CHARS)}</span></summary>
          <LongText text={step.text} lines={30} chars={4_000} className="mono" />
        </details>
      );
    }
    case "note": return <p className="step step-note muted" data-testid={ids.turnStep} data-kind="note"><Icon name="info" /><span>{plain(step.text)}</span></p>;
  }
});
