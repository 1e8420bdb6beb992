import { Icon } from "./Icon";
import { ids } from "./testids";
import { advice } from "./text";

/** What failed, and the next step. */
export function ErrorText({ error, id }: { error: { message: string; hint: string | null }; id?: string }) {
  return (
    <div className="error-text" role="alert" id={id} data-testid={ids.error}>
      <Icon name="warn" />
      <div>
        <p>{error.message}</p>
        {error.hint && <p className="hint" data-testid={ids.errorHint}>{advice(error.hint)}</p>}
      </div>
    </div>
  );
}
