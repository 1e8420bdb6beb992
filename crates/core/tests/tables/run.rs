//! Every state of a run against every event, as a table that a reader can check.

use carillon_core::run::{Cause, Ending, Event, LostWhy, State, step};

use crate::{Row, print};

fn states() -> Vec<(&'static str, State)> {
    let exit = |code| Ending { cause: Cause::Ended, exit_code: Some(code), signal: None };
    vec![
        ("starting", State::Starting),
        ("running", State::Running),
        ("ended", State::Ended(exit(0))),
        ("lost", State::Lost(LostWhy::Rebooted)),
    ]
}

fn events() -> Vec<(&'static str, Event)> {
    let killed = Ending { cause: Cause::Ended, exit_code: None, signal: Some(9) };
    vec![
        ("began", Event::Began),
        ("record found", Event::RecordFound(killed)),
        ("launch failed", Event::LaunchFailed { message: "no such program".into() }),
        ("never began", Event::NeverBegan),
        ("vanished: rebooted", Event::Vanished(LostWhy::Rebooted)),
        ("vanished: supervisor gone", Event::Vanished(LostWhy::SupervisorGone)),
    ]
}

fn short(state: &State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Running => "running",
        State::Ended(_) => "ended",
        State::Lost(_) => "lost",
    }
}

/// The table.
pub fn rows() -> Vec<Row> {
    let step = |(from, state): (&'static str, State)| {
        events().into_iter().map(move |(event, what)| {
            let to = step(&state, what).map(|(to, effects)| (short(&to).to_owned(), format!("{effects:?}")));
            Row::new(from, event, to)
        })
    };
    states().into_iter().flat_map(step).collect()
}

#[test]
fn the_table_of_runs_is_what_the_design_says() {
    assert_eq!(print(&rows()), EXPECTED);
}

const EXPECTED: &str = "\
starting + began -> running [DropOldRuns]
starting + record found -> ended [BuryTemp, DropOldRuns]
starting + launch failed -> ended [BuryTemp, DropOldRuns]
starting + never began -> ended [BuryTemp, DropOldRuns]
starting + vanished: rebooted -> lost [BuryTemp]
starting + vanished: supervisor gone -> lost [EndStrays, BuryTemp]
running + began -> refused: AlreadyRunning
running + record found -> ended [BuryTemp]
running + launch failed -> refused: AlreadyBegan
running + never began -> refused: AlreadyBegan
running + vanished: rebooted -> lost [BuryTemp]
running + vanished: supervisor gone -> lost [EndStrays, BuryTemp]
ended + began -> refused: AlreadyOver
ended + record found -> refused: AlreadyOver
ended + launch failed -> refused: AlreadyOver
ended + never began -> refused: AlreadyOver
ended + vanished: rebooted -> refused: AlreadyOver
ended + vanished: supervisor gone -> refused: AlreadyOver
lost + began -> refused: AlreadyOver
lost + record found -> refused: AlreadyOver
lost + launch failed -> refused: AlreadyOver
lost + never began -> refused: AlreadyOver
lost + vanished: rebooted -> refused: AlreadyOver
lost + vanished: supervisor gone -> refused: AlreadyOver
";
