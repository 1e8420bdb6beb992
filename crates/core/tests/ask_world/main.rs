//! Asks in a small world, in every order of events and with a crash or a reboot at every point.
//!
//! Two asks, two tasks, the callee, clients that wait, and the user do whatever they can do. The pure
//! functions of the crate decide; around them stands the smallest engine that keeps the order compute,
//! commit, act. The disk, the memory of the engine and what is outside are told apart, so a crash is
//! the loss of one of the three. Every state is visited, and the promises are checked in each.
//!
//! The explorer is our own: it is short, and the question whether everything comes to a good end by
//! itself, from every state, is not one that the checkers at hand answer.

mod engine;
mod explorer;
mod moves;
mod promises;
mod world;

use std::time::Instant;

use explorer::explore;
use promises::SIGHTS;
use world::{Agent, Fault, Plan};

/// Explores a world to its end. Nothing is broken in it, and what has to be seen was seen.
fn visit(plan: &Plan, unseen: &[&str]) {
    let begin = Instant::now();
    let seen = explore(plan).unwrap_or_else(|broken| panic!("{}: {}", plan.name, broken.tell()));
    println!(
        "{}: {} states, {} moves, {} good ends, {} steps deep, in {:?}",
        plan.name,
        seen.states,
        seen.moves,
        seen.rests,
        seen.depth,
        begin.elapsed()
    );
    let missing: Vec<&str> =
        (0..).zip(SIGHTS).filter(|(bit, _)| seen.sights & (1 << bit) == 0).map(|(_, words)| words).collect();
    assert_eq!(missing, unseen, "{}", plan.name);
}

/// One ask with two tasks.
fn one_ask() -> Plan {
    Plan { nested: true, asks: 1, task_of: [Some(0), Some(0)], ..Plan::new("one ask with two tasks") }
}

/// An ask of A to B, and one of D or of the user to B as well.
fn two_asks() -> Plan {
    Plan { task_of: [Some(0), None], ..Plan::new("two asks to one callee") }
}

/// An ask of A to B, which asks C.
fn nested() -> Plan {
    Plan { nested: true, task_of: [None, None], ..Plan::new("an ask within an ask") }
}

#[test]
fn one_ask_with_two_tasks_keeps_its_promises() {
    let plan = Plan {
        follow_up: [true, false],
        all_ends: true,
        resumes: true,
        removed: Some(Agent::B),
        ..one_ask()
    };
    visit(&plan, &["undeliverable", "two answers"]);
}

#[test]
fn an_ask_whose_caller_is_removed_keeps_its_promises() {
    let plan = Plan { removed: Some(Agent::A), follow_up: [true, false], ..one_ask() };
    visit(&plan, &["a turn that is gone on with", "two answers"]);
}

#[test]
fn two_asks_to_one_callee_keep_their_promises() {
    let plan = Plan {
        follow_up: [true, false],
        agent_asks: [true, false],
        removed: Some(Agent::B),
        resumes: true,
        ..two_asks()
    };
    visit(&plan, &["undeliverable"]);
}

#[test]
fn two_asks_with_a_task_each_keep_their_promises() {
    let plan = Plan {
        task_of: [Some(0), Some(1)],
        agent_asks: [true, false],
        retries: false,
        ended_early: [true, false],
        ..two_asks()
    };
    visit(&plan, &["a second final that waits", "a turn that is gone on with", "undeliverable"]);
}

#[test]
fn an_ask_within_an_ask_keeps_its_promises() {
    let plan = Plan { follow_up: [true, false], removed: Some(Agent::B), ..nested() };
    visit(&plan, &["a second final that waits", "a turn that is gone on with", "undeliverable"]);
}

#[test]
fn an_inner_ask_with_a_task_keeps_its_promises() {
    let plan = Plan { task_of: [None, Some(1)], ..nested() };
    visit(&plan, &["a second final that waits", "a turn that is gone on with", "undeliverable"]);
}

#[test]
fn an_outer_ask_with_a_task_and_an_ask_keeps_its_promises() {
    let plan = Plan { task_of: [Some(0), None], follow_up: [true, false], callee_waits: false, ..nested() };
    visit(&plan, &["a turn that is gone on with", "undeliverable"]);
}

#[test]
fn an_ask_within_an_ask_with_a_task_each_keeps_its_promises() {
    let plan = Plan {
        task_of: [Some(0), Some(1)],
        callee_waits: false,
        retries: false,
        ended_early: [false, false],
        ..nested()
    };
    visit(&plan, &["a second final that waits", "a turn that is gone on with", "undeliverable"]);
}

#[test]
fn each_fault_of_an_engine_is_found() {
    let follow_up = || Plan { follow_up: [true, false], ..one_ask() };
    let faults = [
        (Fault::FollowUpAfterCommit, follow_up(), "ask 0 waits for nothing"),
        (Fault::ShownBeforeCommit, one_ask(), "the caller has an answer of ask 0 that never was"),
        (Fault::ExcusesIgnored, one_ask(), "ask 0 was judged"),
        (Fault::OpenChildForgotten, one_ask(), "ask 0 was judged"),
        (Fault::ChildWakes, one_ask(), "B was woken for a child of an ask that goes on"),
        (
            Fault::ChildWakes,
            Plan { task_of: [Some(0), None], ..nested() },
            "B was woken for a child of an ask that goes on",
        ),
        (Fault::BootForgets, one_ask(), "for ever: "),
        (Fault::BootForgetsTheDelivered, one_ask(), "for ever: "),
        (Fault::ResumedForNobody, Plan { resumes: true, ..one_ask() }, "for ever: "),
        (Fault::MarkAfterMessage, one_ask(), "ask 0 was delivered No with 1 messages"),
        (Fault::NotAskedAgain, one_ask(), "for ever: the turn of ask 0 is never cleared away"),
        (Fault::LastEndWins, one_ask(), "ask 0 was"),
    ];
    for (fault, plan, expected) in faults {
        let plan = Plan { fault: Some(fault), ..plan };
        let broken = explore(&plan).expect_err("a faulty engine");
        println!("{fault:?}: {}", broken.tell());
        assert!(broken.why.contains(expected), "{fault:?}: {}", broken.tell());
    }
}
