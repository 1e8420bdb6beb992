//! The queue of background tasks: who gets a slot, and what the end of a run means for its task.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use carillon_core::ask::Event as AskEvent;
use carillon_core::id::{AskId, MessageId, ProjectId, RunId};
use carillon_core::run::{Cause, Ending};
use carillon_core::task::{self, Effect, Event, State};
use carillon_core::{limits, message, run};
use carillon_store::attempts::{self, AttemptRow, Slots};
use carillon_store::messages::{self, MessageRow};
use carillon_store::runs::{self, RunRow};
use carillon_store::tasks::{self, TaskRow};
use carillon_store::{asks, projects, turns};

use crate::asks::BY_ASK;
use crate::error::Error;
use crate::main_loop::{MainLoop, now_ms};
use crate::rules;
use crate::wanted::Want;
use crate::world::{BaseEnv, Facts, LaunchOrder, OrderIo, What};

/// Runs whose task or turn waits for another one and lends it its slot, with how many waits are open.
pub(crate) type Lent = HashMap<RunId, usize>;

/// Size of a task's terminal that nobody looks at, in columns and rows.
const TTY: OrderIo = OrderIo::Terminal { cols: 120, rows: 40 };

/// How often the end of a task is a reason to look for old ones.
const RETIRE_EVERY: Duration = Duration::from_secs(600);

impl MainLoop {
    /// Sees to it that those in line get the free slots, in their order, before the next commit.
    pub(crate) fn fill_slots(&mut self, project: &ProjectId) {
        self.wanted.add(Want::Slot(project.clone()));
    }

    /// Gives a free slot to the first in line. There may be another one then.
    pub(crate) fn fill_slot(&mut self, project: &ProjectId) -> Result<(), Error> {
        if self.accepting && !self.vain_starts.rests(project) && self.claim_next(project)? {
            self.fill_slots(project);
        }
        Ok(())
    }

    /// As [`MainLoop::fill_slots`], for every project with somebody in line.
    pub(crate) fn fill_all_slots(&mut self) -> Result<(), Error> {
        for project in self.store.read(attempts::projects_in_line)? {
            self.fill_slots(&project);
        }
        Ok(())
    }

    /// Claims for the first in line and records its run, in one step; false when there is no slot or
    /// nobody in line.
    fn claim_next(&mut self, project: &ProjectId) -> Result<bool, Error> {
        let all = self.store.read(projects::list)?;
        let Some(root) = all.into_iter().find(|p| p.id == *project).map(|p| p.root) else { return Ok(false) };
        let rules = rules::for_tasks(root.as_ref()).unwrap_or_else(|error| {
            tracing::warn!(%error, "the defaults hold instead");
            rules::TaskRules::default()
        });
        let slots = Slots { project: rules.concurrent, owner: rules.per_owner() };
        let lent = self.lent_runs();
        let id = RunId::from_random(*uuid::Uuid::new_v4().as_bytes());
        let temp = self.temp_place(root.as_ref());
        let mut run = new_run(id, project);
        run.temp_path = temp.as_ref().ok().map(|temp| temp.path().to_string_lossy().into_owned());
        run.temp_held = temp.is_ok();
        let claimed = self.store.write(|tx| {
            let Some(attempt) = attempts::claim(tx, project, slots, &lent, &run.id)? else { return Ok(None) };
            let run = RunRow { task: Some(attempt.task.clone()), ..run.clone() };
            runs::insert_starting(tx, &run)?;
            Ok(tasks::get(tx, &attempt.task)?.map(|row| (row, attempt)))
        })?;
        let Some((row, _)) = claimed else { return Ok(false) };
        match temp {
            Ok(temp) => {
                let order = self.order(row, run.id, temp);
                self.act_later(move |world, report| world.launch(order, report.clone()));
            }
            Err(message) => self.advance(&run.id, run::Event::LaunchFailed { message }, &Facts::default())?,
        }
        Ok(true)
    }

    fn order(&self, row: tasks::TaskRow, run: RunId, temp: crate::world::TempPlace) -> LaunchOrder {
        let task = row.task;
        let mut ours = vec![
            ("CARILLON_RUN", run.to_string()),
            ("CARILLON_SOCKET", self.paths.socket.to_string_lossy().into_owned()),
        ];
        if let Some(owner) = &task.owner {
            ours.push(("CARILLON_AGENT", owner.to_string()));
        }
        LaunchOrder {
            run,
            what: What::Command(task.command),
            cwd: task.cwd.into(),
            base_env: row.env_key.map_or(BaseEnv::User, BaseEnv::Kept),
            ours,
            own_env: Vec::new(),
            io: if task.tty { TTY } else { OrderIo::Pipes },
            timeout_ms: task.timeout_ms,
            log_max: task.log_max,
            temp,
            guarded: None,
        }
    }

    /// What a new state of a run means for the task that it is an attempt of.
    pub(crate) fn advance_attempt(
        &mut self,
        row: &RunRow,
        state: &run::State,
        facts: &Facts,
    ) -> Result<(), Error> {
        let event = match state {
            run::State::Starting => return Ok(()),
            run::State::Running => Event::Began,
            run::State::Ended(_) | run::State::Lost(_) => Event::RunOver(state.clone()),
        };
        let Some(mut attempt) = self.store.read(|db| attempts::of_run(db, &row.id))? else { return Ok(()) };
        // Nothing of it ran; whoever did not want it any more is not to see it run now.
        let event = match (event, &attempt.cancel_by) {
            (Event::RunOver(run::State::Ended(ending)), Some(by)) if ending.cause == Cause::NeverBegan => {
                let cause = Cause::Stopped { by: by.clone() };
                Event::RunOver(run::State::Ended(Ending { cause, ..ending }))
            }
            (event, _) => event,
        };
        attempt.log_bytes = row.log_bytes;
        attempt.log_truncated = facts.log_truncated;
        attempt.output_held = facts.output_held;
        attempt.left_over.clone_from(&facts.left_over);
        attempt.started_ms = row.started_ms;
        let ended_ms = facts.ended_ms.or(row.ended_ms).unwrap_or_else(now_ms);
        self.step_attempt(&attempt, event, ended_ms)
    }

    /// Compute, commit, act: one step of one attempt.
    pub(crate) fn step_attempt(
        &mut self,
        attempt: &AttemptRow,
        event: Event,
        ended_ms: i64,
    ) -> Result<(), Error> {
        let (state, effects) = match task::step(&attempt.state, event) {
            Ok(step) => step,
            Err(rejected) => {
                tracing::debug!(task = %attempt.task, ?rejected, "an event came late");
                return Ok(());
            }
        };
        let row = self.store.read(|db| tasks::get(db, &attempt.task))?;
        let joined = row.as_ref().and_then(|row| row.joined_ask.clone());
        let message = match self.is_told_by_its_ask(joined.as_ref(), attempt)? {
            true => None,
            false => self.message_of(row, attempt, &state, ended_ms),
        };
        self.store.write(|tx| match &state {
            State::AwaitingApproval => Ok(()),
            State::Queued if attempt.state == State::AwaitingApproval => {
                attempts::set_approved(tx, attempt).map(drop)
            }
            State::Queued => attempts::set_queued_again(tx, attempt).map(drop),
            State::Starting => Ok(()),
            State::Running => {
                attempts::set_running(tx, attempt, attempt.started_ms.unwrap_or(ended_ms)).map(drop)
            }
            State::Succeeded
            | State::Failed(_)
            | State::TimedOut
            | State::Cancelled { .. }
            | State::Lost(_) => {
                let first = attempts::set_over(tx, attempt, &state, ended_ms)?;
                if let (true, Some(message)) = (first, &message) {
                    messages::insert(tx, message)?;
                }
                Ok(())
            }
        })?;
        if state.is_terminal() {
            self.heir_over()?;
        }
        if state.is_terminal() && attempt.state == State::AwaitingApproval {
            self.forget_approval(attempt)?;
        }
        if state.is_terminal() && self.retired.elapsed() > RETIRE_EVERY {
            self.retire_or_log();
        }
        for effect in effects {
            match effect {
                Effect::FillSlots => self.fill_slots(&attempt.project),
                Effect::StopRun => self.stop_attempt(attempt),
                Effect::TellOwner => match (&joined, &message) {
                    (Some(ask), None) => self.child_changed(Some(ask), ended_ms)?,
                    (_, Some(message)) => self.wake_anew(&message.agent)?,
                    (None, None) => {}
                },
                // The claim launches.
                Effect::Launch => {}
            }
        }
        Ok(())
    }

    /// Whether the end of a task is told with the answer of the ask that it belongs to.
    fn is_told_by_its_ask(&self, joined: Option<&AskId>, attempt: &AttemptRow) -> Result<bool, Error> {
        let Some(ask) = joined else { return Ok(false) };
        let goes_on = self.store.read(|db| asks::get(db, ask))?.is_some_and(|row| !row.state.is_terminal());
        Ok(goes_on || attempt.cancel_by.as_deref() == Some(BY_ASK))
    }

    /// A child of an ask ended or was seen, at `at_ms`. What comes after the deadline comes too late, also when
    /// it was not heard of before.
    pub(crate) fn child_changed(&mut self, ask: Option<&AskId>, at_ms: i64) -> Result<(), Error> {
        let Some(ask) = ask else { return Ok(()) };
        let deadline = self.store.read(|db| asks::get(db, ask))?.and_then(|row| row.deadline_ms);
        let is_late = deadline.is_some_and(|deadline| deadline < at_ms);
        let event = if is_late { AskEvent::DeadlinePassed } else { AskEvent::ChildrenChanged };
        self.step_ask(ask, event)
    }

    /// Asks for the end of an attempt. It is recorded before its supervisor hears of it.
    pub(crate) fn cancel_attempt(&mut self, attempt: AttemptRow, by: &str) -> Result<(), Error> {
        if attempt.state.is_terminal() {
            return Ok(());
        }
        self.store.write(|tx| attempts::set_cancel_requested(tx, &attempt, by))?;
        let first = attempt.cancel_by.clone().or(Some(by.to_owned()));
        let attempt = AttemptRow { cancel_by: first, ..attempt };
        self.step_attempt(&attempt, Event::CancelRequested { by: by.to_owned() }, now_ms())
    }

    /// Asks the supervisor to end an attempt, in the name of who asked first.
    pub(crate) fn stop_attempt(&mut self, attempt: &AttemptRow) {
        let Some(run) = attempt.run.clone() else { return };
        let by = attempt.cancel_by.clone().unwrap_or_else(|| "user".to_owned());
        self.act_later(move |world, _| {
            world.stop(&run, &by);
        });
    }

    /// The note to the owner, when the state is the end.
    fn message_of(
        &self,
        row: Option<TaskRow>,
        attempt: &AttemptRow,
        state: &State,
        ended_ms: i64,
    ) -> Option<MessageRow> {
        let words = task::in_words(state)?;
        let row = row?;
        let agent = row.task.owner?;
        let ran = attempt.started_ms.map(|began| (ended_ms - began).max(0) as f64 / 1_000.0);
        let after = ran.map(|seconds| format!(" after {seconds:.1} s")).unwrap_or_default();
        let text = format!("Task {} ({}) {words}{after}.", row.task.title, attempt.task);
        Some(MessageRow {
            id: MessageId::from_random(*uuid::Uuid::new_v4().as_bytes()),
            agent,
            project: attempt.project.to_string(),
            kind: messages::Kind::TaskEnded,
            state: message::State::Pending,
            about: Some(attempt.task.to_string()),
            part: attempt.number,
            repeated: false,
            text,
            created_ms: now_ms(),
        })
    }

    /// Lends the slot of a task, or of an agent's turn, that begins to wait, or takes it back.
    pub(crate) fn lend(&mut self, run: &RunId, waits: bool) -> Result<(), Error> {
        let attempt = self.store.read(|db| attempts::of_run(db, run))?;
        let agent = self.store.read(|db| runs::get(db, run))?.and_then(|row| row.agent);
        if attempt.is_none() && agent.is_none() {
            return Ok(());
        }
        let open = self.lent.entry(run.clone()).or_insert(0);
        *open = if waits { *open + 1 } else { open.saturating_sub(1) };
        if *open == 0 {
            self.lent.remove(run);
        }
        if let Some(attempt) = attempt {
            self.fill_slots(&attempt.project);
        }
        self.slot_lent(agent.as_ref());
        Ok(())
    }

    /// The runs that lend their slots, as a JSON array.
    pub(crate) fn lent_runs(&self) -> String {
        let lent: Vec<&str> = self.lent.keys().map(RunId::as_str).collect();
        serde_json::json!(lent).to_string()
    }

    /// As [`MainLoop::retire_tasks`], where that must keep nothing else from being done.
    pub(crate) fn retire_or_log(&mut self) {
        if let Err(error) = self.wholly(Self::retire_tasks) {
            tracing::warn!(%error, "what is old could not be let go; the next sweep tries again");
        }
    }

    /// Drops the logs of tasks that ended long ago, or that take too much room together, and the
    /// records of tasks, asks, turns and messages that were over very long ago.
    pub(crate) fn retire_tasks(&mut self) -> Result<(), Error> {
        self.retired = Instant::now();
        let now = now_ms();
        let kept = self.store.read(runs::with_dir)?;
        let mut bytes = 0;
        let mut spent = Vec::new();
        for row in kept.iter().filter(|row| row.task.is_some() && row.state.is_terminal()) {
            bytes += row.log_bytes;
            let old = row.ended_ms.is_some_and(|ended| now - ended > limits::TASK_LOG_AGE_MAX_MS);
            if old || bytes > limits::TASK_LOGS_MAX_BYTES {
                spent.push(row.id.clone());
            }
        }
        for run in spent {
            self.drop_dir(&run);
        }
        let forgotten = self.store.read(|db| tasks::forgotten(db, now - limits::TASK_AGE_MAX_MS))?;
        if !forgotten.is_empty() {
            self.store.write(|tx| forgotten.iter().try_for_each(|id| tasks::delete(tx, id)))?;
        }
        let before = now - limits::ASK_AGE_MAX_MS;
        self.store.write(|tx| {
            asks::forget(tx, before)?;
            turns::forget(tx, before)?;
            messages::forget(tx, before).map(drop)
        })?;
        Ok(())
    }
}

pub(crate) fn new_run(id: RunId, project: &ProjectId) -> RunRow {
    RunRow {
        id,
        project: project.clone(),
        agent: None,
        task: None,
        state: run::State::Starting,
        pid: None,
        start_time: None,
        boot_id: None,
        temp_path: None,
        temp_held: false,
        dir_kept: true,
        log_bytes: 0,
        created_ms: now_ms(),
        started_ms: None,
        ended_ms: None,
    }
}
