//! What is to be looked after once more before the loop commits: agents that may have got free, projects with a
//! free slot. It is put down here instead of being done on the spot: a start that fails ends what it was for, which
//! frees the place for the next start, and a thousand of them would lie within each other.

use std::collections::{HashSet, VecDeque};

use carillon_core::id::{AgentId, ProjectId};

/// One thing to look after.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Want {
    /// An agent may be free for what waits for it.
    Turn(AgentId),
    /// A project may have a slot for the next task in line.
    Slot(ProjectId),
}

/// What is to be looked after, in the order in which it came up; each once.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    line: VecDeque<Want>,
    known: HashSet<Want>,
}

impl Wanted {
    pub(crate) fn add(&mut self, want: Want) {
        if self.known.insert(want.clone()) {
            self.line.push_back(want);
        }
    }

    pub(crate) fn next(&mut self) -> Option<Want> {
        let want = self.line.pop_front()?;
        self.known.remove(&want);
        Some(want)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_looked_after_once_in_its_order_and_may_come_up_again() {
        let turn = |n: u8| Want::Turn(AgentId::from_random([n; 16]));
        let mut wanted = Wanted::default();
        for n in [2, 1, 2, 3] {
            wanted.add(turn(n));
        }
        assert_eq!((wanted.next(), wanted.next()), (Some(turn(2)), Some(turn(1))));
        wanted.add(turn(2));
        assert_eq!((wanted.next(), wanted.next()), (Some(turn(3)), Some(turn(2))));
        assert!(wanted.is_empty() && wanted.next().is_none());
    }
}
