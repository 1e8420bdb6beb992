//! Visits every state of a model, the nearest first, so that what it finds has the shortest story.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// What moves, in words, and which one of its kind.
pub type Label = (&'static str, usize);

/// One way out of a state.
pub struct Move<S> {
    /// What happens.
    pub label: Label,
    /// Where it leads.
    pub to: S,
    /// Whether it comes by itself: an act of the engine, the end of a process. What somebody may or
    /// may not do, and what goes wrong, is not.
    pub own: bool,
    /// A promise that is broken on the way.
    pub broken: Option<String>,
}

/// What is explored.
pub trait Model {
    /// Everything that is different between two moments.
    type State: Copy + Eq + Hash + Debug;

    /// Where it begins.
    fn start(&self) -> Self::State;
    /// All that can happen.
    fn moves(&self, from: &Self::State, moves: &mut Vec<Move<Self::State>>);
    /// The promises that hold in every state.
    fn check(&self, state: &Self::State) -> Result<(), String>;
    /// Whether this is a good place to stay for ever.
    fn at_rest(&self, state: &Self::State) -> Result<(), String>;
    /// What is to be seen in it, by bits, so that a test can tell that it happened at all.
    fn sights(&self, state: &Self::State) -> u32;
}

/// How much was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// States.
    pub states: usize,
    /// Ways between them.
    pub moves: usize,
    /// States in which all is over and well.
    pub rests: usize,
    /// Steps to the farthest state.
    pub depth: u32,
    /// What was to be seen in one of them.
    pub sights: u32,
}

/// A broken promise, with the story of how it came to it.
#[derive(Debug)]
pub struct Broken {
    /// Which.
    pub why: String,
    /// What happened, from the start.
    pub story: Vec<String>,
}

impl Broken {
    /// The promise and the story as a text.
    pub fn tell(&self) -> String {
        format!("{}\n  {}", self.why, self.story.join("\n  "))
    }
}

/// The default hasher takes most of the time where nothing is optimised.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

struct Walk<S> {
    states: Vec<S>,
    known: HashMap<S, u32, BuildHasherDefault<Mix>>,
    /// By which move each state was reached first.
    from: Vec<(u32, Label, u32)>,
    /// The moves that come by themselves.
    own: Vec<(u32, u32)>,
}

impl<S: Copy + Eq + Hash + Debug> Walk<S> {
    fn visit(&mut self, state: S, from: u32, label: Label, depth: u32) -> u32 {
        let next = self.states.len() as u32;
        *self.known.entry(state).or_insert_with(|| {
            self.states.push(state);
            self.from.push((from, label, depth));
            next
        })
    }

    fn broken(&self, why: String, mut at: u32, last: Option<Label>) -> Broken {
        let tell = |(name, which): Label| format!("{name} {which}");
        let mut story = vec![format!("{:?}", self.states[at as usize])];
        story.extend(last.map(|label| format!("then {}", tell(label))));
        while at != 0 {
            let (before, label, _) = self.from[at as usize];
            story.insert(0, tell(label));
            at = before;
        }
        Broken { why, story }
    }
}

/// Visits all, or stops at the first broken promise.
///
/// When all states are known it looks whether everything that comes by itself comes to a good end:
/// nothing goes round in circles, and where nothing more comes, all is at rest. So each state, also
/// one in the middle of the worst, is followed by a good end if nobody interferes any more.
pub fn explore<M: Model>(model: &M) -> Result<Seen, Broken> {
    let mut walk = Walk { states: vec![], known: HashMap::default(), from: vec![], own: vec![] };
    walk.visit(model.start(), 0, ("start", 0), 0);
    let mut seen = Seen::default();
    let mut moves = Vec::new();
    let mut at = 0;
    while (at as usize) < walk.states.len() {
        let (state, depth) = (walk.states[at as usize], walk.from[at as usize].2);
        seen.depth = seen.depth.max(depth);
        seen.sights |= model.sights(&state);
        model.check(&state).map_err(|why| walk.broken(why, at, None))?;
        model.moves(&state, &mut moves);
        if !moves.iter().any(|one| one.own) {
            model.at_rest(&state).map_err(|why| walk.broken(format!("for ever: {why}"), at, None))?;
            seen.rests += 1;
        }
        for one in moves.drain(..) {
            seen.moves += 1;
            if let Some(why) = one.broken {
                return Err(walk.broken(why, at, Some(one.label)));
            }
            let to = walk.visit(one.to, at, one.label, depth + 1);
            if one.own {
                walk.own.push((at, to));
            }
        }
        at += 1;
    }
    seen.states = walk.states.len();
    match on_a_circle(seen.states, &walk.own) {
        Some(state) => Err(walk.broken("it goes round in circles by itself".to_owned(), state, None)),
        None => Ok(seen),
    }
}

/// A state from which the moves lead into a circle: one that is left when all that only leads to
/// ends is taken away.
fn on_a_circle(states: usize, moves: &[(u32, u32)]) -> Option<u32> {
    let mut ways_out = vec![0_u32; states];
    let mut first_in = vec![u32::MAX; states];
    let mut next_in = vec![u32::MAX; moves.len()];
    for (index, (from, to)) in moves.iter().enumerate() {
        ways_out[*from as usize] += 1;
        next_in[index] = std::mem::replace(&mut first_in[*to as usize], index as u32);
    }
    let mut ends: Vec<u32> = (0..states as u32).filter(|state| ways_out[*state as usize] == 0).collect();
    while let Some(end) = ends.pop() {
        let mut index = first_in[end as usize];
        while index != u32::MAX {
            let from = moves[index as usize].0;
            ways_out[from as usize] -= 1;
            if ways_out[from as usize] == 0 {
                ends.push(from);
            }
            index = next_in[index as usize];
        }
    }
    (0..states as u32).find(|state| ways_out[*state as usize] > 0)
}
