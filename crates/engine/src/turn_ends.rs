//! The ends of turns: what a run's state means for the turn that it carries, and a turn's end for its
//! messages, its ask and its agent. What a boot does about turns that were cut short.

use carillon_core::ask::{Event as AskEvent, TurnEnd};
use carillon_core::id::{AgentId, AskId, RunId};
use carillon_core::run::{self, Cause, LostWhy};
use carillon_core::turn::{self, End, Event, State};
use carillon_core::usage::SessionCount;
use carillon_core::words::{Agent, Mode};
use carillon_core::{limits, message};
use carillon_store::asks::AskRow;
use carillon_store::messages::{self, MessageRow};
use carillon_store::runs::{self, RunRow};
use carillon_store::turns::{self, Kind, TurnRow};
use carillon_store::{agents, asks, usage};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::turns::queued;
use crate::world::{Facts, TurnOutcome, Unread};

impl MainLoop {
    /// What a new state of a run means for the agent whose it is.
    pub(crate) fn advance_turn(
        &mut self,
        row: &RunRow,
        state: &run::State,
        facts: &Facts,
    ) -> Result<(), Error> {
        let Some(agent) = &row.agent else { return Ok(()) };
        let live = self.store.read(|db| turns::live_of_run(db, &row.id))?;
        let is_headless =
            self.store.read(|db| agents::get(db, agent))?.is_some_and(|agent| agent.mode == Mode::Headless);
        match (state, live) {
            (run::State::Starting, _) => {}
            (run::State::Running, Some(turn)) if is_headless => {
                let started_ms = facts.started_ms.unwrap_or_else(now_ms);
                self.store.write(|tx| turns::set_running(tx, &turn, started_ms))?;
                self.look_for_questions_later(&row.id);
            }
            (run::State::Running, _) => self.next_turn(agent),
            (run::State::Ended(_) | run::State::Lost(_), Some(turn)) => {
                let ended_ms = facts.ended_ms.unwrap_or_else(now_ms);
                self.end_turn_of_run(turn, row, state, ended_ms, is_headless)?;
            }
            (run::State::Ended(_) | run::State::Lost(_), None) => {
                self.fail_what_cannot_start(agent, row, state, facts)?;
                self.next_turn(agent);
            }
        }
        Ok(())
    }

    /// A terminal that could not be started answers nobody. One whose program ended before it took a turn has
    /// had its chance with what was in line for it by then: it is not started again and again for the same.
    fn fail_what_cannot_start(
        &mut self,
        agent: &AgentId,
        row: &RunRow,
        state: &run::State,
        facts: &Facts,
    ) -> Result<(), Error> {
        let reason = match state {
            run::State::Ended(ending) => match &ending.cause {
                Cause::SpawnFailed { message } => {
                    return self.fail_in_line(agent, message, |_, _| true);
                }
                Cause::Ended | Cause::TimedOut | Cause::OutputTooLarge => run::in_words(state),
                Cause::Stopped { .. } | Cause::SystemStop | Cause::NeverBegan => return Ok(()),
            },
            run::State::Lost(LostWhy::SupervisorGone) => Some("is gone without a word".to_owned()),
            run::State::Lost(LostWhy::Rebooted) | run::State::Starting | run::State::Running => return Ok(()),
        };
        if self.store.read(|db| turns::newest_of_run(db, &row.id))?.is_some() {
            return Ok(());
        }
        let began = facts.started_ms.or(row.started_ms);
        let ran_ms = facts.ended_ms.zip(began).map(|(ended, began)| ended.saturating_sub(began));
        // What cannot even be started is of no use to anybody in line; else the next one gets a start of its own.
        let could_not_start = ran_ms.is_none_or(|ms| ms < limits::FAILED_START_MS.cast_signed());
        let reason = format!("its program {} before it could be asked", reason.unwrap_or_default());
        self.fail_in_line(agent, &reason, |turn, place| {
            turn.created_ms <= row.created_ms && (place == 0 || could_not_start)
        })
    }

    /// Ends the turns in line with a failure, for as long as they are meant; each is told its place.
    fn fail_in_line(
        &mut self,
        agent: &AgentId,
        reason: &str,
        is_meant: impl Fn(&TurnRow, usize) -> bool,
    ) -> Result<(), Error> {
        for place in 0.. {
            let next = self.store.read(|db| turns::next_of(db, agent))?;
            let Some(turn) = next.filter(|turn| is_meant(turn, place)) else { break };
            self.end_turn(turn, End::Failed { reason: reason.to_owned() }, now_ms())?;
        }
        Ok(())
    }

    fn end_turn_of_run(
        &mut self,
        mut turn: TurnRow,
        row: &RunRow,
        state: &run::State,
        ended_ms: i64,
        is_headless: bool,
    ) -> Result<(), Error> {
        let was_executed = match state {
            run::State::Ended(ending) => {
                !matches!(ending.cause, Cause::SpawnFailed { .. } | Cause::NeverBegan)
            }
            run::State::Starting | run::State::Running | run::State::Lost(_) => true,
        };
        if is_headless && was_executed {
            // A program that ends at once may never have been heard of as begun.
            turn.started_ms = turn.started_ms.or(row.started_ms);
            self.note_session_of_cut_short(&turn, row, state, ended_ms)?;
        }
        let interrupted = |reason: &str, resume| End::Interrupted { reason: reason.to_owned(), resume };
        let end = match state {
            run::State::Starting | run::State::Running => return Ok(()),
            run::State::Lost(why) => {
                match (self.said_to_the_end(&mut turn, row, ended_ms, is_headless)?, why) {
                    (Some(end), _) => end,
                    (None, LostWhy::Rebooted) => interrupted("the machine was restarted", true),
                    (None, LostWhy::SupervisorGone) => End::Failed {
                        reason: "the agent's process is gone, and left no record of its end".to_owned(),
                    },
                }
            }
            run::State::Ended(ending) => match &ending.cause {
                Cause::NeverBegan => return self.begin_again(&turn),
                Cause::Stopped { by } if by == "app_exit" => interrupted("Carillon was quit", true),
                Cause::Stopped { by } if by == "user" => interrupted("the agent was stopped by you", false),
                Cause::Stopped { by } if by == run::TEMP_FULL => {
                    End::Failed { reason: run::in_words(state).unwrap_or_default() }
                }
                Cause::Stopped { .. } => interrupted(&run::in_words(state).unwrap_or_default(), false),
                Cause::SystemStop => interrupted("the system stopped the agent", true),
                Cause::TimedOut => End::Failed { reason: "the agent's time was up".to_owned() },
                Cause::SpawnFailed { message } => End::Failed { reason: message.clone() },
                Cause::OutputTooLarge => End::Failed {
                    reason: format!(
                        "output_too_large: the agent wrote more than {} MiB",
                        limits::TURN_OUTPUT_MAX_BYTES / (1024 * 1024)
                    ),
                },
                Cause::Ended if is_headless => match self.outcome_of(&mut turn, &row.id, ending, ended_ms)? {
                    Some(end) => end,
                    None => return Ok(()),
                },
                Cause::Ended => {
                    let how = run::in_words(state).unwrap_or_default();
                    End::Failed { reason: format!("the agent's program {how} in the middle of its turn") }
                }
            },
        };
        self.end_turn(turn, end, ended_ms)
    }

    /// Nothing of it was ever started, so it waits again; it is still the same turn.
    pub(crate) fn begin_again(&mut self, turn: &TurnRow) -> Result<(), Error> {
        match turn::step(&turn.state, Event::NeverBegan) {
            Ok((State::Queued, _)) => {
                let carried = self.store.read(|db| messages::claimed_by(db, &turn.id))?;
                self.store.write(|tx| {
                    turns::set_queued_again(tx, turn)?;
                    carried.iter().try_for_each(|row| {
                        let back = message::Event::TurnFailed { handed_over: false };
                        match message::step(&row.state, back) {
                            Ok((state, repeats)) => messages::set_state(tx, row, &state, repeats).map(drop),
                            Err(_) => Ok(()),
                        }
                    })?;
                    // The messages of a wake are chosen anew.
                    if turn.kind == Kind::Wake {
                        let none = State::Interrupted { reason: "it never began".to_owned(), resume: false };
                        turns::set_over(tx, turn, &none, now_ms())?;
                    }
                    Ok(())
                })?;
                self.next_turn(&turn.agent.clone());
                Ok(())
            }
            Ok(_) | Err(_) => {
                let reason = "nothing is known of its end".to_owned();
                self.end_turn(turn.clone(), End::Interrupted { reason, resume: false }, now_ms())
            }
        }
    }

    /// Reads what a headless turn came to; `None` when it is tried once more without its session.
    fn outcome_of(
        &mut self,
        turn: &mut TurnRow,
        run: &RunId,
        ending: &run::Ending,
        ended_ms: i64,
    ) -> Result<Option<End>, Error> {
        let Some(agent) = self.store.read(|db| agents::get(db, &turn.agent))? else {
            return Ok(Some(End::Failed { reason: "the agent was removed".to_owned() }));
        };
        let adapter = self.adapter_of(&agent)?;
        let outcome = match self.world().turn_outcome(run, &adapter, Some(ending), ended_ms) {
            Ok(outcome) => outcome,
            Err(unread) => {
                return Ok(Some(End::Failed { reason: self.why_unread(run, unread)? }));
            }
        };
        self.unread.remove(run);
        self.count_usage(turn, &agent, &outcome)?;
        if outcome.session_unknown && turn.prompt == CONTINUE {
            // To go on is all that it was told, and a new session knows nothing to go on with.
            self.store.write(|tx| agents::set_session(tx, &agent, None))?;
            let reason = "interrupted, and the agent's program does not know its session any more".to_owned();
            return Ok(Some(End::Failed { reason }));
        }
        if outcome.session_unknown && agent.session_id.is_some() {
            // Its program has forgotten the session: the same turn once more, in a new one.
            let again = TurnRow {
                kind: Kind::Resume,
                ..queued(
                    turn.agent.clone(),
                    turn.project.clone(),
                    turn.ask.clone(),
                    Kind::Resume,
                    turn.prompt.clone(),
                )
            };
            self.store.write(|tx| {
                agents::set_session(tx, &agent, None)?;
                if turn.ask.is_some() {
                    turns::insert_queued(tx, &again)?;
                }
                Ok(())
            })?;
            let reason = "the agent's program does not know its session any more".to_owned();
            self.finish(turn, State::Failed { reason }, ended_ms, false)?;
            self.next_turn(&agent.id);
            return Ok(None);
        }
        if outcome.session.is_some() && outcome.session != agent.session_id {
            self.store.write(|tx| agents::set_session(tx, &agent, outcome.session.as_deref()))?;
        }
        Ok(Some(outcome.end))
    }

    /// Why what a turn said will never be known; an error while it may be known yet, so that the end of its run is
    /// taken up again.
    fn why_unread(&mut self, run: &RunId, unread: Unread) -> Result<String, Error> {
        let message = match unread {
            Unread::Lost(message) => message,
            Unread::NotNow(message) => {
                let tries = self.unread.entry(run.clone()).or_default();
                *tries += 1;
                if *tries < limits::OUTCOME_TRIES {
                    return Err(Error::failed(message, "it is tried again"));
                }
                message
            }
        };
        self.unread.remove(run);
        Ok(format!("what the agent said cannot be read: {message}"))
    }

    /// What the turn itself used. A program that counts the whole conversation is believed for what is new in
    /// it; how far that goes is committed with the end of the turn, so that nothing is counted twice or left out.
    pub(crate) fn count_usage(
        &self,
        turn: &mut TurnRow,
        agent: &Agent,
        outcome: &TurnOutcome,
    ) -> Result<(), Error> {
        let session = outcome.session.as_ref().or(agent.session_id.as_ref());
        let (true, Some(session)) = (outcome.usage_of_session, session) else {
            turn.usage = outcome.usage.of_turn();
            return Ok(());
        };
        let counted = self.store.read(|db| usage::counted(db, &agent.id, session))?;
        let told = outcome.usage.of_session();
        turn.usage = told.since(counted).of_turn();
        let usage = told.counted_with(counted);
        turn.closing.session_count = Some(SessionCount { session: session.clone(), usage });
        Ok(())
    }

    /// The end of a turn, for its messages, its ask and its agent: one commit.
    pub(crate) fn end_turn(&mut self, turn: TurnRow, end: End, ended_ms: i64) -> Result<(), Error> {
        let event = match turn.state {
            State::Queued => Event::Dropped { reason: reason_of(&end) },
            State::Starting
            | State::Running
            | State::Final { .. }
            | State::Failed { .. }
            | State::Interrupted { .. }
            | State::Limited { .. } => Event::Over(end.clone()),
        };
        let Ok((state, _)) = turn::step(&turn.state, event) else {
            tracing::debug!(turn = %turn.id, "the end of a turn came late");
            return Ok(());
        };
        let handed_over = turn.started_ms.is_some()
            || turn.state == State::Running
            || turn.run.as_ref().is_some_and(|run| self.world().was_handed_over(run, &turn.id));
        self.marks.push("turn over");
        self.finish(&turn, state, ended_ms, handed_over)?;
        self.note_wake(&turn, &end)?;
        self.note_limit(&turn, &end)?;
        if let Some(ask) = turn.ask.clone() {
            self.tell_ask(&ask, &turn, end, ended_ms)?;
        }
        self.next_turn(&turn.agent);
        Ok(())
    }

    pub(crate) fn finish(
        &mut self,
        turn: &TurnRow,
        state: State,
        ended_ms: i64,
        handed_over: bool,
    ) -> Result<(), Error> {
        let carried = self.store.read(|db| messages::claimed_by(db, &turn.id))?;
        let event = |row: &MessageRow| match &state {
            State::Final { .. } => message::Event::TurnOver,
            // An ask that failed has been received all the same.
            _ if row.kind == messages::Kind::AskReceived => message::Event::TurnOver,
            State::Queued
            | State::Starting
            | State::Running
            | State::Failed { .. }
            | State::Interrupted { .. }
            | State::Limited { .. } => message::Event::TurnFailed { handed_over },
        };
        self.store.write(|tx| {
            turns::set_over(tx, turn, &state, ended_ms)?;
            for row in &carried {
                if let Ok((state, repeats)) = message::step(&row.state, event(row)) {
                    messages::set_state(tx, row, &state, repeats)?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn tell_ask(&mut self, ask: &AskId, turn: &TurnRow, end: End, ended_ms: i64) -> Result<(), Error> {
        // What happened first stands, also when both are heard of at once.
        let deadline = self.store.read(|db| asks::get(db, ask))?.and_then(|row| row.deadline_ms);
        if deadline.is_some_and(|deadline| deadline < ended_ms) {
            return self.step_ask(ask, AskEvent::DeadlinePassed);
        }
        let end = match end {
            End::Final { text } if text.trim().is_empty() => TurnEnd::NoAnswer,
            End::Final { text } => TurnEnd::Final(text),
            End::Failed { reason } | End::Interrupted { reason, resume: false } => TurnEnd::Failed { reason },
            // The next start goes on with it where the agent's program can.
            End::Interrupted { resume: true, .. } => return Ok(()),
            End::Limited { .. } => return self.wait_for_limit(turn),
        };
        self.step_ask(ask, AskEvent::TurnOver(end))
    }

    /// Ends the turns that serve an ask which is over.
    pub(crate) fn end_turns_of(&mut self, row: &AskRow) -> Result<(), Error> {
        for turn in self.store.read(|db| turns::of_ask(db, &row.id))? {
            match (&turn.state, &turn.run) {
                (State::Queued, _) => {
                    let reason = "its ask is over".to_owned();
                    self.finish(&turn, State::Interrupted { reason, resume: false }, now_ms(), false)?;
                    self.next_turn(&turn.agent.clone());
                }
                (State::Starting | State::Running, Some(run)) => self.stop_turn(&turn, run.clone())?,
                (State::Interrupted { resume: true, .. }, _) => {
                    self.store.write(|tx| turns::set_resumed(tx, &turn))?;
                }
                (
                    State::Starting
                    | State::Running
                    | State::Final { .. }
                    | State::Failed { .. }
                    | State::Interrupted { .. }
                    | State::Limited { .. },
                    _,
                ) => {}
            }
        }
        Ok(())
    }

    /// A headless turn goes with its process; in a terminal its program is asked to break off.
    fn stop_turn(&mut self, turn: &TurnRow, run: RunId) -> Result<(), Error> {
        let Some(agent) = self.store.read(|db| agents::get(db, &turn.agent))? else { return Ok(()) };
        if agent.mode == Mode::Terminal {
            return self.break_off_turn(&agent, turn, run);
        }
        self.act_later(move |world, _| {
            world.stop(&run, crate::asks::BY_ASK);
        });
        Ok(())
    }

    /// What a boot does about turns that were cut short: they are gone on with where the agent's
    /// program can, and else their ask ends with a clear failure.
    pub(crate) fn recover_turns(&mut self) -> Result<(), Error> {
        let stays = |error: Error, turn: &TurnRow| tracing::error!(%error, turn = %turn.id, "a turn that was cut short stays as it is");
        for turn in self.store.read(turns::live)? {
            self.wholly(|this| this.recover_turn(&turn)).unwrap_or_else(|error| stays(error, &turn));
        }
        for turn in self.store.read(turns::to_resume)? {
            self.wholly(|this| this.resume(&turn)).unwrap_or_else(|error| stays(error, &turn));
        }
        Ok(())
    }

    fn recover_turn(&mut self, turn: &TurnRow) -> Result<(), Error> {
        let run = match &turn.run {
            Some(run) => self.store.read(|db| runs::get(db, run))?,
            None => None,
        };
        match run {
            Some(row) if !row.state.is_terminal() => {
                self.look_for_questions_later(&row.id);
                self.hand_over_again(turn)
            }
            Some(row) => self.advance_turn(&row, &row.state.clone(), &Facts::default()),
            None => self.begin_again(turn),
        }
    }

    fn resume(&mut self, turn: &TurnRow) -> Result<(), Error> {
        self.store.write(|tx| turns::set_resumed(tx, turn))?;
        let (Some(ask), Some(agent)) =
            (turn.ask.clone(), self.store.read(|db| agents::get(db, &turn.agent))?)
        else {
            return Ok(());
        };
        let never_began = turn.started_ms.is_none();
        let State::Interrupted { reason, .. } = &turn.state else { return Ok(()) };
        if never_began || agent.session_id.is_some() {
            let prompt = if never_began { turn.prompt.clone() } else { CONTINUE.to_owned() };
            let again = queued(agent.id.clone(), turn.project.clone(), Some(ask), Kind::Resume, prompt);
            self.store.write(|tx| turns::insert_queued(tx, &again))?;
            return Ok(());
        }
        let reason = format!("interrupted: {reason}, and the agent's program cannot go on where it was");
        self.step_ask(&ask, AskEvent::TurnOver(TurnEnd::Failed { reason }))
    }

    /// An agent that is to stay down does nothing of what stands in line.
    pub(crate) fn drop_turns_of(&mut self, agent: &Agent, by: &str) -> Result<(), Error> {
        let reason = match by {
            "user" => format!("the agent {:?} was stopped by you", agent.name),
            _ => format!("the agent {:?} was removed", agent.name),
        };
        while let Some(turn) = self.store.read(|db| turns::next_of(db, &agent.id))? {
            self.end_turn(turn, End::Interrupted { reason: reason.clone(), resume: false }, now_ms())?;
        }
        Ok(())
    }

    /// How many run directories an agent keeps.
    pub(crate) fn runs_kept(&self, agent: &AgentId) -> usize {
        match self.store.read(|db| agents::get(db, agent)) {
            Ok(Some(agent)) if agent.mode == Mode::Headless => limits::TURN_RUNS_KEPT,
            Ok(_) | Err(_) => limits::RUNS_KEPT_PER_AGENT,
        }
    }
}

/// What an agent is told whose turn was cut short.
pub(crate) const CONTINUE: &str =
    "Your turn was cut short. Go on where you were, and give your final answer.";

fn reason_of(end: &End) -> String {
    match end {
        End::Final { .. } => "it is not needed any more".to_owned(),
        End::Failed { reason } | End::Interrupted { reason, .. } | End::Limited { reason, .. } => {
            reason.clone()
        }
    }
}
