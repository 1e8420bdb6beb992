// Asks, turns and messages of the fake engine: each agent works on one turn at a time, an answer waits for the work that was started
// for it, and a message wakes its agent. In tests an agent does nothing by itself; in a browser it thinks, uses tools and answers.

import type { Agent, Ask, AskChild, Change, Id, Message, Task, Turn, TurnEvent } from "../generated/api";
import { type Answer, BackendError, type Params } from "./backend";

export interface AsksHost {
  newId(): Id;
  changed(tag: Change["tag"], id: Id, project: Id): void;
  agent(id: Id): Agent | undefined;
  setAgent(id: Id, part: Partial<Agent>): void;
  task(id: Id): Task | undefined;
  cancelTask(id: Id): void;
  /** Runs a line of shell for an agent, joined to an ask. */
  addTask(agent: Agent, line: string, ask: Id): Task;
}

const isOver = ({ state }: Ask) => state !== "open" && state !== "pending_final";
const isTurnOver = ({ state }: Turn) => state !== "queued" && state !== "starting" && state !== "running";
const isOpenChild = ({ state }: AskChild) => ["queued", "starting", "running", "open", "pending_final"].includes(state);

export class FakeAsks {
  /** All messages, oldest first; tasks put theirs here, too. */
  readonly messages: Message[] = [];
  /** Agents that the user stopped: they are not started by an ask. */
  readonly stopped = new Set<Id>();
  readonly #asks = new Map<Id, Ask>();
  readonly #turns = new Map<Id, Turn>();
  readonly #events = new Map<Id, TurnEvent[]>();
  readonly #waiting = new Set<() => void>();

  constructor(private readonly host: AsksHost, private readonly live: boolean) {}

  // --- the door ---

  open({ id, agent: callee, prompt, timeout_ms, after_children, key }: Params<"ask_open">, caller: Id | null = null): Ask {
    const known = this.#asks.get(id);
    if (known) return this.show({ ask: known.id });
    const agent = this.#agent(callee);
    if (this.stopped.has(callee)) throw new BackendError("refused", `${agent.name} was stopped by you.`, `Start ${agent.name}, then ask again.`);
    const now = Date.now();
    this.put({
      id, project: agent.project, caller, caller_name: caller && this.#agent(caller).name, callee, callee_name: agent.name, prompt, state: "open", final: null, reason: null, key: key ?? null,
      after_children: after_children ?? "deliver", joined_ask: null, children: [], delivered: null, waiting_for: "turn_queue", created_ms: now,
      deadline_ms: timeout_ms === undefined ? null : now + timeout_ms, ended_ms: null,
    });
    this.#putTurn(this.#turnOf(callee, "ask", prompt, id));
    this.#next(callee);
    return this.show({ ask: id });
  }

  show({ ask }: Params<"ask_show">): Ask {
    const found = this.#ask(ask);
    return { ...found, children: found.children.map((child) => this.#fresh(child)) };
  }

  list({ project, agent, state }: Params<"asks_list">): Ask[] {
    return [...this.#asks.keys()].map((id) => this.show({ ask: id }))
      .filter((ask) => (project === undefined || ask.project === project) && (agent === undefined || ask.caller === agent || ask.callee === agent) && (state === undefined || ask.state === state))
      .sort((a, b) => b.created_ms - a.created_ms);
  }

  cancel({ ask: id }: Params<"ask_cancel">): Ask {
    const ask = this.show({ ask: id });
    if (isOver(ask)) throw new BackendError("refused", "The ask is over already.", null);
    this.#end(id, { state: "cancelled", reason: "cancelled by you" });
    for (const child of ask.children.filter(isOpenChild)) {
      if (child.kind === "task") this.host.cancelTask(child.id);
      else this.cancel({ ask: child.id });
    }
    return this.show({ ask: id });
  }

  turns({ agent, most = 50 }: Params<"turns_list">): Turn[] {
    this.#agent(agent);
    return [...this.#turns.values()].filter((turn) => turn.agent === agent).sort((a, b) => b.created_ms - a.created_ms || (a.id < b.id ? 1 : -1)).slice(0, most);
  }

  async events({ turn: id, offset, wait_ms = 0 }: Params<"turn_events">): Promise<Answer<"turn_events">> {
    const answer = () => {
      const turn = this.turn(id);
      const all = this.#events.get(id);
      if (!all && isTurnOver(turn)) throw new BackendError("not_found", "What was seen of this turn is not kept any more.", null);
      return { events: (all ?? []).slice(offset), next_offset: all?.length ?? 0, over: isTurnOver(turn) };
    };
    let page = answer();
    if (page.events.length === 0 && !page.over && wait_ms > 0) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, wait_ms);
        this.#waiting.add(done);
      });
      page = answer();
    }
    return page;
  }

  send({ id, agent, text }: Params<"message_send">): Message {
    const known = this.messages.find((message) => message.id === id);
    return known ?? this.tell({ id, agent, kind: "note", text, about: null });
  }

  inbox({ agent }: Params<"inbox">): Message[] {
    this.#agent(agent);
    return this.messages.filter((message) => message.agent === agent);
  }

  // --- what tests do to it ---

  turn(id: Id): Turn {
    const turn = this.#turns.get(id);
    if (!turn) throw new BackendError("not_found", "There is no such turn.", null);
    return turn;
  }

  /** The turn that the agent is at. */
  current(agent: Id): Turn {
    const turn = [...this.#turns.values()].find((each) => each.agent === agent && (each.state === "running" || each.state === "starting"));
    if (!turn) throw new Error("The agent is at nothing.");
    return turn;
  }

  emit(turn: Id, kind: TurnEvent["kind"], text: string, name: string | null = null): void {
    this.#events.set(turn, [...(this.#events.get(turn) ?? []), { kind, name, text }]);
    this.#wakeAll();
  }

  /** The agent ends its turn with this answer. */
  finish(id: Id, final: string): void {
    const turn = this.turn(id);
    this.#putTurn({ ...turn, state: "final", final, ended_ms: Date.now() });
    if (turn.ask) {
      this.put({ ...this.#ask(turn.ask), final });
      this.#judge(turn.ask);
    }
    this.#free(turn);
  }

  fail(id: Id, reason: string): void {
    const turn = this.turn(id);
    this.#putTurn({ ...turn, state: "failed", reason, ended_ms: Date.now() });
    if (turn.ask) this.#end(turn.ask, { state: "failed", reason });
    this.#free(turn);
  }

  /** Work that the callee starts while it serves the ask. */
  join(ask: Id, child: Pick<AskChild, "kind" | "id" | "command">): void {
    const found = this.#ask(ask);
    const known = child.kind === "ask" ? this.#ask(child.id) : null;
    if (known) this.put({ ...known, joined_ask: ask });
    this.put({ ...found, children: [...found.children, { ...child, state: "running", exit_code: null, signal: null, duration_ms: null, tail: null }] });
  }

  /** A task came to its end: an ask that waited for it is judged anew. */
  taskEnded(task: Task): void {
    if (task.joined_ask && this.#asks.has(task.joined_ask)) this.#judge(task.joined_ask);
  }

  /** Puts a message into an inbox. */
  tell({ id, agent, kind, text, about }: Pick<Message, "id" | "agent" | "kind" | "text" | "about">): Message {
    const message: Message = { id, agent, kind, state: "pending", repeated: false, about, text, created_ms: Date.now() };
    this.messages.push(message);
    this.#inboxChanged(agent);
    if (this.live) setTimeout(() => this.wake(agent), 1_500);
    return message;
  }

  /** Starts a turn with all that waits, when the agent is idle. */
  wake(agent: Id): void {
    const waiting = this.messages.filter((message) => message.agent === agent && message.state === "pending");
    if (waiting.length === 0 || this.#agent(agent).turn !== null || this.#agent(agent).mode !== "headless" || this.stopped.has(agent)) return;
    this.#markMessages(waiting.map(({ id }) => id), "claimed");
    const turn = this.#turnOf(agent, "wake", waiting.map(({ id, text }) => `Message ${id}: ${text}`).join("\n"), null);
    this.#putTurn({ ...turn, messages: waiting.map(({ id }) => id) });
    this.#inboxChanged(agent);
    this.#next(agent);
  }

  put(ask: Ask): void {
    this.#asks.set(ask.id, ask);
    this.host.changed("askChanged", ask.id, ask.project);
  }

  putTurn(turn: Turn, events?: readonly TurnEvent[]): void {
    if (events) this.#events.set(turn.id, [...events]);
    this.#putTurn(turn);
  }

  /** How much waits for the agent. */
  recount(agent: Id): void {
    const turns = [...this.#turns.values()].filter((turn) => turn.agent === agent && turn.state === "queued").length;
    this.host.setAgent(agent, { queued: turns + this.messages.filter((message) => message.agent === agent && message.state === "pending").length });
  }

  // --- inside ---

  #turnOf(agent: Id, kind: Turn["kind"], prompt: string, ask: Id | null): Turn {
    return {
      id: this.host.newId(), agent, ask, kind, state: "queued", prompt, final: null, reason: null, run: null, messages: [], created_ms: Date.now(), started_ms: null, ended_ms: null,
    };
  }

  #next(agent: Id): void {
    if (this.#agent(agent).turn !== null) return this.recount(agent);
    const turn = [...this.#turns.values()].filter((each) => each.agent === agent && each.state === "queued").sort((a, b) => a.created_ms - b.created_ms)[0];
    if (!turn) return this.recount(agent);
    const started_ms = Date.now();
    this.host.setAgent(agent, { state: "working", turn: { id: turn.id, kind: turn.kind, ask: turn.ask, started_ms } });
    if (turn.ask) this.put({ ...this.#ask(turn.ask), waiting_for: "turn" });
    this.#events.set(turn.id, []);
    this.#putTurn({ ...turn, state: "running", run: this.host.newId(), started_ms });
    this.recount(agent);
    if (this.live) this.#play(turn.id);
  }

  /** The agent is done with this turn, or somebody took it away. */
  #free(turn: Turn): void {
    if (turn.messages.length > 0) {
      this.#markMessages(turn.messages, "delivered");
      this.#inboxChanged(turn.agent);
    }
    this.#wakeAll();
    if (this.#agent(turn.agent).turn?.id !== turn.id) return this.recount(turn.agent);
    this.host.setAgent(turn.agent, { state: "idle", turn: null });
    this.#next(turn.agent);
    if (this.live) setTimeout(() => this.wake(turn.agent), 500);
  }

  /** Ends the ask when nothing that it waits for goes on. */
  #judge(id: Id): void {
    const ask = this.show({ ask: id });
    if (isOver(ask) || ask.final === null) return this.#awaits(ask);
    const open = ask.children.filter(isOpenChild);
    const bad = ask.children.find(({ state }) => !["succeeded", "answered"].includes(state) && !isOpenChild({ state } as AskChild));
    if (bad) this.#end(id, { state: bad.state === "cancelled" ? "cancelled" : bad.state === "timed_out" ? "timed_out" : "failed", reason: `its ${bad.kind} ${bad.command} ${bad.state === "failed" ? "failed" : bad.state}` });
    else if (open.length === 0) this.#end(id, { state: "answered" });
    else this.put({ ...this.#ask(id), state: "pending_final", waiting_for: "children" });
    this.#awaits(this.show({ ask: id }));
  }

  #awaits(ask: Ask): void {
    if (ask.callee === null) return;
    const waiting_on = this.list({ agent: ask.callee }).filter((each) => each.callee === ask.callee && each.state === "pending_final").flatMap((each) => each.children.filter(isOpenChild).map(({ id }) => id));
    this.host.setAgent(ask.callee, { waiting_on });
  }

  #end(id: Id, how: Partial<Ask>): void {
    const ask = { ...this.#ask(id), waiting_for: null, ended_ms: Date.now(), ...how };
    this.put(ask);
    for (const turn of [...this.#turns.values()].filter((each) => each.ask === id && !isTurnOver(each))) {
      this.#putTurn({ ...turn, state: "interrupted", reason: ask.reason, ended_ms: Date.now() });
      this.#free(turn);
    }
    this.#awaits(ask);
    if (ask.joined_ask && this.#asks.has(ask.joined_ask)) this.#judge(ask.joined_ask);
  }

  #fresh(child: AskChild): AskChild {
    if (child.kind === "ask") {
      const ask = this.#asks.get(child.id);
      return ask ? { ...child, state: ask.state, duration_ms: ask.ended_ms === null ? null : ask.ended_ms - ask.created_ms, tail: isOver(ask) ? ask.final : null } : child;
    }
    const task = this.host.task(child.id);
    if (!task) return child;
    return { ...child, state: task.state, exit_code: task.exit_code, signal: task.signal, duration_ms: task.ended_ms === null ? null : task.ended_ms - (task.started_ms ?? task.ended_ms) };
  }

  /** An agent without a model: it thinks, uses a tool or two, and says what it was told. */
  #play(id: Id): void {
    const turn = this.turn(id);
    const agent = this.#agent(turn.agent);
    const script: (() => void)[] = [
      () => this.emit(id, "thinking", "What is wanted here? "),
      () => this.emit(id, "thinking", "I look at the files first, then I answer in one go."),
      () => this.emit(id, "tool", "src/lamp.ts", "Read"),
      () => this.emit(id, "text", "The lamp is lit in `src/lamp.ts`. "),
      () => this.emit(id, "text", "I run the tests to be sure."),
      () => this.emit(id, "tool", "npm test -- --run\nsrc/lamp.test.ts", "Bash"),
      () => this.emit(id, "note", "1 warning: the session is half full."),
      () => {
        if (/fail/i.test(turn.prompt)) return this.fail(id, "exited 1: the model is overloaded");
        if (turn.ask && /task/i.test(turn.prompt)) this.host.addTask(agent, "sleep 6; echo R", turn.ask);
        this.finish(id, `You said:\n\n> ${turn.prompt.split("\n").join("\n> ")}\n\nI have **no model** inside, so that is all.`);
      },
    ];
    const step = () => {
      if (isTurnOver(this.turn(id))) return;
      script.shift()?.();
      if (script.length > 0) setTimeout(step, 900);
    };
    setTimeout(step, 500);
  }

  #markMessages(all: readonly Id[], state: Message["state"]): void {
    for (const [at, message] of this.messages.entries()) if (all.includes(message.id)) this.messages[at] = { ...message, state };
  }

  #inboxChanged(agent: Id): void {
    const project = this.host.agent(agent)?.project;
    if (project === undefined) return;
    this.recount(agent);
    this.host.changed("agentInboxChanged", agent, project);
  }

  #putTurn(turn: Turn): void {
    this.#turns.set(turn.id, turn);
    this.#wakeAll();
    this.host.changed("turnChanged", turn.agent, this.#agent(turn.agent).project);
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #ask(id: Id): Ask {
    const ask = this.#asks.get(id);
    if (!ask) throw new BackendError("not_found", "There is no such ask.", "It may have been removed because of its age.");
    return ask;
  }

  #agent(id: Id): Agent {
    const agent = this.host.agent(id);
    if (!agent) throw new BackendError("not_found", "There is no such agent.", null);
    return agent;
  }
}
