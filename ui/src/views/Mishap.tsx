import { Component, type ReactNode } from "react";
import { Button } from "../shared/Button";

/** When drawing the window fails, that is said, with the way on: the agents are other processes and notice nothing. */
export class Mishap extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="welcome" role="alert">
        <h1>The window could not be drawn</h1>
        <p className="muted">Your agents go on. Loading the window again brings everything back.</p>
        <pre className="mono muted">{error.message}</pre>
        <Button look="primary" onClick={() => location.reload()} autoFocus>Load again</Button>
      </div>
    );
  }
}
