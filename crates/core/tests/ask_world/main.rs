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

use explorer::{Seen, explore};
use world::{Agent, Fault, Plan};

fn visit(plan: &Plan) -> Seen {
    let begin = Instant::now();
    let seen = explore(plan).unwrap_or_else(|broken| panic!("{}: {}", plan.name, broken.tell()));
    println!("{}: {seen:?} in {:?}", plan.name, begin.elapsed());
    seen
}

/// The fault is found; says by which promise.
fn found(plan: Plan, fault: Fault) -> String {
    let plan = Plan { fault: Some(fault), ..plan };
    match explore(&plan) {
        Ok(seen) => panic!("{}: {fault:?} was not found in {seen:?}", plan.name),
        Err(broken) => {
            println!("{}: {fault:?} was found: {}", plan.name, broken.tell());
            broken.why
        }
    }
}

fn one_ask() -> Plan {
    Plan { asks: 1, nested: true, task_of: [Some(0), Some(0)], ..Plan::new("one ask with two tasks") }
}

#[test]
fn try_it() {
    let one = |name| Plan { asks: 1, nested: true, task_of: [Some(0), Some(0)], ..Plan::new(name) };
    visit(&Plan { asks: 2, nested: true, task_of: [None, None], ..Plan::new("nested, no tasks") });
    visit(&Plan { asks: 2, nested: true, task_of: [None, Some(1)], ..Plan::new("nested, inner task") });
    visit(&Plan { all_ends: true, resumes: true, removed: Some(Agent::B), follow_up: [true,false], ..one("one ask, everything") });
    visit(&Plan { asks: 2, nested: true, task_of: [Some(0), None], follow_up: [true,false], ..Plan::new("nested, outer task, follow_up") });
    visit(&Plan { asks: 2, nested: true, task_of: [Some(0), Some(1)], ended_early: [true,false], ..Plan::new("nested, both") });
}
