//! The engine is killed at any moment and started again: nothing is lost, nothing is left, nothing
//! is told wrong.

#[path = "../../crates/cli/tests/support/mod.rs"]
mod support;

mod answers;
mod approvals;
mod asks;
mod clean;
mod clean_chosen;
mod clean_cut_short;
mod clean_many;
mod crowds;
mod exits;
mod flat;
mod guard;
mod limit_tries;
mod limits;
mod recovery;
mod rounds;
mod seams;
mod secrets;
mod tasks;
mod temp;
mod temp_inherited;
mod temp_places;
mod temp_watched;
mod terminal_ends;
mod terminals;
mod turn_events;
mod unfriendly;
mod unseen_ends;
mod untouched;
mod workdirs;
mod workdirs_back;
mod workdirs_cut_short;
mod workdirs_made;
mod workdirs_refused;
mod worlds;
