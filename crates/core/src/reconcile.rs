//! What a boot does with each run that the ledger does not know to be over.

use crate::run::{Ending, Event, LostWhy, State};

/// What was found of a run, by its lease and its directory. Never by age or by a bare pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// The lease is held: its supervisor lives.
    Alive,
    /// The lease is free and an exit record is there.
    Ended(Ending),
    /// The lease is free; it had begun and left no record.
    Lost {
        /// Whether it began under another boot of the machine.
        other_boot: bool,
    },
    /// The lease is free and nothing had begun.
    NeverBegan,
    /// Its directory is gone.
    Gone {
        /// Whether a process is there that is proved to be the run's.
        process_alive: bool,
    },
}

/// What to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: it is over already.
    Nothing,
    /// Connect to its supervisor and go on.
    Adopt,
    /// Let this event take the run to its end.
    Finalise(Event),
}

/// Decides for one run.
pub fn plan(state: &State, observed: Observed) -> Plan {
    if state.is_terminal() {
        return Plan::Nothing;
    }
    match observed {
        Observed::Alive => Plan::Adopt,
        Observed::Ended(ending) => Plan::Finalise(Event::RecordFound(ending)),
        Observed::Lost { other_boot: true } => Plan::Finalise(Event::Vanished(LostWhy::Rebooted)),
        Observed::Lost { other_boot: false } | Observed::Gone { process_alive: true } => {
            Plan::Finalise(Event::Vanished(LostWhy::SupervisorGone))
        }
        Observed::NeverBegan | Observed::Gone { process_alive: false } => match state {
            State::Starting => Plan::Finalise(Event::NeverBegan),
            State::Running | State::Ended(_) | State::Lost(_) => {
                Plan::Finalise(Event::Vanished(LostWhy::SupervisorGone))
            }
        },
    }
}
