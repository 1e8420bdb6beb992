//! The steps of asks: load everything that decides, let `core` decide, commit, act.

use carillon_core::ask::{self, Ask, Child, ChildEnd, ChildId, Effect, Event, State};
use carillon_core::id::{AskId, RunId};
use carillon_core::{limits, message, plain, task, turn};
use carillon_store::asks::{self, AskRow};
use carillon_store::attempts::{self, AttemptRow};
use carillon_store::db::{Db, SqlError};
use carillon_store::tasks::{self, TaskRow};
use carillon_store::turns::{self, Kind};
use carillon_store::{agents, messages};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};

/// Who cancels the children of an ask that is over.
pub(crate) const BY_ASK: &str = "ask_over";

/// A child with what is shown of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildView {
    /// Which one.
    pub id: ChildId,
    /// The command, or the prompt of an ask, on one line.
    pub command: String,
    /// The word of its state, of a task or of an ask.
    pub state: String,
    /// The exit code of a task's command.
    pub exit_code: Option<i32>,
    /// The signal that ended a task's command.
    pub signal: Option<i32>,
    /// How long it took, in milliseconds; none while it goes on.
    pub duration_ms: Option<i64>,
    /// The run that carries a task's latest attempt.
    pub run: Option<RunId>,
    /// The final of an ask.
    pub final_text: Option<String>,
    /// As `core` sees it.
    pub child: Child,
}

/// The children of an ask, in the order of their beginning.
pub(crate) fn children_of(db: &Db, id: &AskId) -> Result<Vec<ChildView>, SqlError> {
    let mut all = Vec::new();
    for row in tasks::joined_to(db, id)? {
        if let Some(attempt) = attempts::latest(db, &row.task.id)? {
            all.push((row.created_ms, child_of_task(&row, attempt)));
        }
    }
    for row in asks::joined_to(db, id)? {
        all.push((row.created_ms, child_of_ask(row)));
    }
    all.sort_by_key(|(created_ms, _)| *created_ms);
    Ok(all.into_iter().map(|(_, child)| child).collect())
}

fn child_of_task(row: &TaskRow, attempt: AttemptRow) -> ChildView {
    let (word, end) = match &attempt.state {
        task::State::AwaitingApproval => ("awaiting_approval", None),
        task::State::Queued => ("queued", None),
        task::State::Starting => ("starting", None),
        task::State::Running => ("running", None),
        task::State::Succeeded => ("succeeded", Some(ChildEnd::Succeeded)),
        task::State::Failed(_) => ("failed", Some(ChildEnd::Failed)),
        task::State::TimedOut => ("timed_out", Some(ChildEnd::TimedOut)),
        task::State::Cancelled { .. } => ("cancelled", Some(ChildEnd::Cancelled)),
        task::State::Lost(_) => ("lost", Some(ChildEnd::Lost)),
    };
    let (exit_code, signal) = match &attempt.state {
        task::State::Succeeded => (Some(0), None),
        task::State::Failed(task::Failure::Exit(code)) => (Some(*code), None),
        task::State::Failed(task::Failure::Signal(signal)) => (None, Some(*signal)),
        task::State::AwaitingApproval
        | task::State::Queued
        | task::State::Starting
        | task::State::Running
        | task::State::TimedOut
        | task::State::Cancelled { .. }
        | task::State::Lost(_)
        | task::State::Failed(task::Failure::NotStarted { .. } | task::Failure::SystemStop) => (None, None),
    };
    let how = task::in_words(&attempt.state).unwrap_or_else(|| "goes on".to_owned());
    let id = ChildId::Task(row.task.id.clone());
    ChildView {
        child: Child {
            id: id.clone(),
            end,
            excused: row.seen_attempt >= attempt.number,
            words: format!("task {:?} ({}) {how}", row.task.title, row.task.id),
        },
        id,
        command: row.task.title.clone(),
        state: word.to_owned(),
        exit_code,
        signal,
        duration_ms: attempt.ended_ms.map(|end| (end - attempt.started_ms.unwrap_or(end)).max(0)),
        run: attempt.run,
        final_text: None,
    }
}

fn child_of_ask(row: AskRow) -> ChildView {
    let (word, end, how) = match &row.state {
        State::Open => ("open", None, "goes on".to_owned()),
        State::PendingFinal { .. } => ("pending_final", None, "goes on".to_owned()),
        State::Answered { .. } => ("answered", Some(ChildEnd::Succeeded), "was answered".to_owned()),
        State::Failed { reason, .. } => ("failed", Some(ChildEnd::Failed), format!("failed: {reason}")),
        State::Cancelled { reason, .. } => {
            ("cancelled", Some(ChildEnd::Cancelled), format!("was cancelled: {reason}"))
        }
        State::TimedOut { reason, .. } => {
            ("timed_out", Some(ChildEnd::TimedOut), format!("timed out: {reason}"))
        }
    };
    let id = ChildId::Ask(row.id.clone());
    ChildView {
        child: Child {
            id: id.clone(),
            end,
            excused: row.seen,
            words: format!("the ask to {} ({}) {how}", row.callee_name, row.id),
        },
        id,
        command: one_line(&row.prompt),
        state: word.to_owned(),
        exit_code: None,
        signal: None,
        duration_ms: row.ended_ms.map(|end| (end - row.created_ms).max(0)),
        run: None,
        final_text: final_of(&row.state).map(str::to_owned),
    }
}

/// The final of an ask, also one that waits or was not enough.
pub fn final_of(state: &State) -> Option<&str> {
    match state {
        State::Open => None,
        State::PendingFinal { text, .. } | State::Answered { text } => Some(text),
        State::Failed { text, .. } | State::Cancelled { text, .. } | State::TimedOut { text, .. } => {
            text.as_deref()
        }
    }
}

/// Why an ask ended without an answer.
pub fn reason_of(state: &State) -> Option<&str> {
    match state {
        State::Open | State::PendingFinal { .. } | State::Answered { .. } => None,
        State::Failed { reason, .. } | State::Cancelled { reason, .. } | State::TimedOut { reason, .. } => {
            Some(reason)
        }
    }
}

/// A text for a list: one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    plain::plain(text).chars().take(limits::TITLE_MAX_CHARS).collect::<String>().trim().to_owned()
}

/// An ask with everything that decides about it.
pub(crate) fn load(db: &Db, id: &AskId) -> Result<Option<(AskRow, Ask)>, SqlError> {
    let Some(row) = asks::get(db, id)? else { return Ok(None) };
    let children = children_of(db, id)?.into_iter().map(|view| view.child).collect();
    let goes_on = |state: &turn::State| match state {
        turn::State::Queued | turn::State::Starting | turn::State::Running => true,
        turn::State::Interrupted { resume, .. } => *resume,
        turn::State::Final { .. } | turn::State::Failed { .. } | turn::State::Limited { .. } => false,
    };
    let has_turn = turns::of_ask(db, id)?.iter().any(|turn| goes_on(&turn.state));
    let ask = Ask {
        state: row.state.clone(),
        follow_up: row.follow_up,
        children,
        has_turn,
        delivered: row.delivered.is_some(),
    };
    Ok(Some((row, ask)))
}

impl MainLoop {
    /// Compute, commit, act: one step of one ask.
    pub(crate) fn step_ask(&mut self, id: &AskId, event: Event) -> Result<(), Error> {
        let Some((row, ask)) = self.store.read(|db| load(db, id))? else { return Ok(()) };
        let (state, effects) = match ask::step(&ask, event) {
            Ok(step) => step,
            Err(rejected) => {
                tracing::debug!(ask = %id, ?rejected, "an event came late");
                // What came late may be something that an ask which is over still has to end.
                return self.act_on_ask(&row, &ask::due(&ask));
            }
        };
        if state != row.state && !self.commit_ask(&row, &state, &effects)? {
            return Ok(());
        }
        let row = AskRow { state, ..row };
        self.act_on_ask(&row, &effects)?;
        if row.state.is_terminal() {
            // A child's end is an event of its ask; it never wakes anybody by itself.
            if let Some(parent) = row.joined_ask.clone() {
                self.child_changed(Some(&parent), now_ms())?;
            }
        }
        Ok(())
    }

    /// Writes the edge, and in the same transaction what must never be missing beside it.
    fn commit_ask(&mut self, row: &AskRow, state: &State, effects: &[Effect]) -> Result<bool, Error> {
        let follow_up = match effects.contains(&Effect::ReserveFollowUp) {
            true => row.callee.clone().map(|callee| -> Result<_, Error> {
                let prompt = self.follow_up_prompt(row)?;
                Ok(crate::turns::queued(
                    callee,
                    row.project.clone(),
                    Some(row.id.clone()),
                    Kind::FollowUp,
                    prompt,
                ))
            }),
            false => None,
        };
        let follow_up = follow_up.transpose()?;
        self.marks.push(if state.is_terminal() { "ask over" } else { "final pending" });
        let done = self.store.write(|tx| {
            if !asks::set_state(tx, row, state, now_ms())? {
                return Ok(false);
            }
            if let Some(turn) = &follow_up {
                turns::insert_queued(tx, turn)?;
            }
            if state.is_terminal()
                && let Some(received) = messages::received(tx, row.id.as_str())?
                && received.state == message::State::Pending
            {
                let why = "the ask was over before its turn".to_owned();
                messages::set_state(tx, &received, &message::State::Undeliverable { why }, false)?;
            }
            Ok(true)
        })?;
        Ok(done)
    }

    pub(crate) fn act_on_ask(&mut self, row: &AskRow, effects: &[Effect]) -> Result<(), Error> {
        for effect in effects {
            match effect {
                Effect::ReserveFollowUp => {
                    if let Some(callee) = row.callee.clone() {
                        self.next_turn(&callee);
                    }
                }
                Effect::EndTurn => self.end_turns_of(row)?,
                Effect::CancelChildren => self.cancel_children_of(row)?,
                Effect::Deliver => self.deliver(row)?,
            }
        }
        Ok(())
    }

    fn cancel_children_of(&mut self, row: &AskRow) -> Result<(), Error> {
        for child in self.store.read(|db| children_of(db, &row.id))? {
            match &child.id {
                _ if child.child.end.is_some() => {}
                ChildId::Task(id) => {
                    if let Some(attempt) = self.store.read(|db| attempts::latest(db, id))? {
                        self.cancel_attempt(attempt, BY_ASK)?;
                    }
                }
                ChildId::Ask(id) => {
                    let by = "the ask that it belongs to, which is over".to_owned();
                    self.step_ask(id, Event::CancelRequested { by })?;
                }
            }
        }
        Ok(())
    }

    /// What the callee is told after its final had to wait.
    fn follow_up_prompt(&self, row: &AskRow) -> Result<String, Error> {
        let mut text = format!(
            "The work that you started for the ask {} has ended. Give your final answer now; it replaces the one that you gave before.\n",
            row.id
        );
        text.push_str(&self.children_in_words(row)?);
        Ok(text)
    }

    /// The children of an ask with the ends of their output, one block each.
    pub(crate) fn children_in_words(&self, row: &AskRow) -> Result<String, Error> {
        let mut text = String::new();
        for view in self.store.read(|db| children_of(db, &row.id))? {
            text.push_str(&format!("\n- {}\n", view.child.words));
            let tail = match (&view.run, &view.final_text) {
                (Some(run), _) => self.world().tail_of(run, limits::CHILD_TAIL_BYTES),
                (None, Some(text)) => text.clone(),
                (None, None) => String::new(),
            };
            for line in tail.lines() {
                text.push_str(&format!("    {line}\n"));
            }
        }
        Ok(text)
    }

    /// The time of an ask has come.
    pub(crate) fn deadline(&mut self, id: &AskId) -> Result<(), Error> {
        self.step_ask(id, Event::DeadlinePassed)
    }

    /// An agent goes: what it asked and was asked ends, and what waits for it is shown as it is.
    pub(crate) fn end_asks_of(&mut self, agent: &carillon_core::words::Agent) -> Result<(), Error> {
        let who = format!("the agent {:?}", agent.name);
        for row in self.store.read(|db| asks::going_on_with(db, &agent.id))? {
            self.step_ask(&row.id, Event::AgentRemoved { who: who.clone() })?;
        }
        let why = format!("{who} was removed");
        self.store.write(|tx| messages::withdraw_all_of(tx, &agent.id, &why))?;
        Ok(())
    }

    /// What a boot does about asks, once the runs are known: deadlines that passed, finals that wait,
    /// and what an ended ask still owes.
    pub(crate) fn recover_asks(&mut self) -> Result<(), Error> {
        let now = now_ms();
        let stays = |error: Error, id: &AskId| tracing::error!(%error, ask = %id, "an ask stays as it is; the next start looks at it again");
        for row in self.store.read(asks::going_on)? {
            let event = match row.deadline_ms {
                Some(at) if at <= now => Event::DeadlinePassed,
                Some(at) => {
                    self.timers.set(at, crate::timers::Timer::Deadline(row.id.clone()));
                    Event::ChildrenChanged
                }
                None => Event::ChildrenChanged,
            };
            let id = &row.id;
            self.wholly(|this| this.step_ask(id, event)).unwrap_or_else(|error| stays(error, id));
        }
        // What an ask that is over still owes may be nothing but the end of its turn.
        let over = self.store.read(asks::not_cleared_up)?;
        for row in over.into_iter().chain(self.store.read(asks::to_deliver)?) {
            let owed = self.wholly(|this| match this.store.read(|db| load(db, &row.id))? {
                Some((row, ask)) => this.act_on_ask(&row, &ask::due(&ask)),
                None => Ok(()),
            });
            owed.unwrap_or_else(|error| stays(error, &row.id));
        }
        self.settle_calls()?;
        self.turns_may_begin = true;
        let waiting = self.store.read(turns::agents_in_line)?;
        for agent in waiting.into_iter().chain(self.store.read(messages::agents_that_wait)?) {
            self.next_turn(&agent);
        }
        Ok(())
    }

    /// The name of an agent, for sentences.
    pub(crate) fn name_of(&self, id: &carillon_core::id::AgentId) -> String {
        let agent = self.store.read(|db| agents::get(db, id)).ok().flatten();
        agent.map_or_else(|| id.to_string(), |agent| agent.name)
    }
}
