//! The supervisor on real processes, most of which misbehave.

mod control;
mod endings;
mod lifecycle;
mod output;
mod stage;
mod terminal;
mod tree;
