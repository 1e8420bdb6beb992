//! All that can happen in the small world, and what it owes.

use carillon_core::ask::{ChildEnd, Edge, Event, circle};
use carillon_core::id::AgentId;
use carillon_core::{message, wake};

use crate::engine::{Draft, children};
use crate::explorer::{Label, Model, Move};
use crate::world::{
    ASKS, Act, Acts, Agent, Attempt, Client, Delivered, Engine, Fault, Note, Outside, Plan, Process, Stands,
    TASKS, TurnRow, World,
};

/// Whether something comes by itself.
const OWN: bool = true;
/// Somebody may do it or not, or it goes wrong.
const CHANCE: bool = false;

/// Collects the moves from one state.
struct Ways<'a> {
    plan: &'a Plan,
    from: &'a World,
    moves: &'a mut Vec<Move<World>>,
}

impl Ways<'_> {
    /// Something outside, of which the engine knows nothing yet.
    fn outside(&mut self, label: Label, own: bool, change: impl FnOnce(&mut Outside)) {
        let mut to = *self.from;
        change(&mut to.outside);
        self.moves.push(Move { label, to, own, broken: None });
    }

    /// Compute, commit, then act: the acts are remembered in memory alone.
    ///
    /// A crash between compute and commit leaves what a crash before leaves, since nothing but the
    /// draft was touched; one between commit and act is a crash of the state that this leads to, and
    /// one between two acts is a crash after the first. So no crash needs a place of its own in here.
    /// `outside` changes where the move is the act itself, or where a commit makes a record of no
    /// account.
    fn engine(&mut self, label: Label, own: bool, work: impl FnOnce(&mut Draft, &mut Outside)) {
        let Engine::Up(acts) = self.from.engine else { return };
        if acts.next_of_the_loop().is_none() {
            self.after(acts, label, own, work);
        }
    }

    fn after(&mut self, acts: Acts, label: Label, own: bool, work: impl FnOnce(&mut Draft, &mut Outside)) {
        let mut draft = Draft {
            plan: self.plan,
            store: self.from.store,
            acts: Acts::default(),
            calls: self.from.outside.calls,
            broken: None,
        };
        let mut outside = self.from.outside;
        work(&mut draft, &mut outside);
        let Draft { store, acts: new, broken, .. } = draft;
        if self.plan.has(Fault::ShownBeforeCommit) {
            for ask in ASKS.into_iter().filter(|ask| store.asks[*ask].stands.is_over()) {
                let mut shown = *self.from;
                if shown.outside.calls[ask] == Client::Waits {
                    shown.outside.calls[ask] = Client::Wrote;
                    shown.engine = Engine::Down;
                    let label = ("shown, and a crash before the commit of ask", ask);
                    self.moves.push(Move { label, to: shown, own: CHANCE, broken: None });
                }
            }
        }
        let to = World { store, engine: Engine::Up(acts.and(new)), outside };
        self.moves.push(Move { label, to, own, broken });
    }

    /// Does one of the acts that are owed.
    fn act(&mut self, act: Act, name: &'static str, work: impl FnOnce(&mut Draft, &mut Outside)) {
        let Engine::Up(acts) = self.from.engine else { return };
        let (Act::HandOver(which)
        | Act::StopTurn(which)
        | Act::Launch(which)
        | Act::StopTask(which)
        | Act::Reserve(which)
        | Act::Mark(which)) = act;
        let given_away = !matches!(act, Act::Reserve(_) | Act::Mark(_));
        if acts.has(act) && (given_away || acts.next_of_the_loop() == Some(act)) {
            self.after(acts.without(act), (name, which), OWN, work);
        }
    }

    fn owes(&self, act: Act) -> bool {
        matches!(self.from.engine, Engine::Up(acts) if acts.has(act))
    }

    fn power(&mut self) {
        match self.from.engine {
            Engine::Up(_) => {
                let to = World { engine: Engine::Down, ..*self.from };
                self.moves.push(Move { label: ("crash", 0), to, own: CHANCE, broken: None });
            }
            Engine::Down => {
                self.outside(("reboot", 0), CHANCE, |outside| {
                    for process in outside.turns.iter_mut().chain(&mut outside.tasks) {
                        if *process == Process::Runs {
                            *process = Process::Vanished;
                        }
                    }
                    outside.calls.iter_mut().for_each(dies);
                });
                self.after(Acts::default(), ("boot", 0), OWN, |draft, _| {
                    for ask in ASKS {
                        let delivered = draft.store.asks[ask].delivered != Delivered::No;
                        let forgotten = draft.plan.has(Fault::BootForgets)
                            || draft.plan.has(Fault::BootForgetsTheDelivered) && delivered;
                        if !forgotten {
                            draft.ask_what_is_owed(ask);
                        }
                    }
                });
            }
        }
    }

    fn turn(&mut self, ask: usize) {
        let (row, process) = (self.from.store.asks[ask], self.from.outside.turns[ask]);
        let busy = ASKS.into_iter().any(|other| {
            self.plan.callee(other) == self.plan.callee(ask)
                && self.from.store.asks[other].turn == TurnRow::Live
        });
        if row.turn == TurnRow::Queued && row.stands.is_going_on() && !busy {
            self.engine(("the turn is claimed of ask", ask), OWN, |draft, _| draft.claim(ask));
        }
        self.act(Act::HandOver(ask), "the prompt is handed over of ask", |_, outside| {
            outside.turns[ask] = Process::Runs;
        });
        if process == Process::Runs {
            let nested = self.plan.nested && ask == 0;
            let ends = [
                ("the callee gives a final in ask", Process::Succeeded),
                ("the callee dies in ask", Process::Failed),
                ("the callee has nothing to say in ask", Process::Silent),
            ];
            for (name, end) in ends.into_iter().take(if self.plan.all_ends { 3 } else { 2 }) {
                self.outside((name, ask), row.stands.is_going_on(), |outside| {
                    turn_ends(outside, ask, end, nested)
                });
            }
            self.callee(ask);
        }
        if row.turn == TurnRow::Live && process.has_ended() {
            self.engine(("the end of the turn is found of ask", ask), OWN, |draft, outside| {
                draft.turn_over(ask, process);
                outside.turns[ask] = Process::None;
            });
        }
        if row.turn == TurnRow::Live && process == Process::None && !self.owes(Act::HandOver(ask)) {
            self.engine(("the turn never began of ask", ask), OWN, |draft, _| draft.turn_never_began(ask));
        }
        if !self.owes(Act::HandOver(ask)) {
            let nested = self.plan.nested && ask == 0;
            self.act(Act::StopTurn(ask), "the turn is stopped of ask", |_, outside| {
                if outside.turns[ask] == Process::Runs {
                    turn_ends(outside, ask, Process::Stopped, nested);
                }
            });
        }
        self.act(Act::Reserve(ask), "the follow-up turn is put in line of ask", |draft, _| {
            draft.store.asks[ask].turn = TurnRow::Queued;
        });
    }

    /// What the callee of an ask may do in its turn. A child of an ask that is over is refused.
    fn callee(&mut self, ask: usize) {
        let store = &self.from.store;
        if !store.asks[ask].stands.is_going_on() || store.asks[ask].turn != TurnRow::Live {
            return;
        }
        for task in self.plan.tasks_of(ask) {
            let plan = self.plan;
            let mut seen = |name, work: fn(&mut Draft, usize)| {
                self.engine((name, task), CHANCE, |draft, _| {
                    work(draft, task);
                    draft.step(ask, Event::ChildrenChanged);
                });
            };
            let start = |draft: &mut Draft, task: usize| {
                draft.store.tasks[task].attempt = Attempt::Live;
                draft.store.tasks[task].seen = false;
                draft.acts.add(Act::Launch(task));
            };
            match store.tasks[task].attempt {
                Attempt::None => seen("the callee starts task", start),
                Attempt::Live if store.tasks[task].seen => {}
                Attempt::Live => seen("the callee cancels task", |draft, task| {
                    draft.store.tasks[task].seen = true;
                    draft.acts.add(Act::StopTask(task));
                }),
                Attempt::Over(ChildEnd::Succeeded) => {}
                Attempt::Over(_) => {
                    if plan.retries {
                        seen("the callee retries task", start);
                    }
                    if !store.tasks[task].seen {
                        seen("the callee sees the end of task", |draft, task| {
                            draft.store.tasks[task].seen = true;
                        });
                    }
                }
            }
        }
        if self.plan.nested && ask == 0 {
            self.callee_asks();
        }
    }

    fn callee_asks(&mut self) {
        let row = self.from.store.asks[1];
        if row.stands == Stands::NotMade && self.plan.asks == 2 {
            self.engine(("the callee asks", 1), CHANCE, |draft, outside| {
                draft.broken = circles_are_found();
                let row = &mut draft.store.asks[1];
                (row.stands, row.turn) = (Stands::Open, TurnRow::Queued);
                if draft.plan.callee_waits {
                    row.call = true;
                    outside.calls[1] = Client::Waits;
                }
                draft.step(0, Event::ChildrenChanged);
            });
        } else if row.stands != Stands::NotMade && !row.seen && row.stands != Stands::Answered {
            let cancels = row.stands.is_going_on();
            let name = if cancels { "the callee cancels ask" } else { "the callee sees the end of ask" };
            self.engine((name, 1), CHANCE, |draft, _| {
                draft.store.asks[1].seen = true;
                if cancels {
                    draft.step(1, Event::CancelRequested { by: "B".to_owned() });
                }
                draft.step(0, Event::ChildrenChanged);
            });
        }
    }

    fn task(&mut self, task: usize) {
        let (row, process) = (self.from.store.tasks[task], self.from.outside.tasks[task]);
        self.act(Act::Launch(task), "the process starts of task", |_, outside| {
            outside.tasks[task] = Process::Runs;
        });
        if process == Process::Runs {
            // One that nobody waits for may run for ever if it is not stopped.
            let wanted =
                self.plan.task_of[task].is_some_and(|ask| self.from.store.asks[ask].stands.is_going_on());
            let ends = [
                ("it succeeds: task", Process::Succeeded),
                ("it fails: task", Process::Failed),
                ("the user stops task", Process::Stopped),
            ];
            for (name, end) in ends.into_iter().take(if self.plan.all_ends { 3 } else { 2 }) {
                self.outside((name, task), wanted, |outside| outside.tasks[task] = end);
            }
        }
        if row.attempt == Attempt::Live && process.has_ended() {
            self.engine(("the end is found of task", task), OWN, |draft, outside| {
                draft.task_over(task, process);
                outside.tasks[task] = Process::None;
            });
        }
        if row.attempt == Attempt::Live && process == Process::None && !self.owes(Act::Launch(task)) {
            self.engine(("it never began: task", task), OWN, |draft, _| draft.task_never_began(task));
        }
        if !self.owes(Act::Launch(task)) {
            self.act(Act::StopTask(task), "it is stopped: task", |_, outside| {
                if outside.tasks[task] == Process::Runs {
                    outside.tasks[task] = Process::Stopped;
                }
            });
        }
    }

    fn call(&mut self, ask: usize) {
        let (row, client) = (self.from.store.asks[ask], self.from.outside.calls[ask]);
        // A nested ask's client lives in the turn that asked.
        let can_call =
            self.plan.parent(ask).is_none_or(|parent| self.from.outside.turns[parent] == Process::Runs);
        match client {
            Client::None => {
                let wanted =
                    self.plan.agent_asks[ask] && (self.plan.parent(ask).is_none() || self.plan.callee_waits);
                if row.stands != Stands::NotMade && row.delivered == Delivered::No && can_call && wanted {
                    self.engine(("a call is attached to ask", ask), CHANCE, |draft, outside| {
                        draft.store.asks[ask].call = true;
                        outside.calls[ask] = Client::Waits;
                    });
                }
            }
            Client::Waits => {
                if row.stands.is_over() {
                    self.engine(("the call writes out the answer of ask", ask), OWN, |_, outside| {
                        outside.calls[ask] = Client::Wrote;
                    });
                }
                self.outside(("the call dies of ask", ask), CHANCE, |outside| dies(&mut outside.calls[ask]));
            }
            Client::Wrote => {
                self.engine(("the call says that it has the answer of ask", ask), OWN, |draft, outside| {
                    draft.has_written(ask);
                    outside.calls[ask] = Client::None;
                });
                self.outside(("the call dies of ask", ask), CHANCE, |outside| dies(&mut outside.calls[ask]));
            }
            Client::Gone { .. } => {
                self.engine(("the lock of the call is free of ask", ask), OWN, |draft, outside| {
                    draft.call_is_gone(ask);
                    outside.calls[ask] = Client::None;
                });
            }
        }
        self.act(Act::Mark(ask), "it is marked as delivered: ask", |draft, _| {
            draft.store.asks[ask].delivered = Delivered::Inbox;
        });
    }

    fn ended_early(&mut self, ask: usize) {
        let stands = self.from.store.asks[ask].stands;
        let late = stands.is_over() && self.plan.has(Fault::LastEndWins);
        if self.plan.ended_early[ask] && (stands.is_going_on() || late) {
            self.engine(("the user cancels ask", ask), CHANCE, |draft, _| {
                draft.step(ask, Event::CancelRequested { by: "user".to_owned() });
            });
            self.engine(("the time is up of ask", ask), CHANCE, |draft, _| {
                draft.step(ask, Event::DeadlinePassed)
            });
        }
    }

    fn removal(&mut self) {
        let Some(agent) = self.plan.removed.filter(|_| !self.from.store.removed) else { return };
        self.engine(("an agent is removed", agent as usize), CHANCE, |draft, _| {
            draft.store.removed = true;
            for ask in ASKS {
                let (caller, callee) = (draft.plan.caller(ask), draft.plan.callee(ask));
                let row = draft.store.asks[ask];
                if (caller == agent || callee == agent) && row.stands.is_going_on() {
                    draft.step(ask, Event::AgentRemoved { who: "it".to_owned() });
                }
                if caller == agent && row.note == Note::Pending {
                    let why = "it was removed".to_owned();
                    draft.note(ask, &message::State::Pending, message::Event::Withdrawn { why });
                }
            }
        });
    }

    fn wake(&mut self, agent: Agent) {
        let (plan, store) = (self.plan, &self.from.store);
        let joined_and_open =
            |ask: Option<usize>| ask.is_some_and(|ask| store.asks[ask].stands.is_going_on());
        let notes: Vec<usize> = ASKS
            .into_iter()
            .filter(|ask| plan.caller(*ask) == agent && store.asks[*ask].note == Note::Pending)
            .collect();
        let told = |task: &usize| {
            store.tasks[*task].told && plan.task_of[*task].is_some_and(|ask| plan.callee(ask) == agent)
        };
        let tasks: Vec<usize> = TASKS.into_iter().filter(told).collect();
        let mut turns =
            ASKS.into_iter().filter(|ask| plan.callee(*ask) == agent).map(|ask| store.asks[ask].turn);
        let facts = wake::Facts {
            pending: (notes.len() + tasks.len()) as u32,
            idle: turns.all(|turn| turn != TurnRow::Live),
            stopped: store.removed && plan.removed == Some(agent),
            limited: false,
            typing: false,
            failed: 0,
            not_before_ms: 0,
            now_ms: 0,
        };
        if wake::decide(facts) != wake::Decision::Wake {
            return;
        }
        let child = notes.iter().any(|ask| joined_and_open(plan.parent(*ask)))
            || tasks.iter().any(|task| joined_and_open(plan.task_of[*task]));
        self.engine(("an agent is woken", agent as usize), OWN, |draft, _| {
            notes.iter().for_each(|ask| draft.read_note(*ask));
            tasks.iter().for_each(|task| draft.store.tasks[*task].told = false);
            if child {
                draft.broken = Some(format!("{agent:?} was woken for a child of an ask that goes on"));
            }
        });
    }
}

fn dies(client: &mut Client) {
    *client = match client {
        Client::None => Client::None,
        Client::Waits => Client::Gone { wrote: false },
        Client::Wrote => Client::Gone { wrote: true },
        Client::Gone { wrote } => Client::Gone { wrote: *wrote },
    };
}

fn turn_ends(outside: &mut Outside, ask: usize, end: Process, nested: bool) {
    outside.turns[ask] = end;
    if nested {
        dies(&mut outside.calls[1]);
    }
}

/// B, which serves A, may ask C; C may then ask neither of them, and neither may A ask itself.
fn circles_are_found() -> Option<String> {
    let [a, b, c] = [1, 2, 3].map(|byte| AgentId::from_random([byte; 16]));
    let mut open = vec![Edge { caller: a.clone(), callee: b.clone() }];
    let allowed = circle(&b, &c, &open).is_none();
    open.push(Edge { caller: b.clone(), callee: c.clone() });
    let refused = [(&c, &a), (&c, &b), (&b, &a), (&a, &a)];
    let all_refused = refused.iter().all(|(caller, callee)| circle(caller, callee, &open).is_some());
    (!allowed || !all_refused).then(|| "a circle was not told from a line".to_owned())
}

impl Model for Plan {
    type State = World;

    fn start(&self) -> World {
        Plan::start(self)
    }

    fn moves(&self, from: &World, moves: &mut Vec<Move<World>>) {
        let mut ways = Ways { plan: self, from, moves };
        ways.power();
        ASKS.into_iter().for_each(|ask| {
            ways.turn(ask);
            ways.call(ask);
            ways.ended_early(ask);
        });
        TASKS.into_iter().for_each(|task| ways.task(task));
        ways.removal();
        [Agent::A, Agent::B, Agent::D].into_iter().for_each(|agent| ways.wake(agent));
        moves.iter_mut().for_each(|one| self.forget_what_is_past(&mut one.to));
    }

    fn check(&self, world: &World) -> Result<(), String> {
        crate::promises::check(self, world)
    }

    fn at_rest(&self, world: &World) -> Result<(), String> {
        crate::promises::at_rest(self, world)
    }

    fn sights(&self, world: &World) -> u32 {
        crate::promises::sights(world)
    }
}

/// Whether a child of the ask goes on.
pub fn has_open_child(plan: &Plan, world: &World, ask: usize) -> bool {
    children(plan, &world.store, ask).iter().any(|child| child.end.is_none())
}
