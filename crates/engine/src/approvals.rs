//! Commands of agents that wait for the user's word.

use carillon_core::id::ApprovalId;
use carillon_core::limits;
use carillon_core::policy::{self, Verdict};
use carillon_core::task::{Event, State};
use carillon_core::words::Agent;
use carillon_store::approvals::{self, ApprovalRow};
use carillon_store::attempts::{self, AttemptRow};
use carillon_store::profiles;

use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::timers::Timer;

impl MainLoop {
    /// The state that a command of an agent begins in, or why it is refused.
    pub(crate) fn first_state(&self, agent: Option<&Agent>, command: &[String]) -> Result<State, Error> {
        let Some(agent) = agent else { return Ok(State::Queued) };
        let all = self.store.read(profiles::list)?;
        let Some(profile) = all.into_iter().find(|profile| profile.id == agent.profile) else {
            return Ok(State::Queued);
        };
        match policy::decide(profile.policy, &profile.allow_prefixes, command) {
            Verdict::Run => Ok(State::Queued),
            Verdict::Ask => Ok(State::AwaitingApproval),
            Verdict::Refuse => {
                let message = format!(
                    "agents of the profile {:?} may not run commands in the background",
                    profile.name
                );
                Err(Error::refused(message, "the user sets the policy of a profile"))
            }
        }
    }

    /// The approval that an attempt waits for, for the transaction that adds it.
    pub(crate) fn approval_for(&self, attempt: &AttemptRow, agent: Option<&Agent>) -> Option<ApprovalRow> {
        (attempt.state == State::AwaitingApproval).then(|| ApprovalRow {
            id: ApprovalId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            task: attempt.task.clone(),
            attempt: attempt.number,
            agent: agent.map(|agent| agent.id.clone()),
            state: approvals::State::Pending,
            created_ms: attempt.created_ms,
            until_ms: attempt.created_ms + limits::APPROVAL_MAX_MS,
        })
    }

    /// The word of the user, or of the clock.
    pub(crate) fn decide_approval(&mut self, id: &ApprovalId, word: approvals::State) -> Result<(), Error> {
        let Some(row) = self.store.read(|db| approvals::get(db, id))? else { return Ok(()) };
        let Some(attempt) = self.store.read(|db| attempts::latest(db, &row.task))? else { return Ok(()) };
        let is_of = attempt.number == row.attempt && attempt.state == State::AwaitingApproval;
        let project = attempt.project.to_string();
        if !self.store.write(|tx| approvals::decide(tx, &row, word, now_ms(), &project))? || !is_of {
            return Ok(());
        }
        match word {
            approvals::State::Pending => Ok(()),
            approvals::State::Approved => self.step_attempt(&attempt, Event::Approved, now_ms()),
            approvals::State::Denied => self.cancel_attempt(attempt, "denied"),
            approvals::State::Expired => self.cancel_attempt(attempt, "approval_expired"),
        }
    }

    /// A task that is over waits for nobody's word.
    pub(crate) fn forget_approval(&mut self, attempt: &AttemptRow) -> Result<(), Error> {
        let row = self.store.read(|db| approvals::of_attempt(db, &attempt.task, attempt.number))?;
        if let Some(row) = row.filter(|row| row.state == approvals::State::Pending) {
            let project = attempt.project.to_string();
            self.store
                .write(|tx| approvals::decide(tx, &row, approvals::State::Expired, now_ms(), &project))?;
        }
        Ok(())
    }

    pub(crate) fn approval_due(&mut self, id: &ApprovalId) -> Result<(), Error> {
        self.decide_approval(id, approvals::State::Expired)
    }

    pub(crate) fn recover_approvals(&mut self) -> Result<(), Error> {
        for row in self.store.read(approvals::pending)? {
            self.timers.set(row.until_ms, Timer::Approval(row.id));
        }
        Ok(())
    }

    pub(crate) fn arm_approval(&mut self, row: &ApprovalRow) {
        self.timers.set(row.until_ms, Timer::Approval(row.id.clone()));
    }
}
