//! Starts of which nothing ever began: a supervisor that is gone before it has started anything. What such a start
//! was for goes back in line. When that happens again and again it is no chance any more, so each one comes later
//! than the one before, and after a few it counts as a start that failed.
//!
//! Nothing of it is kept: the next engine begins to count anew, since it may have been the engine's fault.

use std::collections::HashMap;

use carillon_core::id::{AgentId, ProjectId, TaskId};
use carillon_core::{limits, run, wake};
use carillon_store::runs::RunRow;

use crate::main_loop::{MainLoop, now_ms};
use crate::timers::Timer;

/// What such a start ends with at last.
const DOES_NOT_START: &str = "the supervisor does not start: it ended again and again before it had begun anything; `carillon doctor` looks for the reason";

/// How often in a row, by what the starts were for.
#[derive(Debug, Default)]
pub(crate) struct VainStarts {
    tasks: HashMap<TaskId, u32>,
    agents: HashMap<AgentId, u32>,
    /// Projects whose next task starts not before this time, in Unix milliseconds.
    resting: HashMap<ProjectId, i64>,
}

impl VainStarts {
    /// Counts one more; answers how many there were in a row.
    fn count(&mut self, row: &RunRow) -> u32 {
        let count = match (&row.task, &row.agent) {
            (Some(task), _) => self.tasks.entry(task.clone()).or_default(),
            (None, Some(agent)) => self.agents.entry(agent.clone()).or_default(),
            (None, None) => return 1,
        };
        *count += 1;
        *count
    }

    /// Something has begun, or is not tried any more.
    pub(crate) fn forget(&mut self, row: &RunRow) {
        if let Some(task) = &row.task {
            self.tasks.remove(task);
        } else if let Some(agent) = &row.agent {
            self.agents.remove(agent);
        }
    }

    /// Whether the tasks of a project wait for the next start.
    pub(crate) fn rests(&mut self, project: &ProjectId) -> bool {
        let rests = self.resting.get(project).is_some_and(|until_ms| *until_ms > now_ms());
        if !rests {
            self.resting.remove(project);
        }
        rests
    }
}

impl MainLoop {
    /// What it means for a run that nothing of it ever began.
    pub(crate) fn never_began(&mut self, row: &RunRow) -> run::Event {
        let tries = self.vain_starts.count(row);
        if tries >= limits::NEVER_BEGAN_TRIES {
            // Somebody who tries a task again means it; an agent has to prove that it can begin.
            if row.task.is_some() {
                self.vain_starts.forget(row);
            }
            return run::Event::LaunchFailed { message: DOES_NOT_START.to_owned() };
        }
        // The first one may be the end of an engine, and needs no pause.
        if tries > 1 {
            let until_ms = now_ms() + wake::pause_ms(tries - 1);
            match &row.agent {
                Some(agent) => {
                    let until = self.resting.entry(agent.clone()).or_default();
                    *until = until_ms.max(*until);
                    self.timers.set(until_ms, Timer::Wake(agent.clone()));
                }
                None => {
                    self.vain_starts.resting.insert(row.project.clone(), until_ms);
                    self.timers.set(until_ms, Timer::Slots(row.project.clone()));
                }
            }
        }
        run::Event::NeverBegan
    }
}
