//! Processes that were started in a run which is over.

use std::ffi::OsStr;

use carillon_core::residue::{self, Kind, Process};
use carillon_core::run::{LostWhy, State};
use carillon_store::runs::RunRow;
use carillon_tidy::strays::Stray;

use super::{Item, Known, Listing, Thing, item, owner_of};
use crate::host::launch::KEPT_PROGRAMS;
use crate::host::{Host, linux};

impl Host {
    pub(super) fn judge_processes(&self, listing: &Listing, known: &Known, items: &mut Vec<Item>) {
        for stray in &listing.strays {
            let row = known.run(&stray.run);
            // One of a run that nobody here knows is of another data directory, unless it says otherwise.
            let is_of_this_home = row.is_some() || self.says_that_it_is_ours(stray);
            if !is_of_this_home || row.is_some_and(|row| !row.state.is_terminal()) {
                continue;
            }
            let verdict = self.judge_process(stray, row);
            let key = format!("{} {}", stray.pid, stray.start_time);
            let is_proved = row.is_some_and(|row| row.state == State::Lost(LostWhy::SupervisorGone));
            items.push(Item {
                name: format!("{} ({})", stray.name, stray.pid),
                project: row.map(|row| row.project.clone()),
                owner: row.and_then(|row| row.agent.clone()),
                run: row.map(|row| row.id.clone()),
                age_ms: linux::age_ms(stray.start_time),
                is_proved,
                ..item(
                    Kind::Process,
                    &key,
                    format!("/proc/{}", stray.pid),
                    verdict,
                    Thing::Process { stray: stray.clone() },
                )
            });
        }
    }

    pub(super) fn judge_process(&self, stray: &Stray, row: Option<&RunRow>) -> carillon_core::judge::Verdict {
        let shared = KEPT_PROGRAMS.contains(&stray.name.as_str()).then(|| stray.name.clone());
        residue::process(&Process { owner: owner_of(row), is_of_this_home: true, shared })
    }

    /// A process of a run has our socket in its environment.
    fn says_that_it_is_ours(&self, stray: &Stray) -> bool {
        let socket = crate::config::Paths::under(&self.home).socket;
        linux::variable(stray.pid, "CARILLON_SOCKET").is_some_and(|value| value == OsStr::new(&socket))
    }
}
