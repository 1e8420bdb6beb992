import { useRef } from "react";
import { Button, IconButton } from "../../shared/Button";
import { ids } from "../../shared/testids";
import type { Draft } from "./draft";

interface Props {
  /** Names of those that are there, without the one of the account directory. */
  names: readonly string[];
  draft: Draft;
  onChange: (part: Partial<Draft>) => void;
}

/** Variables of a profile. What stands in one was never read: it can be replaced or taken away, and not looked at. */
export function Variables({ names, draft, onChange }: Props) {
  const next = useRef(0);
  const put = (name: string, value: string | null | undefined) => {
    const { [name]: _, ...rest } = draft.changed;
    onChange({ changed: value === undefined ? rest : { ...rest, [name]: value } });
  };
  const edit = (key: number, part: { name?: string; value?: string }) => onChange({ added: draft.added.map((each) => (each.key === key ? { ...each, ...part } : each)) });
  return (
    <fieldset className="profile-part">
      <legend>Variables</legend>
      <p className="muted">Kept in a file that only you can read, and given to the program alone. Values are never shown again.</p>
      {names.map((name) => {
        const value = draft.changed[name];
        return (
          <div key={name} className="variable" data-testid={ids.profileVariable} data-name={name} data-state={value === undefined ? "kept" : value === null ? "removed" : "replaced"}>
            <span className={`mono variable-name breakable ${value === null ? "struck" : ""}`}>{name}</span>
            {value === undefined && <><span className="muted variable-mask" aria-label="Its value is not shown">••••••••</span><Button onClick={() => put(name, "")} testid={ids.profileVariableReplace}>Replace</Button><IconButton icon="trash" label={`Remove ${name}`} onClick={() => put(name, null)} testid={ids.profileVariableRemove} /></>}
            {value === null && <><span className="muted grow">is removed when you save</span><Button onClick={() => put(name, undefined)}>Keep it</Button></>}
            {typeof value === "string" && <><input className="input mono grow" type="password" autoComplete="off" autoFocus aria-label={`New value of ${name}`} placeholder="New value" value={value} onChange={(event) => put(name, event.target.value)} data-testid={ids.profileVariableValue} /><Button onClick={() => put(name, undefined)}>Keep the old</Button></>}
          </div>
        );
      })}
      {draft.added.map(({ key, name, value }) => (
        <div key={key} className="variable" data-testid={ids.profileVariable} data-state="added">
          <input className="input mono variable-name" aria-label="Name of the variable" placeholder="NAME" autoFocus spellCheck={false} autoComplete="off" value={name} onChange={(event) => edit(key, { name: event.target.value })} data-testid={ids.profileVariableName} />
          <input className="input mono grow" type="password" aria-label={`Value of ${name || "the variable"}`} placeholder="Value" autoComplete="off" value={value} onChange={(event) => edit(key, { value: event.target.value })} data-testid={ids.profileVariableValue} />
          <IconButton icon="close" label="Leave it out" onClick={() => onChange({ added: draft.added.filter((each) => each.key !== key) })} />
        </div>
      ))}
      <Button look="quiet" icon="plus" onClick={() => onChange({ added: [...draft.added, { key: ++next.current, name: "", value: "" }] })} testid={ids.profileVariableAdd}>Add a variable</Button>
    </fieldset>
  );
}
