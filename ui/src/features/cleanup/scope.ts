// What of a report is looked at, and what would go of it. Everything that is looked at and safe goes; what needs consent goes when the
// user said so of just this one.

import type { Id, Residue, ResidueKind } from "../../generated/api";
import { KINDS } from "../../state/residue-words";

export interface Scope { kinds: ReadonlySet<ResidueKind>; project: Id | null }

export interface Total { count: number; bytes: number; counted: boolean }

export interface Plan {
  /** The things that are looked at, by kind, the largest first. */
  groups: { kind: ResidueKind; items: Residue[]; total: Total }[];
  /** What would go now. */
  goes: Total;
  ids: Id[];
  /** Those of them that go on the user's word alone. */
  consent: Id[];
  /** What could go on the user's word, and has it not. */
  askable: number;
  blocked: number;
}

export function planOf(report: readonly Residue[], { kinds, project }: Scope, ticked: ReadonlySet<Id>): Plan {
  const looked = report.filter((item) => (kinds.size === 0 || kinds.has(item.kind)) && (project === null || item.project === project));
  const consent = looked.filter((item) => item.verdict === "needs_consent" && ticked.has(item.id));
  const goes = [...looked.filter(({ verdict }) => verdict === "safe"), ...consent];
  const groups = KINDS.map(({ kind }) => {
    const items = looked.filter((item) => item.kind === kind).sort((a, b) => RANK[a.verdict] - RANK[b.verdict] || b.bytes - a.bytes || (a.id < b.id ? -1 : 1));
    return { kind, items, total: totalOf(items) };
  }).filter(({ items }) => items.length > 0);
  return {
    groups, goes: totalOf(goes), ids: goes.map(({ id }) => id), consent: consent.map(({ id }) => id),
    askable: looked.filter(({ verdict }) => verdict === "needs_consent").length - consent.length, blocked: looked.filter(({ verdict }) => verdict === "blocked").length,
  };
}

const RANK = { needs_consent: 0, safe: 1, blocked: 2 } as const;

export function totalOf(items: readonly Residue[]): Total {
  return { count: items.length, bytes: items.reduce((sum, { bytes }) => sum + bytes, 0), counted: items.every(({ counted }) => counted) };
}
