//! The supervisor on real processes, most of which misbehave.

mod cgroup;
mod control;
mod endings;
mod lifecycle;
mod output;
mod stage;
mod terminal;
mod tree;
mod turn;
