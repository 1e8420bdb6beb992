//! The engine of the small world: it lets the pure functions decide, in a draft of the store. Whoever
//! uses the draft commits it whole, and only then are its acts done.

use carillon_core::ask::{
    self, Ask, Child, ChildEnd, ChildId, Effect, Event, Rejected, Route, State, TurnEnd, due, route,
};
use carillon_core::id::TurnId;
use carillon_core::run::{self, Cause, Ending, LostWhy};
use carillon_core::{message, task, turn};

use crate::world::{
    ASKS, Act, Acts, Attempt, Client, Delivered, Fault, Note, Plan, Process, Stands, Store, TurnRow,
};

/// What the engine has computed and not committed yet.
pub struct Draft<'a> {
    pub plan: &'a Plan,
    pub store: Store,
    pub acts: Acts,
    /// The clients of the calls, as their locks tell.
    pub calls: [Client; 2],
    pub broken: Option<String>,
}

/// The words by which an ask names a task or a nested ask.
pub fn words(child: &ChildId, plan: &Plan) -> &'static str {
    match child {
        ChildId::Task(id) if *id == plan.ids.0[0] => "task 0",
        ChildId::Task(_) => "task 1",
        ChildId::Ask(_) => "ask 1",
    }
}

/// How an ask that is over counts as a child.
fn end_of(stands: Stands) -> Option<ChildEnd> {
    match stands {
        Stands::NotMade | Stands::Open | Stands::Pending | Stands::Followed => None,
        Stands::Answered => Some(ChildEnd::Succeeded),
        Stands::Failed => Some(ChildEnd::Failed),
        Stands::Cancelled => Some(ChildEnd::Cancelled),
        Stands::TimedOut => Some(ChildEnd::TimedOut),
    }
}

/// The children of an ask, as they are.
pub fn children(plan: &Plan, store: &Store, ask: usize) -> Vec<Child> {
    let child = |id: ChildId, end: Option<ChildEnd>, excused: bool| {
        let words = words(&id, plan).to_owned();
        Child { id, end, excused, words }
    };
    let mut all = Vec::new();
    for which in plan.tasks_of(ask) {
        let (row, id) = (&store.tasks[which], || ChildId::Task(plan.ids.0[which].clone()));
        match row.attempt {
            Attempt::None => {}
            Attempt::Live => all.push(child(id(), None, row.seen)),
            Attempt::Over(end) => all.push(child(id(), Some(end), row.seen)),
        }
    }
    let nested = ASKS.into_iter().filter(|one| plan.parent(*one) == Some(ask));
    for which in nested.filter(|one| store.asks[*one].stands != Stands::NotMade) {
        let row = &store.asks[which];
        all.push(child(ChildId::Ask(plan.ids.1[which].clone()), end_of(row.stands), row.seen));
    }
    all
}

impl Draft<'_> {
    /// The ask as the pure functions want it.
    fn ask(&self, which: usize) -> Ask {
        let row = &self.store.asks[which];
        let (text, reason) = (|| "final".to_owned(), String::new);
        let state = match row.stands {
            Stands::NotMade | Stands::Open => State::Open,
            Stands::Pending => State::PendingFinal { text: text(), followed: false },
            Stands::Followed => State::PendingFinal { text: text(), followed: true },
            Stands::Answered => State::Answered { text: text() },
            Stands::Failed => State::Failed { reason: reason(), text: None },
            Stands::Cancelled => State::Cancelled { reason: reason(), text: None },
            Stands::TimedOut => State::TimedOut { reason: reason(), text: None },
        };
        let mut children = children(self.plan, &self.store, which);
        if self.plan.has(Fault::ExcusesIgnored) {
            children.iter_mut().for_each(|child| child.excused = false);
        }
        if self.plan.has(Fault::OpenChildForgotten) {
            children.retain(|child| child.end.is_some());
        }
        Ask {
            state,
            follow_up: self.plan.follow_up[which],
            children,
            has_turn: row.turn != TurnRow::None,
            delivered: row.delivered != Delivered::No,
        }
    }

    /// One event of an ask, and what follows from it for the ask that it is a child of.
    pub fn step(&mut self, which: usize, event: Event) {
        let judged = matches!(event, Event::TurnOver(TurnEnd::Final(_)) | Event::ChildrenChanged);
        match ask::step(&self.ask(which), event) {
            Ok((state, effects)) => {
                if judged {
                    self.check_verdict(which, &state);
                }
                self.enter(which, &state);
                effects.into_iter().for_each(|effect| self.owe(which, effect));
            }
            Err(Rejected::AlreadyOver) if self.plan.has(Fault::LastEndWins) => {
                self.enter(which, &State::TimedOut { reason: String::new(), text: None });
            }
            Err(Rejected::AlreadyOver) => self.ask_what_is_owed(which),
            Err(Rejected::NoTurn) => self.broken = Some("a turn ended that is not there".to_owned()),
        }
    }

    /// For a boot, and whenever something of an ask that is over has changed.
    pub fn ask_what_is_owed(&mut self, which: usize) {
        due(&self.ask(which)).into_iter().for_each(|effect| self.owe(which, effect));
    }

    fn enter(&mut self, which: usize, state: &State) {
        let before = self.store.asks[which].stands;
        let stands = match state {
            State::Open => Stands::Open,
            State::PendingFinal { followed: false, .. } => Stands::Pending,
            State::PendingFinal { followed: true, .. } => Stands::Followed,
            State::Answered { .. } => Stands::Answered,
            State::Failed { .. } => Stands::Failed,
            State::Cancelled { .. } => Stands::Cancelled,
            State::TimedOut { .. } => Stands::TimedOut,
        };
        if before.is_over() && before != stands {
            self.broken = Some(format!("ask {which} was {before:?} and became {stands:?}"));
        }
        if before == Stands::Followed && stands == Stands::Pending {
            self.broken = Some(format!("ask {which} could have a second follow-up turn"));
        }
        self.store.asks[which].stands = stands;
        if let Some(parent) = self.plan.parent(which).filter(|_| stands.is_over()) {
            self.step(parent, Event::ChildrenChanged);
        }
    }

    /// A final is judged by all children as they really are, and a bad end names one that counts.
    fn check_verdict(&mut self, which: usize, state: &State) {
        let children = children(self.plan, &self.store, which);
        let counts = |child: &&Child| !child.excused && child.end != Some(ChildEnd::Succeeded);
        let named = |reason: &str, ends: &[ChildEnd]| {
            let bad = |child: &Child| child.end.is_some_and(|end| ends.contains(&end));
            children.iter().filter(counts).any(|child| bad(child) && child.words == *reason)
        };
        let right = match state {
            State::Open | State::PendingFinal { .. } => true,
            State::Answered { .. } => {
                children.iter().all(|child| child.end.is_some())
                    && !children.iter().any(|child| counts(&child))
            }
            State::Failed { reason, .. } => named(reason, &[ChildEnd::Failed, ChildEnd::Lost]),
            State::Cancelled { reason, .. } => named(reason, &[ChildEnd::Cancelled]),
            State::TimedOut { reason, .. } => named(reason, &[ChildEnd::TimedOut]),
        };
        if !right {
            self.broken = Some(format!("ask {which} was judged {state:?} by {children:?}"));
        }
    }

    fn owe(&mut self, which: usize, effect: Effect) {
        match effect {
            Effect::ReserveFollowUp if self.plan.has(Fault::FollowUpAfterCommit) => {
                self.acts.add(Act::Reserve(which));
            }
            Effect::ReserveFollowUp => self.store.asks[which].turn = TurnRow::Queued,
            Effect::EndTurn => self.drop_turn(which),
            Effect::CancelChildren => {
                for task in self.plan.tasks_of(which) {
                    if self.store.tasks[task].attempt == Attempt::Live {
                        self.acts.add(Act::StopTask(task));
                    }
                }
                for ask in ASKS.into_iter().filter(|ask| self.plan.parent(*ask) == Some(which)) {
                    if self.store.asks[ask].stands.is_going_on() {
                        self.step(
                            ask,
                            Event::CancelRequested { by: "the ask that it belongs to".to_owned() },
                        );
                    }
                }
            }
            Effect::Deliver => self.deliver(which),
        }
    }

    /// The agent is free for a turn that waits.
    pub fn claim(&mut self, which: usize) {
        let claimed = turn::step(&turn::State::Queued, turn::Event::Claimed);
        if claimed != Ok((turn::State::Starting, vec![turn::Effect::HandOver])) {
            self.broken = Some(format!("a claim came to {claimed:?}"));
        }
        self.store.asks[which].turn = TurnRow::Live;
        self.acts.add(Act::HandOver(which));
    }

    /// The record of a turn's process was found, or that there is none after a reboot.
    pub fn turn_over(&mut self, which: usize, process: Process) {
        let row = self.store.asks[which];
        let wanted = row.stands.is_going_on() || self.plan.has(Fault::ResumedForNobody);
        let resume = self.plan.resumes && !row.resumed && wanted;
        let why = || "why".to_owned();
        let end = match process {
            Process::None | Process::Runs => return,
            Process::Succeeded => turn::End::Final { text: "final".to_owned() },
            Process::Silent => turn::End::Final { text: String::new() },
            Process::Failed => turn::End::Failed { reason: why() },
            Process::Stopped => turn::End::Interrupted { reason: why(), resume: false },
            Process::Vanished => turn::End::Interrupted { reason: why(), resume },
        };
        self.store.asks[which].turn = TurnRow::None;
        let end = match turn::step(&turn::State::Starting, turn::Event::Over(end)) {
            Ok((turn::State::Final { text }, _)) if text.is_empty() => TurnEnd::NoAnswer,
            Ok((turn::State::Final { text }, _)) => TurnEnd::Final(text),
            Ok((turn::State::Interrupted { resume: true, .. }, _)) => {
                // The turn that goes on with it stands in line in the same commit.
                self.store.asks[which].turn = TurnRow::Queued;
                self.store.asks[which].resumed = true;
                return;
            }
            Ok((turn::State::Failed { reason } | turn::State::Interrupted { reason, .. }, _)) => {
                TurnEnd::Failed { reason }
            }
            other => {
                self.broken = Some(format!("the end of a turn came to {other:?}"));
                return;
            }
        };
        self.step(which, Event::TurnOver(end));
    }

    /// The turn was claimed, but nothing of it was started: the engine died before.
    pub fn turn_never_began(&mut self, which: usize) {
        let back = turn::step(&turn::State::Starting, turn::Event::NeverBegan);
        if !matches!(back, Ok((turn::State::Queued, _))) {
            self.broken = Some(format!("a turn that never began came to {back:?}"));
        }
        self.store.asks[which].turn = TurnRow::Queued;
        if !self.plan.has(Fault::NotAskedAgain) {
            self.ask_what_is_owed(which);
        }
    }

    /// The turn is not needed any more: it leaves the line, or its process has to be stopped.
    fn drop_turn(&mut self, which: usize) {
        let state = match self.store.asks[which].turn {
            TurnRow::None => return,
            TurnRow::Queued => turn::State::Queued,
            TurnRow::Live => turn::State::Starting,
        };
        match turn::step(&state, turn::Event::Dropped { reason: String::new() }) {
            Ok((turn::State::Interrupted { .. }, _)) => self.store.asks[which].turn = TurnRow::None,
            Ok((_, effects)) if effects.contains(&turn::Effect::Stop) => self.acts.add(Act::StopTurn(which)),
            other => self.broken = Some(format!("a turn that was dropped came to {other:?}")),
        }
    }

    /// The record of a task's process was found, or that there is none after a reboot.
    pub fn task_over(&mut self, which: usize, process: Process) {
        let ended = |cause, exit_code| run::State::Ended(Ending { cause, exit_code, signal: None });
        let run = match process {
            Process::None | Process::Runs => return,
            Process::Succeeded => ended(Cause::Ended, Some(0)),
            Process::Silent | Process::Failed => ended(Cause::Ended, Some(1)),
            Process::Stopped => ended(Cause::Stopped { by: "user".to_owned() }, None),
            Process::Vanished => run::State::Lost(LostWhy::Rebooted),
        };
        match task::step(&task::State::Running, task::Event::RunOver(run)) {
            Ok((state, _)) => self.task_ended(which, &state),
            Err(why) => self.broken = Some(format!("a task's end was refused: {why:?}")),
        }
    }

    fn task_ended(&mut self, which: usize, state: &task::State) {
        let end = match state {
            task::State::Succeeded => ChildEnd::Succeeded,
            task::State::Failed(_) => ChildEnd::Failed,
            task::State::TimedOut => ChildEnd::TimedOut,
            task::State::Cancelled { .. } => ChildEnd::Cancelled,
            task::State::Lost(_) => ChildEnd::Lost,
            task::State::AwaitingApproval
            | task::State::Queued
            | task::State::Starting
            | task::State::Running => return,
        };
        self.store.tasks[which].attempt = Attempt::Over(end);
        self.store.tasks[which].told = self.plan.has(Fault::ChildWakes);
        if let Some(ask) = self.plan.task_of[which] {
            self.step(ask, Event::ChildrenChanged);
        }
    }

    /// The task has a slot, but nothing of it was started. Back in line it is cancelled there when
    /// nobody waits for it any more.
    pub fn task_never_began(&mut self, which: usize) {
        let run = Ending { cause: Cause::NeverBegan, exit_code: None, signal: None };
        let back = task::step(&task::State::Starting, task::Event::RunOver(run::State::Ended(run)));
        if !matches!(back, Ok((task::State::Queued, _))) {
            self.broken = Some(format!("a task that never began came to {back:?}"));
        }
        let unwanted = self.plan.task_of[which].is_some_and(|ask| self.store.asks[ask].stands.is_over());
        if !unwanted {
            self.acts.add(Act::Launch(which));
        } else if let Ok((state, _)) =
            task::step(&task::State::Queued, task::Event::CancelRequested { by: "B".to_owned() })
        {
            self.task_ended(which, &state);
        }
    }

    /// The answer is on its way: by a call whose client lives, else into the inbox. The end of a joined
    /// child is told with the answer of the ask that it belongs to, so its message wakes nobody.
    fn deliver(&mut self, which: usize) {
        let row = self.store.asks[which];
        if row.delivered != Delivered::No {
            return;
        }
        let lives = matches!(self.calls[which], Client::Waits | Client::Wrote);
        let calls: &[bool] = if row.call { &[lives] } else { &[] };
        if row.call && self.calls[which] == (Client::Gone { wrote: true }) {
            return self.has_written(which);
        }
        match route(self.plan.has_inbox(&self.store, which), calls) {
            // The client comes for it and says when it has it.
            Route::Call | Route::Keep => {}
            Route::Inbox => {
                let told = self.plan.parent(which).is_some() && !self.plan.has(Fault::ChildWakes);
                let row = &mut self.store.asks[which];
                row.note = if told { Note::Delivered } else { Note::Pending };
                row.notes += 1;
                row.call = false;
                if self.plan.has(Fault::MarkAfterMessage) {
                    self.acts.add(Act::Mark(which));
                } else {
                    row.delivered = Delivered::Inbox;
                }
            }
        }
    }

    /// The client of a call has the answer: it says so, or left word of it when it died.
    pub fn has_written(&mut self, which: usize) {
        let row = &mut self.store.asks[which];
        row.call = false;
        if row.delivered == Delivered::No {
            row.delivered = Delivered::Call;
        }
        if let Some(parent) = self.plan.parent(which) {
            self.store.asks[which].seen = true;
            self.step(parent, Event::ChildrenChanged);
        }
    }

    /// The client of a call is gone: the answer takes another way.
    pub fn call_is_gone(&mut self, which: usize) {
        let wrote = self.calls[which] == Client::Gone { wrote: true };
        if wrote && self.store.asks[which].delivered == Delivered::No {
            return self.has_written(which);
        }
        self.store.asks[which].call = false;
        self.ask_what_is_owed(which);
    }

    /// One event of the message with an answer.
    pub fn note(&mut self, which: usize, from: &message::State, event: message::Event) {
        self.store.asks[which].note = match message::step(from, event) {
            Ok((message::State::Pending, _)) => Note::Pending,
            Ok((message::State::Claimed { .. }, _)) => return,
            Ok((message::State::Delivered { .. }, _)) => Note::Delivered,
            Ok((message::State::Undeliverable { .. }, _)) => Note::Undeliverable,
            Err(why) => {
                self.broken = Some(format!("a message refused: {why:?}"));
                return;
            }
        }
    }

    /// A turn with the message began and ended.
    pub fn read_note(&mut self, which: usize) {
        let turn = TurnId::from_random([7; 16]);
        self.note(which, &message::State::Pending, message::Event::Claimed { turn: turn.clone() });
        self.note(which, &message::State::Claimed { turn }, message::Event::TurnOver);
    }
}
