//! Turns of agents in terminals: when one begins, how its prompt is handed over, and what a boot does
//! about one that was on its way. Its end comes from the program alone.

use carillon_core::id::{RunId, TurnId};
use carillon_core::run;
use carillon_core::turn::{End, State};
use carillon_core::words::{Agent, Mode};
use carillon_store::runs::{self, RunRow};
use carillon_store::turns::{self, TurnRow};
use carillon_store::{agents, messages, profiles};

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::turns::Chosen;
use crate::world::{Facts, OrderIo};

/// A terminal that nobody has looked at yet.
const SIZE_UNSEEN: OrderIo = OrderIo::Terminal { cols: 80, rows: 24 };

/// Why an agent in a terminal cannot be asked.
const TELLS_NOTHING: &str =
    "the agent works in a terminal and does not tell when its turn ends; a headless agent can be asked";

impl MainLoop {
    pub(crate) fn next_turn_in_terminal(&mut self, agent: &Agent, run: &RunRow) -> Result<(), Error> {
        if run.state != run::State::Running {
            return Ok(());
        }
        let queued = self.store.read(|db| turns::queued_of(db, &agent.id))?;
        let (pending, _) = self.store.read(|db| messages::waiting_for(db, &agent.id))?;
        if queued == 0 && pending == 0 {
            return Ok(());
        }
        let facts = self.world().terminal_facts(&run.id);
        if facts.typing || facts.busy {
            // It may sit on a question of its own, also before its first turn.
            self.look_for_questions_later(&run.id);
            let run = run.id.clone();
            self.act_later(move |world, report| world.watch_terminal(&run, report.clone()));
            return Ok(());
        }
        let Some(chosen) = self.choose(agent, true, facts.typing)? else { return Ok(()) };
        if chosen.turn.ask.is_some() && !facts.tells_ends {
            let reason = TELLS_NOTHING.to_owned();
            return self.end_turn(chosen.turn, End::Failed { reason }, now_ms());
        }
        self.begin_in_terminal(run, chosen)
    }

    fn begin_in_terminal(&mut self, run: &RunRow, chosen: Chosen) -> Result<(), Error> {
        self.commit_claim(&chosen, &run.id, None)?;
        let (run, id, prompt) = (run.id.clone(), chosen.turn.id, chosen.turn.prompt);
        self.act_later(move |world, report| world.hand_over(&run, &id, prompt, report.clone()));
        Ok(())
    }

    /// Starts the terminal of an agent that is asked and is not there.
    pub(crate) fn start_terminal(&mut self, agent: &Agent) -> Result<(), Error> {
        let (run, order) = self.order_of(agent, "", SIZE_UNSEEN);
        self.store.write(|tx| runs::insert_starting(tx, &run))?;
        match order {
            Ok(order) => self.act_later(move |world, report| world.launch(order, report.clone())),
            Err(message) => {
                self.advance(&run.id, run::Event::LaunchFailed { message }, &Facts::default())?;
            }
        }
        Ok(())
    }

    /// The program of a terminal is asked to break off; what it says to that is no answer any more.
    pub(crate) fn break_off_turn(&mut self, agent: &Agent, turn: &TurnRow, run: RunId) -> Result<(), Error> {
        let all = self.store.read(profiles::list)?;
        let adapter = all.into_iter().find(|p| p.id == agent.profile).map(|p| p.adapter).unwrap_or_default();
        self.act_later(move |world, _| world.interrupt(&run, &adapter));
        let reason = "its ask is over".to_owned();
        self.end_turn(turn.clone(), End::Interrupted { reason, resume: false }, now_ms())
    }

    /// A prompt was typed into a terminal, or could not be.
    pub(crate) fn handed_over(&mut self, id: &TurnId, result: Result<(), String>) -> Result<(), Error> {
        self.with_turn(id, |this, turn| match result {
            Ok(()) => this.after_hand_over(turn),
            Err(reason) => this.end_turn(turn, End::Failed { reason }, now_ms()),
        })
    }

    /// The terminal was taken when the prompt was to be typed: the turn waits again.
    pub(crate) fn hand_over_postponed(&mut self, id: &TurnId) -> Result<(), Error> {
        self.with_turn(id, |this, turn| this.begin_again(&turn))
    }

    /// Does something about a turn that is on its way.
    fn with_turn(
        &mut self,
        id: &TurnId,
        work: impl FnOnce(&mut Self, TurnRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self.store.read(|db| turns::get(db, id))? {
            Some(turn) if turn.state == State::Starting => work(self, turn),
            Some(_) | None => Ok(()),
        }
    }

    fn after_hand_over(&mut self, turn: TurnRow) -> Result<(), Error> {
        let now = now_ms();
        self.store.write(|tx| turns::set_running(tx, &turn, now))?;
        let Some(run) = turn.run.clone() else { return Ok(()) };
        let turn = TurnRow { state: State::Running, started_ms: Some(now), ..turn };
        if self.world().terminal_facts(&run).tells_ends {
            self.look_for_questions_later(&run);
            return Ok(());
        }
        match turn.ask {
            // Nobody will say when it is over: handing it over is all that can be done.
            None => self.end_turn(turn, End::Final { text: String::new() }, now),
            Some(_) => self.end_turn(turn, End::Failed { reason: TELLS_NOTHING.to_owned() }, now),
        }
    }

    /// The program of a terminal has told that a turn is over. It may be faster than the report that
    /// its prompt was sent off. `hook`: the id of what it told, remembered with the end of the turn.
    pub(crate) fn turn_ended_in_terminal(
        &mut self,
        run: &RunId,
        end: End,
        hook: Option<&str>,
    ) -> Result<(), Error> {
        let Some(turn) = self.store.read(|db| turns::live_of_run(db, run))? else {
            return self.turn_of_users_ended(run, end);
        };
        let mut turn = match turn.started_ms {
            Some(_) => turn,
            None if !self.world().was_handed_over(run, &turn.id) => {
                return self.turn_of_users_ended(run, end);
            }
            None => {
                let now = now_ms();
                self.store.write(|tx| turns::set_running(tx, &turn, now))?;
                TurnRow { state: State::Running, started_ms: Some(now), ..turn }
            }
        };
        turn.closing.hook = hook.map(str::to_owned);
        self.end_turn(turn, end, now_ms())
    }

    /// A limit is the account's, whoever has met it; else it is nothing of ours.
    fn turn_of_users_ended(&mut self, run: &RunId, end: End) -> Result<(), Error> {
        match end {
            End::Limited { reason, until_ms } => self.note_limit_of_run(run, reason, until_ms),
            End::Final { .. } | End::Failed { .. } | End::Interrupted { .. } => Ok(()),
        }
    }

    /// Ends the turn that the user of a terminal has broken off by a key. Most programs do not tell of that.
    pub(crate) fn end_broken_off(&mut self, run: &RunId) -> Result<(), Error> {
        let turn = self.store.read(|db| turns::live_of_run(db, run))?;
        let Some(turn) = turn.filter(|turn| turn.state == State::Running) else { return Ok(()) };
        let reason = "it was broken off in its terminal".to_owned();
        self.end_turn(turn, End::Interrupted { reason, resume: false }, now_ms())
    }

    /// As [`MainLoop::end_broken_off`], once the program has gone quiet.
    fn look_after_broken_off(&mut self, run: &RunId) -> Result<(), Error> {
        let facts = self.world().terminal_facts(run);
        match (facts.typing, facts.busy) {
            _ if !facts.broken_off => Ok(()),
            (false, false) => self.end_broken_off(run),
            (false, true) => {
                let run = run.clone();
                self.act_later(move |world, report| world.watch_terminal(&run, report.clone()));
                Ok(())
            }
            // What he types tells more when it is sent off.
            (true, _) => Ok(()),
        }
    }

    /// A terminal may be free for what waits.
    pub(crate) fn terminal_changed(&mut self, run: &RunId) -> Result<(), Error> {
        self.look_after_broken_off(run)?;
        if let Some(agent) = self.store.read(|db| runs::get(db, run))?.and_then(|row| row.agent) {
            self.next_turn(&agent);
        }
        Ok(())
    }

    /// A prompt that was being typed when the engine went away: the pieces that had arrived are known
    /// by their ids, so the same hand-over types the rest.
    pub(crate) fn hand_over_again(&mut self, turn: &TurnRow) -> Result<(), Error> {
        let agent = self.store.read(|db| agents::get(db, &turn.agent))?;
        let in_terminal = agent.is_some_and(|agent| agent.mode == Mode::Terminal);
        if let (true, State::Starting, Some(run)) = (in_terminal, &turn.state, turn.run.clone()) {
            let (id, prompt) = (turn.id.clone(), turn.prompt.clone());
            self.act_later(move |world, report| world.hand_over(&run, &id, prompt, report.clone()));
        }
        Ok(())
    }
}
