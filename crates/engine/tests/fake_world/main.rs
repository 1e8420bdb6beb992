//! The loop with a fake world: order, lateness, failure, the way in and the way out. No process is
//! started and nothing is waited for but events.

mod asks;
mod changes;
mod conversations;
mod failing;
mod fake;
mod order;
mod recovery;
mod repeats;
mod shutdown;
mod slots;
mod stage;
mod temps;
mod terminals;
