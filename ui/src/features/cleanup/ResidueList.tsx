import { type KeyboardEvent, memo, useEffect, useRef, useState } from "react";
import type { Id, Residue, ResidueKind } from "../../generated/api";
import { KINDS, sizeOf, verdictOf } from "../../state/residue-words";
import { Button } from "../../shared/Button";
import { Icon } from "../../shared/Icon";
import { ids } from "../../shared/testids";
import { ago, plain, plural, shortIds } from "../../shared/text";
import type { Plan } from "./scope";

const STEP = 60;

interface Props {
  groups: Plan["groups"];
  ticked: ReadonlySet<Id>;
  locked: boolean;
  whose: (item: Residue) => string;
  /** It was not on show before since the dialog opened. */
  first: boolean;
  onTick: (item: Residue) => void;
}

/** The report: by kind, and of each thing whether it may go and why. */
export function ResidueList({ groups, ticked, locked, whose, first, onTick }: Props) {
  // The report comes after the dialog has opened, which left the keyboard at its tabs; those who went elsewhere meanwhile stay there.
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (first && document.activeElement?.getAttribute("role") === "tab") list.current!.focus({ preventScroll: true });
    // Once: who comes back to the tab by its key stays there.
  }, []);
  return (
    <div ref={list} className="residue-list" tabIndex={0} aria-label="What is left behind" data-autofocus data-testid={ids.cleanupList} onKeyDown={moveBetweenBoxes}>
      {groups.map((group) => <Group key={group.kind} {...group} ticked={ticked} locked={locked} whose={whose} onTick={onTick} />)}
    </div>
  );
}

type GroupProps = Props["groups"][number] & Omit<Props, "groups" | "first">;

function Group({ kind, items, total, ticked, locked, whose, onTick }: GroupProps) {
  const [most, setMost] = useState(STEP);
  const { many, note } = KINDS.find((each) => each.kind === kind)!;
  const size = sizeOf(total);
  return (
    <section aria-label={many} className="residue-group" data-kind={kind}>
      <header className="residue-kind">
        <h3>{many}</h3>
        <span className="muted">{total.count}{size && ` · ${size}`}</span>
        <span className="muted grow clip">{note}</span>
      </header>
      <ul>
        {items.slice(0, most).map((item) => <Item key={item.id} item={item} ticked={ticked.has(item.id)} locked={locked} whose={whose(item)} onTick={onTick} />)}
      </ul>
      {items.length > most && <Button look="quiet" icon="down" onClick={() => setMost(most + STEP)}>Show {Math.min(STEP, items.length - most)} more of {plural(items.length - most, "thing")}</Button>}
    </section>
  );
}

interface ItemProps { item: Residue; ticked: boolean; locked: boolean; whose: string; onTick: (item: Residue) => void }

const Item = memo(function Item({ item, ticked, locked, whose, onTick }: ItemProps) {
  const { word, tone } = verdictOf(item.verdict);
  const name = shortIds(plain(item.name));
  const path = plain(item.path);
  return (
    <li className={`residue ${item.verdict}`} data-testid={ids.residue} data-id={item.id} data-kind={item.kind} data-name={item.name} data-verdict={item.verdict}>
      <span className="residue-box">
        {item.verdict === "needs_consent"
          ? <input type="checkbox" checked={ticked} disabled={locked} aria-label={consentWords(item.kind, name)} title={consentWords(item.kind, name)} onChange={() => onTick(item)} data-testid={ids.residueConsent} />
          : <span className={`mark ${item.verdict === "safe" ? "ok" : ""}`} title={item.verdict === "safe" ? "Goes when you clear up" : "Stays, whatever you say"}><Icon name={item.verdict === "safe" ? "check" : "lock"} /></span>}
      </span>
      <span className="residue-what">
        <span className="residue-name clip" title={path}>{name}{path !== name && <span className="mono muted residue-path"> {path}</span>}</span>
        <span className="residue-why"><span className={`verdict ${tone}`}>{word}</span> <span className="muted">{item.reasons.map(plain).join("; ")}</span></span>
      </span>
      <span className="residue-facts muted">
        <span>{sizeOf(item)}</span>
        <span>{[whose, item.age_ms === null ? "" : ago(0, item.age_ms)].filter(Boolean).join(" · ")}</span>
      </span>
    </li>
  );
});

/** What ticking the box of such a thing means. */
function consentWords(kind: ResidueKind, name: string): string {
  switch (kind) {
    case "process": return `End ${name}`;
    case "archive": return `Remove ${name}; its workdir can then not be restored`;
    case "worktree": return `Archive and remove ${name}`;
    default: return `Remove ${name}`;
  }
}

/** The arrow keys go from box to box. */
function moveBetweenBoxes(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("input[type=checkbox]")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (step > 0 ? all[0] : undefined) : all[at + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.closest("li")?.scrollIntoView?.({ block: "nearest" });
}
