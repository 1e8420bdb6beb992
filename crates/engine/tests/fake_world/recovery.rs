//! The boot: what is observed decides, and a second boot changes nothing.

use carillon_core::reconcile::Observed;
use carillon_core::run::{Cause, LostWhy, State};

use crate::fake::{Asked, OnLaunch, ended};
use crate::stage::Stage;

#[test]
fn a_boot_takes_every_run_to_where_it_is_and_the_next_changes_nothing() {
    let stage = Stage::new(OnLaunch::Begin);
    let found = [
        ("alive", Ok(Observed::Alive)),
        ("ended", Ok(ended(7))),
        ("lost", Ok(Observed::Lost { other_boot: false })),
        ("rebooted", Ok(Observed::Lost { other_boot: true })),
        ("gone", Ok(Observed::Gone { process_alive: false })),
        ("unknown", Err("permission denied".to_owned())),
    ];
    for (name, observed) in &found {
        stage.add_agent(name);
        let run = stage.start(name).run.unwrap().id;
        stage.world.set_observed(&run, observed.clone());
    }
    let run = |stage: &Stage, name| stage.run(name).id;

    let stage = stage.boot_again();
    stage.settle();
    assert_eq!(stage.run("alive").state, State::Running);
    assert_eq!(stage.run("unknown").state, State::Running, "what cannot be seen is not judged");
    assert!(matches!(stage.run("ended").state, State::Ended(end) if end.exit_code == Some(7)));
    assert_eq!(stage.run("lost").state, State::Lost(LostWhy::SupervisorGone));
    assert_eq!(stage.run("rebooted").state, State::Lost(LostWhy::Rebooted));
    assert_eq!(stage.run("gone").state, State::Lost(LostWhy::SupervisorGone));
    let notices = stage.engine.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].text.starts_with("1 earlier run"), "{notices:?}");
    let adopted = Asked::Adopt { run: run(&stage, "alive") };
    assert!(stage.world.asked().contains(&adopted));
    let cleared = stage.world.asked().iter().filter(|asked| matches!(asked, Asked::ClearUp { .. })).count();
    assert_eq!(cleared, 4, "{:?}", stage.world.asked());

    let rows = stage.rows();
    let stage = stage.boot_again();
    stage.settle();
    assert_eq!(stage.rows(), rows);
    assert_eq!(stage.world.asked(), [adopted], "only what lives is taken up again");
    assert_eq!(stage.engine.notices(), notices);

    // What could not be seen is seen at last.
    let unknown = run(&stage, "unknown");
    stage.world.set_observed(&unknown, Ok(ended(0)));
    let stage = stage.boot_again();
    assert!(stage.run("unknown").state.is_terminal());
    assert_eq!(stage.engine.notices(), []);
}

#[test]
fn what_never_began_ends_with_a_reason() {
    let stage = Stage::new(OnLaunch::Begin);
    let run = stage.start("treble").run.unwrap().id;
    // As if the engine had died right after it recorded the run.
    stage.raw().execute("UPDATE runs SET state = 'starting', pid = NULL", []).unwrap();
    stage.world.set_observed(&run, Ok(Observed::NeverBegan));
    let next = stage.boot_again();
    let State::Ended(ending) = next.run("treble").state else { panic!("it is over") };
    assert_eq!(ending.cause, Cause::NeverBegan);
}

/// A temp directory stays on the ledger until its rename was seen to work, and the strays of a dead
/// supervisor until they were looked for.
#[test]
fn clearing_up_that_was_not_seen_is_repeated() {
    for (observed, strays, state) in
        [(ended(0), false, "ended"), (Observed::Lost { other_boot: false }, true, "lost")]
    {
        let stage = Stage::new(OnLaunch::Begin);
        let run = stage.start("treble").run.unwrap();
        stage.world.set_observed(&run.id, Ok(observed));
        stage.world.report(&run.id).over(&run.id);
        let temp = run.temp_path.map(Into::into);
        let cleared = Asked::ClearUp { run: run.id.clone(), temp, strays, seen: Some(state.to_owned()) };
        stage.world.wait_for(1, |asked| *asked == cleared);
        stage.settle();
        stage.raw().execute("UPDATE runs SET temp_state = 'held'", []).unwrap();
        let stage = stage.boot_again();
        assert_eq!(stage.world.asked(), [cleared]);
        stage.settle();
        let stage = stage.boot_again();
        assert_eq!(stage.world.asked(), []);
    }
}

/// The end of a run that could not be written is found again.
#[test]
fn an_end_that_could_not_be_written_is_found_by_the_next_boot() {
    let stage = Stage::new(OnLaunch::Begin);
    let run = stage.start("treble").run.unwrap().id;
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON runs BEGIN SELECT raise(ABORT, 'no room'); END";
    stage.raw().execute_batch(refuse).unwrap();
    stage.world.end(&run, 4);
    stage.settle();
    assert_eq!(stage.run("treble").state, State::Running);
    assert_eq!(stage.world.asked().len(), 1, "nothing is cleared up before the end is committed");
    stage.raw().execute_batch("DROP TRIGGER refuse").unwrap();
    let stage = stage.boot_again();
    assert!(matches!(stage.run("treble").state, State::Ended(end) if end.exit_code == Some(4)));
}

#[test]
fn a_home_has_one_engine() {
    let stage = Stage::new(OnLaunch::Begin);
    let config = stage.engine.config().clone();
    let host = stage.engine.host().clone();
    let error = carillon_engine::Engine::open_in(config, host, stage.world.clone()).err().expect("refused");
    let pid = std::process::id();
    assert!(error.to_string().contains(&format!("process {pid}")), "{error}");
}
