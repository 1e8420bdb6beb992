// What agents are asked and told: their turns, their inboxes, and what the user is writing to them.

import { type Backend, toBackendError } from "../backend/backend";
import type { Ask, Change, Id, Message, Turn } from "../generated/api";
import { Store } from "./store";
import { without } from "./view";
import { Watched } from "./watched";

export const TURNS_STEP = 50;

/** What is being written. The id goes with the text: a text that is sent twice, since an answer was lost, arrives once. */
interface Draft { text: string; id: Id }

type DraftKind = "ask" | "note";
const keyOf = (kind: DraftKind, agent: Id) => `${kind} ${agent}`;

export class Conversations {
  /** Newest first, as many as were asked for. */
  readonly turns: Watched<Turn[]>;
  readonly inboxes: Watched<Message[]>;
  readonly drafts = new Store<Readonly<Record<string, Draft>>>({});
  readonly #most = new Map<Id, number>();

  constructor(private readonly backend: Pick<Backend, "call">) {
    this.turns = new Watched((agent) => backend.call("turns_list", { agent, most: this.mostTurns(agent) }));
    this.inboxes = new Watched((agent) => backend.call("inbox", { agent }));
  }

  mostTurns(agent: Id): number {
    return this.#most.get(agent) ?? TURNS_STEP;
  }

  /** Resolves when earlier turns are in place, too. */
  loadEarlier(agent: Id): Promise<void> {
    this.#most.set(agent, this.mostTurns(agent) + TURNS_STEP);
    return this.turns.of(agent).refresh();
  }

  everythingStale(): void {
    this.turns.everythingStale();
    this.inboxes.everythingStale();
  }

  changed(changes: readonly Change[]): void {
    for (const { tag, id } of changes) {
      if (tag === "turnChanged") this.turns.stale(id);
      if (tag === "agentInboxChanged") this.inboxes.stale(id);
    }
  }

  draft(kind: DraftKind, agent: Id): string {
    return this.drafts.get()[keyOf(kind, agent)]?.text ?? "";
  }

  setDraft(kind: DraftKind, agent: Id, text: string): void {
    const key = keyOf(kind, agent);
    this.drafts.update((all) => (text === "" ? without(all, key) : { ...all, [key]: { text, id: freshId() } }));
  }

  /** Asks the agent what the draft says. Rejects when it was refused; the draft then stays. */
  ask(agent: Id, timeout_ms?: number): Promise<Ask> {
    return this.#send("ask", agent, ({ id, text }) => this.backend.call("ask_open", { id, agent, prompt: text, ...(timeout_ms === undefined ? {} : { timeout_ms }) }));
  }

  /** Puts the draft into the agent's inbox. Rejects when it was refused; the draft then stays. */
  note(agent: Id): Promise<Message> {
    return this.#send("note", agent, ({ id, text }) => this.backend.call("message_send", { id, agent, text }));
  }

  async #send<T>(kind: DraftKind, agent: Id, call: (draft: Draft) => Promise<T>): Promise<T> {
    const key = keyOf(kind, agent);
    const draft = this.drafts.get()[key];
    if (!draft) throw toBackendError("There is nothing to send.");
    try {
      const answer = await call(draft);
      // What was written while it was on its way stays.
      if (this.drafts.get()[key]?.id === draft.id) this.drafts.update((all) => without(all, key));
      if (kind === "ask") this.turns.stale(agent);
      else this.inboxes.stale(agent);
      return answer;
    } catch (reason) {
      throw toBackendError(reason);
    }
  }
}

function freshId(): Id {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
