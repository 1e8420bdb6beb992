//! The small world in which asks are explored: what is on the disk, what is in the engine's memory,
//! and what is outside of both.

use carillon_core::ask::ChildEnd;
use carillon_core::id::{AskId, TaskId};

/// The asks, by number: 0 is the outer one where they are nested.
pub const ASKS: [usize; 2] = [0, 1];
/// The tasks, by number.
pub const TASKS: [usize; 2] = [0, 1];

/// An agent of the world. `A` and `D` only ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    A,
    B,
    C,
    D,
}

/// Which world is explored.
pub struct Plan {
    /// In a word.
    pub name: &'static str,
    /// True: 0 goes from A to B, and while B serves it, it may ask C: that is 1, a child of 0.
    /// False: 0 goes from A to B and 1 from D to B.
    pub nested: bool,
    /// How many asks there are: with 1 the other is never made.
    pub asks: usize,
    /// Whose child each task can be.
    pub task_of: [Option<usize>; 2],
    /// The asks that want a follow-up turn.
    pub follow_up: [bool; 2],
    /// Who may be removed.
    pub removed: Option<Agent>,
    /// Which asks have an agent as their caller; else it is the user, who looks later.
    pub agent_asks: [bool; 2],
    /// Whether B waits for the answer of the ask that it makes.
    pub callee_waits: bool,
    /// Whether the callee may try a task again.
    pub retries: bool,
    /// Whether all ways of an end are tried, or one good and one bad.
    pub all_ends: bool,
    /// Whether the callee's program can go on with a turn that a reboot cut short.
    pub resumes: bool,
    /// Which asks may be cancelled and have a deadline.
    pub ended_early: [bool; 2],
    /// What is wrong in this engine.
    pub fault: Option<Fault>,
    /// Made once: making ids takes long.
    pub ids: ([TaskId; 2], [AskId; 2]),
}

/// Faults that an engine around the pure functions could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The follow-up turn is put in line after the commit that needs it.
    FollowUpAfterCommit,
    /// The answer is shown to who waits before it is committed.
    ShownBeforeCommit,
    /// What the callee has seen counts all the same.
    ExcusesIgnored,
    /// The end of a joined child wakes the callee as any other would.
    ChildWakes,
    /// A boot does not ask what is owed.
    BootForgets,
    /// A boot asks it only of what was not delivered.
    BootForgetsTheDelivered,
    /// A turn that was cut short is gone on with whether its ask is over or not.
    ResumedForNobody,
    /// The message with the answer and the mark that it was delivered are two commits.
    MarkAfterMessage,
    /// A turn of an ask that is over goes back in line and nobody asks what is owed.
    NotAskedAgain,
    /// Children that go on are left out where a final is judged.
    OpenChildForgotten,
    /// A late end overwrites the first one.
    LastEndWins,
}

/// Where an ask stands, on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stands {
    NotMade,
    Open,
    Pending,
    Followed,
    Answered,
    Failed,
    Cancelled,
    TimedOut,
}

impl Stands {
    pub fn is_going_on(self) -> bool {
        matches!(self, Self::Open | Self::Pending | Self::Followed)
    }

    pub fn is_over(self) -> bool {
        self != Self::NotMade && !self.is_going_on()
    }
}

/// The one turn of an ask that counts, on the disk. `Starting` and `Running` are one here: a turn that
/// is not known to run may already do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnRow {
    None,
    Queued,
    Live,
}

/// Whether and how an answer was delivered, on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivered {
    No,
    Call,
    Inbox,
}

/// The message with an answer, on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    None,
    Pending,
    Delivered,
    Undeliverable,
}

/// The row of an ask with its turn, its call and its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AskRow {
    pub stands: Stands,
    pub turn: TurnRow,
    /// Whether a turn cut short was gone on with.
    pub resumed: bool,
    /// Whether a waiting call is recorded.
    pub call: bool,
    pub delivered: Delivered,
    pub note: Note,
    /// How many messages with the answer were written.
    pub notes: u8,
    /// As a child: its caller has seen its end, or wanted it.
    pub seen: bool,
}

/// The newest attempt of a task, on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    None,
    Live,
    Over(ChildEnd),
}

/// The row of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskRow {
    pub attempt: Attempt,
    /// Its owner has seen its end, or wanted it.
    pub seen: bool,
    /// A message of its end waits for its owner.
    pub told: bool,
}

/// What is on the disk. Nothing but a commit changes it, and nothing but that survives everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    pub asks: [AskRow; 2],
    pub tasks: [TaskRow; 2],
    /// The agent that may be removed was.
    pub removed: bool,
}

/// What the engine still has to do after its commits: gone with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Acts(u32);

/// One thing to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    HandOver(usize),
    StopTurn(usize),
    Launch(usize),
    StopTask(usize),
    /// Of a faulty engine: put the follow-up turn in line.
    Reserve(usize),
    /// Of a faulty engine: mark the answer as delivered.
    Mark(usize),
}

impl Act {
    fn bit(self) -> u32 {
        let (kind, which) = match self {
            Self::HandOver(ask) => (0, ask),
            Self::StopTurn(ask) => (1, ask),
            Self::Launch(task) => (2, task),
            Self::StopTask(task) => (3, task),
            Self::Reserve(ask) => (4, ask),
            Self::Mark(ask) => (5, ask),
        };
        1 << (2 * kind + which)
    }
}

impl Acts {
    pub fn has(self, act: Act) -> bool {
        self.0 & act.bit() != 0
    }

    pub fn add(&mut self, act: Act) {
        self.0 |= act.bit();
    }

    pub fn without(self, act: Act) -> Self {
        Self(self.0 & !act.bit())
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What a faulty engine does after its commit and before the next event. Starting and stopping a
    /// process is not in here: it is given away and may take its time.
    pub fn next_of_the_loop(self) -> Option<Act> {
        let kinds = [Act::Reserve, Act::Mark];
        let mut acts = kinds.into_iter().flat_map(|act: fn(usize) -> Act| [act(0), act(1)]);
        acts.find(|act| self.has(*act))
    }

    fn of_task(self, task: usize) -> [bool; 2] {
        [Act::Launch(task), Act::StopTask(task)].map(|act| self.has(act))
    }

    fn swap_tasks(&mut self) {
        let old = *self;
        for kind in [Act::Launch, Act::StopTask] as [fn(usize) -> Act; 2] {
            for task in TASKS {
                *self = self.without(kind(task));
                if old.has(kind(1 - task)) {
                    self.add(kind(task));
                }
            }
        }
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    Down,
    Up(Acts),
}

/// A process under a supervisor, with the record that this leaves. It knows nothing of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Process {
    None,
    Runs,
    /// Well: a turn with its final.
    Succeeded,
    /// A turn that had nothing to say.
    Silent,
    Failed,
    /// By us.
    Stopped,
    /// By a reboot, without a record.
    Vanished,
}

impl Process {
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::None | Self::Runs)
    }
}

/// The client of a waiting call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    None,
    Waits,
    /// It has written the answer out and has not said so to the engine yet.
    Wrote,
    /// It died. `wrote`: after it had written the answer out, and left word of it beside its lock.
    Gone {
        wrote: bool,
    },
}

/// What is outside: crashes of the engine do not touch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outside {
    /// The process of each ask's turn.
    pub turns: [Process; 2],
    pub tasks: [Process; 2],
    pub calls: [Client; 2],
}

/// Everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub store: Store,
    pub engine: Engine,
    pub outside: Outside,
}

impl Plan {
    /// A world with nothing special about it.
    pub fn new(name: &'static str) -> Self {
        let task = |digit: &str| TaskId::parse(&digit.repeat(32)).expect("an id");
        let ask = |digit: &str| AskId::parse(&digit.repeat(32)).expect("an id");
        Self {
            name,
            nested: false,
            asks: 2,
            task_of: [Some(0), Some(1)],
            follow_up: [false; 2],
            removed: None,
            agent_asks: [true; 2],
            callee_waits: true,
            retries: true,
            all_ends: false,
            resumes: false,
            ended_early: [true; 2],
            fault: None,
            ids: ([task("0"), task("1")], [ask("a"), ask("b")]),
        }
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub fn caller(&self, ask: usize) -> Agent {
        match (ask, self.nested) {
            (0, _) => Agent::A,
            (_, true) => Agent::B,
            (_, false) => Agent::D,
        }
    }

    pub fn callee(&self, ask: usize) -> Agent {
        if ask == 1 && self.nested { Agent::C } else { Agent::B }
    }

    /// The ask that this one is a child of.
    pub fn parent(&self, ask: usize) -> Option<usize> {
        (self.nested && ask == 1).then_some(0)
    }

    /// The tasks that can be children of an ask.
    pub fn tasks_of(&self, ask: usize) -> impl Iterator<Item = usize> {
        TASKS.into_iter().filter(move |task| self.task_of[*task] == Some(ask))
    }

    /// Whether there is an agent that the answer is for.
    pub fn has_inbox(&self, store: &Store, ask: usize) -> bool {
        let there = !(store.removed && self.removed == Some(self.caller(ask)));
        there && self.agent_asks[ask]
    }

    /// Makes one state of those that differ in what cannot matter any more: how an ask ended that was no
    /// success, and what became of the children of one that is over. Both were checked when they came.
    /// Tasks of one ask have no order, so in a story their numbers may change places.
    pub fn forget_what_is_past(&self, world: &mut World) {
        for ask in ASKS {
            let row = &mut world.store.asks[ask];
            if !row.stands.is_over() {
                continue;
            }
            row.resumed = false;
            if row.stands != Stands::Answered {
                row.stands = Stands::Failed;
            }
            for task in self.tasks_of(ask) {
                let row = &mut world.store.tasks[task];
                row.seen = false;
                if matches!(row.attempt, Attempt::Over(_)) {
                    row.attempt = Attempt::None;
                }
            }
        }
        if self.task_of[0] == self.task_of[1] {
            self.sort_tasks(world);
        }
    }

    fn sort_tasks(&self, world: &mut World) {
        let mut acts = match world.engine {
            Engine::Down => Acts::default(),
            Engine::Up(acts) => acts,
        };
        let place = |task: usize| {
            let row = &world.store.tasks[task];
            let attempt = match row.attempt {
                Attempt::None => 0,
                Attempt::Live => 1,
                Attempt::Over(end) => 2 + end as u8,
            };
            (attempt, world.outside.tasks[task] as u8, row.seen, row.told, acts.of_task(task))
        };
        if place(0) > place(1) {
            world.store.tasks.swap(0, 1);
            world.outside.tasks.swap(0, 1);
            acts.swap_tasks();
            if let Engine::Up(old) = &mut world.engine {
                *old = acts;
            }
        }
    }

    /// The asks are made, their turns stand in line and their callers wait.
    pub fn start(&self) -> World {
        let ask = |made: bool, call: bool| AskRow {
            stands: if made { Stands::Open } else { Stands::NotMade },
            turn: if made { TurnRow::Queued } else { TurnRow::None },
            resumed: false,
            call,
            delivered: Delivered::No,
            note: Note::None,
            notes: 0,
            seen: false,
        };
        let calls = [self.agent_asks[0], self.agent_asks[1] && !self.nested];
        let client = |waits: bool| if waits { Client::Waits } else { Client::None };
        World {
            store: Store {
                asks: [ask(true, calls[0]), ask(!self.nested, calls[1])],
                tasks: [TaskRow { attempt: Attempt::None, seen: false, told: false }; 2],
                removed: false,
            },
            engine: Engine::Up(Acts::default()),
            outside: Outside {
                turns: [Process::None; 2],
                tasks: [Process::None; 2],
                calls: calls.map(client),
            },
        }
    }
}
