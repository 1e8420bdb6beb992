//! Looking what is there of a run: by its lease and its records.

use std::path::Path;
use std::time::Duration;

use carillon_core::id::RunId;
use carillon_core::reconcile::Observed;
use carillon_core::run::{Cause, Ending};
use carillon_store::runs::RunRow;
use carillon_supervisor as supervisor;
use carillon_tidy::strays::{self, Stray};

use crate::host::Host;
use crate::host::launch::KEPT_PROGRAMS;
use crate::world::Facts;

/// Time that strays of a dead supervisor get to end by themselves.
const STRAY_GRACE: Duration = Duration::from_millis(2_000);
/// Most rounds of looking for strays and ending them.
const STRAY_ROUNDS: usize = 5;

impl Host {
    pub(crate) fn observe_run(&self, row: &RunRow) -> Result<(Observed, Facts), String> {
        let dir = self.run_dir(&row.id);
        let seen = supervisor::observe(&dir).map_err(|e| e.to_string())?;
        Ok(match seen {
            supervisor::Observed::Alive { started } => {
                (Observed::Alive, started.as_ref().map(facts).unwrap_or_default())
            }
            supervisor::Observed::Ended(record) => ended(&record),
            supervisor::Observed::Lost(started) => {
                let other_boot = started.boot_id != supervisor::boot_id();
                let mut facts = facts(&started);
                facts.log_bytes = supervisor::LogReader::open(&dir).and_then(|log| log.end()).unwrap_or(0);
                (Observed::Lost { other_boot }, facts)
            }
            supervisor::Observed::NeverBegan => (Observed::NeverBegan, Facts::default()),
            supervisor::Observed::Gone => (gone(row), Facts::default()),
        })
    }

    /// Facts of a run whose program is known to be started; none while it is on its way.
    pub(crate) fn facts_of_live(&self, run: &RunId) -> Result<Option<Facts>, String> {
        match supervisor::observe(&self.run_dir(run)).map_err(|e| e.to_string())? {
            supervisor::Observed::Alive { started: Some(started) } if started.pid.is_some() => {
                Ok(Some(facts(&started)))
            }
            _ => Ok(None),
        }
    }

    /// Ends what a dead supervisor left, by the marker in its environment and, where the run has one, by
    /// its cgroup. Blocks until it is gone or the grace is over.
    pub(crate) fn end_strays_of(&self, run: &RunId) {
        let dir = self.run_dir(run);
        // What forked while it was being ended is met in the next round.
        for _ in 0..STRAY_ROUNDS {
            let mut of_run = strays_of(run, &dir);
            // What is kept beside a living supervisor is kept beside a dead one.
            of_run.retain(|stray| !KEPT_PROGRAMS.contains(&stray.name.as_str()));
            if of_run.is_empty() {
                supervisor::cgroup::dissolve(&dir);
                supervisor::cgroup::sweep();
                return;
            }
            for stray in &of_run {
                tracing::warn!(%run, pid = stray.pid, name = stray.name, "ending a process that its supervisor left");
            }
            strays::end(&of_run, STRAY_GRACE);
        }
        tracing::error!(%run, "some processes of a run could not be ended; the next start tries again");
    }
}

/// The processes of a run whose supervisor is dead, by their marker and, where it has one, by its cgroup:
/// a process can clear its environment, but not leave that.
fn strays_of(run: &RunId, dir: &Path) -> Vec<Stray> {
    let mut found = strays::strays();
    found.retain(|stray| stray.run == run.as_str());
    for member in supervisor::cgroup::members(dir) {
        let supervisor::cgroup::Member { pid, start_time, name } = member;
        if !found.iter().any(|stray| stray.pid == pid) {
            found.push(Stray { pid, start_time, name, run: run.to_string() });
        }
    }
    found
}

/// A directory that is gone tells nothing: the process and the marker may.
fn gone(row: &RunRow) -> Observed {
    let proved = match (row.pid, row.start_time, &row.boot_id) {
        (Some(pid), Some(start), Some(boot)) => supervisor::is_same_process(pid, start, boot),
        _ => false,
    };
    let marked = || strays::strays().iter().any(|stray| stray.run == row.id.as_str());
    Observed::Gone { process_alive: proved || marked() }
}

fn facts(started: &supervisor::Started) -> Facts {
    Facts {
        pid: started.pid,
        start_time: started.start_time,
        boot_id: Some(started.boot_id.clone()),
        started_ms: Some(started.started_ms),
        ended_ms: None,
        log_bytes: 0,
        ..Facts::default()
    }
}

fn ended(record: &supervisor::ExitRecord) -> (Observed, Facts) {
    let cause = match &record.cause {
        supervisor::Cause::Ended => Cause::Ended,
        supervisor::Cause::TimedOut => Cause::TimedOut,
        supervisor::Cause::Stopped { by } => Cause::Stopped { by: by.clone() },
        supervisor::Cause::SystemStop => Cause::SystemStop,
        supervisor::Cause::OutputTooLarge => Cause::OutputTooLarge,
        supervisor::Cause::SpawnFailed { message } => Cause::SpawnFailed { message: message.clone() },
    };
    let ending = Ending { cause, exit_code: record.exit_code, signal: record.signal };
    let facts = Facts {
        started_ms: Some(record.started_ms),
        ended_ms: Some(record.ended_ms),
        log_bytes: record.log_bytes,
        log_truncated: record.log_truncated,
        output_held: record.output_held,
        left_over: record.left.iter().map(|p| format!("{} ({}): {}", p.name, p.pid, p.reason)).collect(),
        ..Facts::default()
    };
    (Observed::Ended(ending), facts)
}
