//! Every state of a task's attempt against every event, as a table that a reader can check.

use carillon_core::run::{self, Cause, Ending, LostWhy};
use carillon_core::task::{Event, Failure, State, step};

use crate::{Row, print};

fn states() -> Vec<(&'static str, State)> {
    vec![
        ("awaiting approval", State::AwaitingApproval),
        ("queued", State::Queued),
        ("starting", State::Starting),
        ("running", State::Running),
        ("succeeded", State::Succeeded),
        ("failed", State::Failed(Failure::Exit(1))),
        ("timed out", State::TimedOut),
        ("cancelled", State::Cancelled { by: "user".into() }),
        ("lost", State::Lost(LostWhy::Rebooted)),
    ]
}

fn ended(cause: Cause, exit_code: Option<i32>, signal: Option<i32>) -> Event {
    Event::RunOver(run::State::Ended(Ending { cause, exit_code, signal }))
}

fn events() -> Vec<(&'static str, Event)> {
    vec![
        ("approved", Event::Approved),
        ("claimed", Event::Claimed),
        ("began", Event::Began),
        ("cancel requested", Event::CancelRequested { by: "user".into() }),
        ("run over: 0", ended(Cause::Ended, Some(0), None)),
        ("run over: 3", ended(Cause::Ended, Some(3), None)),
        ("run over: signal 9", ended(Cause::Ended, None, Some(9))),
        ("run over: timed out", ended(Cause::TimedOut, None, Some(15))),
        ("run over: stopped", ended(Cause::Stopped { by: "user".into() }, None, Some(15))),
        ("run over: system stop", ended(Cause::SystemStop, None, Some(15))),
        ("run over: not started", ended(Cause::SpawnFailed { message: "no".into() }, None, None)),
        ("run over: never began", ended(Cause::NeverBegan, None, None)),
        ("run over: lost", Event::RunOver(run::State::Lost(LostWhy::SupervisorGone))),
        ("run not over", Event::RunOver(run::State::Running)),
    ]
}

fn short(state: &State) -> String {
    match state {
        State::AwaitingApproval => "awaiting approval".into(),
        State::Queued => "queued".into(),
        State::Starting => "starting".into(),
        State::Running => "running".into(),
        State::Succeeded => "succeeded".into(),
        State::Failed(failure) => format!("failed ({failure:?})"),
        State::TimedOut => "timed out".into(),
        State::Cancelled { by } => format!("cancelled (by {by})"),
        State::Lost(why) => format!("lost ({why:?})"),
    }
}

/// The table of what is not over.
pub fn rows() -> Vec<Row> {
    let step = |(from, state): (&'static str, State)| {
        events().into_iter().map(move |(event, what)| {
            let to = step(&state, what).map(|(to, effects)| (short(&to), format!("{effects:?}")));
            Row::new(from, event, to)
        })
    };
    states().into_iter().take(4).flat_map(step).collect()
}

#[test]
fn the_table_of_tasks_is_what_the_design_says() {
    assert_eq!(print(&rows()), EXPECTED);
}

#[test]
fn a_task_that_is_over_stays_as_it_is() {
    for (from, state) in states().into_iter().skip(4) {
        assert!(state.is_terminal() && !state.holds_slot(), "{from}");
        for (name, event) in events() {
            assert!(step(&state, event).is_err(), "{from} + {name}");
        }
    }
}

const EXPECTED: &str = "\
awaiting approval + approved -> queued [FillSlots]
awaiting approval + claimed -> refused: NotApproved
awaiting approval + began -> refused: NotApproved
awaiting approval + cancel requested -> cancelled (by user) [TellOwner]
awaiting approval + run over: 0 -> refused: NotApproved
awaiting approval + run over: 3 -> refused: NotApproved
awaiting approval + run over: signal 9 -> refused: NotApproved
awaiting approval + run over: timed out -> refused: NotApproved
awaiting approval + run over: stopped -> refused: NotApproved
awaiting approval + run over: system stop -> refused: NotApproved
awaiting approval + run over: not started -> refused: NotApproved
awaiting approval + run over: never began -> refused: NotApproved
awaiting approval + run over: lost -> refused: NotApproved
awaiting approval + run not over -> refused: NotApproved
queued + approved -> refused: AlreadyApproved
queued + claimed -> starting [Launch]
queued + began -> refused: NoRun
queued + cancel requested -> cancelled (by user) [TellOwner]
queued + run over: 0 -> refused: NoRun
queued + run over: 3 -> refused: NoRun
queued + run over: signal 9 -> refused: NoRun
queued + run over: timed out -> refused: NoRun
queued + run over: stopped -> refused: NoRun
queued + run over: system stop -> refused: NoRun
queued + run over: not started -> refused: NoRun
queued + run over: never began -> refused: NoRun
queued + run over: lost -> refused: NoRun
queued + run not over -> refused: NoRun
starting + approved -> refused: AlreadyApproved
starting + claimed -> refused: AlreadyClaimed
starting + began -> running []
starting + cancel requested -> starting [StopRun]
starting + run over: 0 -> succeeded [TellOwner, FillSlots]
starting + run over: 3 -> failed (Exit(3)) [TellOwner, FillSlots]
starting + run over: signal 9 -> failed (Signal(9)) [TellOwner, FillSlots]
starting + run over: timed out -> timed out [TellOwner, FillSlots]
starting + run over: stopped -> cancelled (by user) [TellOwner, FillSlots]
starting + run over: system stop -> failed (SystemStop) [TellOwner, FillSlots]
starting + run over: not started -> failed (NotStarted { message: \"no\" }) [TellOwner, FillSlots]
starting + run over: never began -> queued [FillSlots]
starting + run over: lost -> lost (SupervisorGone) [TellOwner, FillSlots]
starting + run not over -> refused: NotOver
running + approved -> refused: AlreadyApproved
running + claimed -> refused: AlreadyClaimed
running + began -> refused: AlreadyRunning
running + cancel requested -> running [StopRun]
running + run over: 0 -> succeeded [TellOwner, FillSlots]
running + run over: 3 -> failed (Exit(3)) [TellOwner, FillSlots]
running + run over: signal 9 -> failed (Signal(9)) [TellOwner, FillSlots]
running + run over: timed out -> timed out [TellOwner, FillSlots]
running + run over: stopped -> cancelled (by user) [TellOwner, FillSlots]
running + run over: system stop -> failed (SystemStop) [TellOwner, FillSlots]
running + run over: not started -> failed (NotStarted { message: \"no\" }) [TellOwner, FillSlots]
running + run over: never began -> lost (SupervisorGone) [TellOwner, FillSlots]
running + run over: lost -> lost (SupervisorGone) [TellOwner, FillSlots]
running + run not over -> refused: NotOver
";
