//! What holds in every state of the small world, and what a good end is.

use carillon_core::ask::ChildEnd;

use crate::engine::children;
use crate::moves::has_open_child;
use crate::world::{
    ASKS, AskRow, Attempt, Client, Delivered, Engine, Note, Plan, Process, Stands, TASKS, TaskRow, TurnRow,
    World,
};

/// Says the words when it does not hold.
fn hold(holds: bool, words: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(words()) }
}

/// The promises.
pub fn check(plan: &Plan, world: &World) -> Result<(), String> {
    for ask in ASKS {
        one_next_step(plan, world, ask)?;
        one_delivery(world, ask)?;
        no_early_release(plan, world, ask)?;
    }
    one_turn_at_a_time(plan, world)?;
    nothing_runs_unknown(world)
}

/// No moment without a next step: while an ask goes on, a turn of it stands in line or is under way, or a
/// child of it goes on. This is about the disk alone, so it holds whatever dies.
fn one_next_step(plan: &Plan, world: &World, ask: usize) -> Result<(), String> {
    let row = &world.store.asks[ask];
    let has_next = row.turn != TurnRow::None || has_open_child(plan, world, ask);
    hold(!row.stands.is_going_on() || has_next, || format!("ask {ask} waits for nothing"))
}

/// An answer is delivered when it is there, once, and in one way: also where the client dies between
/// writing it out and saying so, since it leaves word of it.
fn one_delivery(world: &World, ask: usize) -> Result<(), String> {
    let (row, client) = (&world.store.asks[ask], world.outside.calls[ask]);
    let wrote = matches!(client, Client::Wrote | Client::Gone { wrote: true });
    hold(row.delivered == Delivered::No || row.stands.is_over(), || {
        format!("ask {ask} was delivered before it was over")
    })?;
    hold(!wrote || row.stands.is_over(), || format!("the caller has an answer of ask {ask} that never was"))?;
    let right = match row.delivered {
        Delivered::No | Delivered::Call => row.notes == 0 && row.note == Note::None,
        Delivered::Inbox => row.notes == 1 && row.note != Note::None,
    };
    hold(right, || format!("ask {ask} was delivered {:?} with {} messages", row.delivered, row.notes))?;
    hold(row.notes == 0 || !wrote, || format!("ask {ask} was delivered in both ways"))
}

/// The caller has no success while a child goes on or has ended badly without an excuse.
fn no_early_release(plan: &Plan, world: &World, ask: usize) -> Result<(), String> {
    let all_well = || {
        children(plan, &world.store, ask)
            .iter()
            .all(|child| child.end.is_some() && (child.excused || child.end == Some(ChildEnd::Succeeded)))
    };
    hold(world.store.asks[ask].stands != Stands::Answered || all_well(), || {
        format!("ask {ask} was answered over an open or failed child")
    })
}

fn one_turn_at_a_time(plan: &Plan, world: &World) -> Result<(), String> {
    let live = |ask: usize| world.store.asks[ask].turn == TurnRow::Live;
    let both = plan.callee(0) == plan.callee(1) && live(0) && live(1);
    hold(!both, || "an agent has two turns".to_owned())
}

/// No process without a row that says so.
fn nothing_runs_unknown(world: &World) -> Result<(), String> {
    for ask in ASKS {
        let known = world.outside.turns[ask] == Process::None || world.store.asks[ask].turn == TurnRow::Live;
        hold(known, || format!("a turn of ask {ask} runs that nobody knows of"))?;
    }
    for task in TASKS {
        let known =
            world.outside.tasks[task] == Process::None || world.store.tasks[task].attempt == Attempt::Live;
        hold(known, || format!("task {task} runs and nobody knows of it"))?;
    }
    Ok(())
}

/// All is over, delivered and cleared away.
pub fn at_rest(plan: &Plan, world: &World) -> Result<(), String> {
    hold(matches!(world.engine, Engine::Up(acts) if acts.is_empty()), || {
        "something was not done".to_owned()
    })?;
    for ask in ASKS.into_iter().filter(|ask| world.store.asks[*ask].stands != Stands::NotMade) {
        let row = &world.store.asks[ask];
        hold(row.stands.is_over(), || format!("ask {ask} never ends"))?;
        hold(row.turn == TurnRow::None, || format!("the turn of ask {ask} is never cleared away"))?;
        let undelivered = row.delivered == Delivered::No && plan.has_inbox(&world.store, ask);
        hold(!undelivered, || format!("ask {ask} is never delivered"))?;
        hold(row.note != Note::Pending, || format!("nobody reads the answer of ask {ask}"))?;
        hold(!has_open_child(plan, world, ask), || format!("a child outlives ask {ask}"))?;
    }
    hold(world.outside.turns.iter().chain(&world.outside.tasks).all(|one| *one == Process::None), || {
        "a process was left behind".to_owned()
    })
}

/// By the words of [`SIGHTS`], which of them are to be seen.
pub fn sights(world: &World) -> u32 {
    let any_ask = |sees: &dyn Fn(&AskRow) -> bool| world.store.asks.iter().any(sees);
    let any_task = |sees: &dyn Fn(&TaskRow) -> bool| world.store.tasks.iter().any(sees);
    let bad = |row: &TaskRow| matches!(row.attempt, Attempt::Over(end) if end != ChildEnd::Succeeded);
    let sights = [
        any_ask(&|row| row.stands == Stands::Answered),
        any_ask(&|row| row.stands == Stands::Pending),
        any_ask(&|row| row.stands == Stands::Followed && row.turn == TurnRow::None),
        any_ask(&|row| row.resumed && row.turn == TurnRow::Live),
        any_ask(&|row| row.delivered == Delivered::Call),
        any_ask(&|row| row.note == Note::Delivered),
        any_ask(&|row| row.note == Note::Undeliverable),
        any_task(&|row| bad(row) && row.seen) || any_ask(&|row| row.stands.is_over() && row.seen),
        world.store.asks.iter().all(|row| row.stands == Stands::Answered),
        world.outside.calls.contains(&Client::Gone { wrote: true }),
    ];
    sights.into_iter().zip(0..).map(|(seen, bit)| u32::from(seen) << bit).sum()
}

/// What a world can show, in words.
pub const SIGHTS: [&str; 10] = [
    "an answer",
    "a final that waits",
    "a second final that waits",
    "a turn that is gone on with",
    "delivered by call",
    "delivered by inbox",
    "undeliverable",
    "an excuse",
    "two answers",
    "a client that died before it could say so",
];
