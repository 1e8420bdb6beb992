// The asks of a project as rows of a tree: who waits for whom, and for what.

import type { Ask, AskChild, Id } from "../../generated/api";
import { isAskOver } from "../../state/ask-words";

export interface Row {
  id: Id;
  depth: number;
  ask: Ask | null;
  /** A piece of work: a task, or an ask of which only that is known. */
  child: AskChild | null;
  parent: Ask | null;
  foldable: boolean;
  folded: boolean;
}

export type Which = "open" | "all";

export function treeOf(asks: readonly Ask[], which: Which, folded: ReadonlySet<Id>): { roots: number; rows: Row[][] } {
  const byId = new Map(asks.map((ask) => [ask.id, ask]));
  const joined = new Map<Id, Ask[]>();
  for (const ask of asks) if (ask.joined_ask !== null && byId.has(ask.joined_ask)) joined.set(ask.joined_ask, [ask, ...(joined.get(ask.joined_ask) ?? [])]);
  const seen = new Set<Id>();
  const rowsOf = (ask: Ask, parent: Ask | null, depth: number): Row[] => {
    if (seen.has(ask.id)) return [];
    seen.add(ask.id);
    const listed = new Set(ask.children.map(({ id }) => id));
    const others = (joined.get(ask.id) ?? []).filter(({ id }) => !listed.has(id));
    const foldable = ask.children.length + others.length > 0;
    const row: Row = { id: ask.id, depth, ask, child: null, parent, foldable, folded: folded.has(ask.id) };
    const below = [
      ...ask.children.flatMap((child): Row[] => {
        const nested = child.kind === "ask" ? byId.get(child.id) : undefined;
        if (nested) return rowsOf(nested, ask, depth + 1);
        if (seen.has(child.id)) return [];
        seen.add(child.id);
        return [{ id: child.id, depth: depth + 1, ask: null, child, parent: ask, foldable: false, folded: false }];
      }),
      ...others.flatMap((other) => rowsOf(other, ask, depth + 1)),
    ];
    return row.folded ? [row] : [row, ...below];
  };
  const isOpen = (rows: readonly Row[], ask: Ask) => !isAskOver(ask) || rows.some((row) => row.ask !== null && !isAskOver(row.ask));
  const trees = asks.filter((ask) => ask.joined_ask === null || !byId.has(ask.joined_ask)).flatMap((ask) => {
    const rows = rowsOf(ask, null, 0);
    return rows.length > 0 && (which === "all" || isOpen(rows, ask) || (folded.has(ask.id) && hasOpen(ask, joined))) ? [rows] : [];
  });
  return { roots: trees.length, rows: trees };
}

/** Whether an ask below this one goes on; a folded row does not say so itself. */
function hasOpen(ask: Ask, joined: ReadonlyMap<Id, readonly Ask[]>, depth = 0): boolean {
  return depth < 50 && (joined.get(ask.id) ?? []).some((each) => !isAskOver(each) || hasOpen(each, joined, depth + 1));
}
