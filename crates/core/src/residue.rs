//! What is left behind besides worktrees: its kinds, and the judgement of each.

use crate::judge::{Proof, Reason, User, Verdict};
use crate::limits;

/// A kind of what is left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The temp directory of a run.
    Temp,
    /// The directory of a run with its records.
    Run,
    /// The log of a run.
    Log,
    /// A worktree.
    Worktree,
    /// What an aborted creation of a worktree left.
    Husk,
    /// A branch of a workdir.
    Branch,
    /// A process whose supervisor is gone.
    Process,
    /// What is kept of a workdir that is gone.
    Archive,
    /// What was put into a trash.
    Trash,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 9] = [
        Kind::Temp,
        Kind::Run,
        Kind::Log,
        Kind::Worktree,
        Kind::Husk,
        Kind::Branch,
        Kind::Process,
        Kind::Archive,
        Kind::Trash,
    ];

    /// The kind in one word, as scripts know it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Temp => "temp",
            Kind::Run => "run",
            Kind::Log => "log",
            Kind::Worktree => "worktree",
            Kind::Husk => "husk",
            Kind::Branch => "branch",
            Kind::Process => "process",
            Kind::Archive => "archive",
            Kind::Trash => "trash",
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(|| {
            let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
            format!("{word:?} is no kind of residue; there is {}", all.join(", "))
        })
    }
}

/// Whether something goes without anybody saying so: the stated policy. Only what is safe, and only what the
/// ledger proves to be ours, `is_proved`. A worktree never: somebody may mean to work in it.
pub fn goes_by_itself(kind: Kind, is_proved: bool, verdict: &Verdict) -> bool {
    let by_policy = match kind {
        Kind::Temp
        | Kind::Run
        | Kind::Log
        | Kind::Husk
        | Kind::Branch
        | Kind::Process
        | Kind::Archive
        | Kind::Trash => true,
        Kind::Worktree => false,
    };
    by_policy && is_proved && matches!(verdict, Verdict::Safe { .. })
}

/// What the ledger adds to what git says of a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnLedger {
    /// The agents that work in it, by their names.
    pub agents: Vec<String>,
    /// The user said that it stays.
    pub is_kept: bool,
    /// How long ago it was put in its place, in milliseconds, where that is known. A negative age is one of a clock
    /// that was set back.
    pub age_ms: Option<i64>,
}

/// The judgement of a worktree, with what the ledger adds.
///
/// One in which nothing was done yet looks like one that nobody needs, and may be what somebody is about to work
/// in: for [`limits::WORKDIR_FRESH_MS`] it is a question to the user.
pub fn worktree(judged: Verdict, known: OnLedger) -> Verdict {
    let (mut blocked, mut consent, mut safe) = (Vec::new(), Vec::new(), Vec::new());
    blocked.extend(known.agents.into_iter().map(Reason::AgentWorksIn));
    match judged {
        Verdict::Blocked { why } => blocked.extend(why),
        Verdict::NeedsConsent { why } => consent.extend(why),
        Verdict::Safe { why } => safe = why,
    }
    let is_untouched = safe.contains(&Reason::NoCommits) && !safe.contains(&Reason::Gone);
    if let Some(age_ms) = known.age_ms.filter(|age| is_untouched && *age < limits::WORKDIR_FRESH_MS) {
        consent.push(Reason::Fresh { age_ms: age_ms.max(0) });
    }
    if known.is_kept {
        consent.push(Reason::Kept);
    }
    Verdict::of(blocked, consent, safe)
}

/// What the ledger says of the run that something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It is over.
    Over,
    /// It is alive.
    Alive,
    /// It is over, and an ask or a turn that is not over needs its leavings.
    Needed,
    /// It is over, and among the newest of its agent, which are shown.
    Shown,
    /// It is over, and tasks that it started are not.
    Inherited,
    /// The ledger knows no such run. An empty ledger proves nothing.
    Unknown,
}

/// What was observed of a temp directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temp {
    /// Its run.
    pub owner: Owner,
    /// Whether somebody holds its lease.
    pub is_leased: bool,
    /// Processes that use it.
    pub users: Vec<User>,
}

/// Judges a temp directory.
pub fn temp(facts: &Temp) -> Verdict {
    let mut blocked = Vec::new();
    // While tasks need it, it is the engine that holds the lease.
    if facts.is_leased && facts.owner != Owner::Inherited {
        blocked.push(Reason::Leased);
    }
    blocked.extend(facts.users.iter().cloned().map(Reason::InUse));
    let consent = owner(facts.owner, &mut blocked);
    Verdict::of(blocked, consent, vec![Reason::RunOver])
}

/// An owner that lives or is looked at is in the way, and an unknown one is a question to the user.
fn owner(owner: Owner, blocked: &mut Vec<Reason>) -> Vec<Reason> {
    match owner {
        Owner::Over => return Vec::new(),
        Owner::Alive => blocked.push(Reason::OwnerLives),
        Owner::Needed => blocked.push(Reason::Needed),
        Owner::Shown => blocked.push(Reason::Shown),
        Owner::Inherited => blocked.push(Reason::Inherited),
        Owner::Unknown => return vec![Reason::NotOnLedger],
    }
    Vec::new()
}

/// What was observed of a record that is kept for some time: a run's directory, a log, an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it belongs to.
    pub owner: Owner,
    /// Whether somebody holds its lease.
    pub is_leased: bool,
    /// How long ago it became what it is, in milliseconds. A negative age is one of a clock that was set back.
    pub age_ms: i64,
    /// For how long it is kept, in milliseconds.
    pub kept_ms: i64,
}

/// Judges a record.
pub fn record(facts: &Record) -> Verdict {
    let mut blocked = Vec::new();
    if facts.is_leased {
        blocked.push(Reason::Leased);
    }
    let mut consent = owner(facts.owner, &mut blocked);
    let for_ms = facts.kept_ms.saturating_sub(facts.age_ms.max(0));
    if for_ms > 0 {
        consent.push(Reason::StillKept { for_ms });
    }
    Verdict::of(blocked, consent, vec![Reason::Expired])
}

/// What lies in a trash was judged before it was put there.
pub fn trash() -> Verdict {
    Verdict::Safe { why: vec![Reason::InTrash] }
}

/// What was observed of a directory that looks like an aborted creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Husk {
    /// The journal of creations has just this directory.
    pub is_in_journal: bool,
    /// git knows it as a worktree.
    pub is_registered: bool,
    /// There is a regular file in it.
    pub has_files: bool,
    /// Processes that use it.
    pub users: Vec<User>,
}

/// Judges a husk.
pub fn husk(facts: &Husk) -> Verdict {
    let mut blocked = Vec::new();
    if !facts.is_in_journal {
        blocked.push(Reason::NotOurs);
    }
    if facts.is_registered {
        blocked.push(Reason::Registered);
    }
    blocked.extend(facts.users.iter().cloned().map(Reason::InUse));
    let consent = if facts.has_files { vec![Reason::HasFiles] } else { Vec::new() };
    Verdict::of(blocked, consent, vec![Reason::EmptyHusk])
}

/// What was observed of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The ledger says that we made it.
    pub is_ours: bool,
    /// The worktree that has it checked out.
    pub checked_out: Option<String>,
    /// How many of its commits no other branch, tag or remote branch has.
    pub only_here: u64,
    /// Whether the base branch has their content.
    pub on_base: Option<Proof>,
}

/// Judges a branch.
pub fn branch(facts: &Branch) -> Verdict {
    let mut blocked = Vec::new();
    if !facts.is_ours {
        blocked.push(Reason::NotOurs);
    }
    blocked.extend(facts.checked_out.clone().map(Reason::CheckedOut));
    let mut consent = Vec::new();
    if facts.only_here > 0 && facts.on_base.is_none() {
        consent.push(Reason::OnlyHere { commits: facts.only_here, unpushed: None });
    }
    let safe = facts.on_base.map_or(Reason::OnOtherBranches, Reason::OnBase);
    Verdict::of(blocked, consent, vec![safe])
}

/// What was observed of a process with the marker of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its run.
    pub owner: Owner,
    /// The run belongs to this data directory.
    pub is_of_this_home: bool,
    /// Users share it between all their programs: its name.
    pub shared: Option<String>,
}

/// Judges a process.
pub fn process(facts: &Process) -> Verdict {
    let mut blocked = Vec::new();
    if !facts.is_of_this_home {
        blocked.push(Reason::NotOurs);
    }
    blocked.extend(facts.shared.clone().map(Reason::SharedDaemon));
    let consent = owner(facts.owner, &mut blocked);
    Verdict::of(blocked, consent, vec![Reason::SupervisorGone])
}

/// How much room a run's temp directory takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Bytes on the disk.
    pub bytes: u64,
    /// Files and directories.
    pub inodes: u64,
}

/// How much room a run's temp directory may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// One that takes more is named to the user.
    pub warn: Use,
    /// A run whose directory takes more is ended.
    pub max: Use,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            warn: Use { bytes: limits::TEMP_WARN_BYTES, inodes: limits::TEMP_WARN_INODES },
            max: Use { bytes: limits::TEMP_MAX_BYTES, inodes: limits::TEMP_MAX_INODES },
        }
    }
}

impl Use {
    /// Whether it takes more of anything than that.
    fn is_beyond(self, cap: Use) -> bool {
        self.bytes > cap.bytes || self.inodes > cap.inodes
    }
}

/// What is done about it, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watch {
    /// Nothing.
    #[default]
    Fine,
    /// The user is told, once for each run.
    Warn,
    /// The run is ended, and its record says so.
    End,
}

/// What is done about the room that a run's temp directory takes.
pub fn watch(taken: Use, caps: &Caps) -> Watch {
    if taken.is_beyond(caps.max) {
        Watch::End
    } else if taken.is_beyond(caps.warn) {
        Watch::Warn
    } else {
        Watch::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safe() -> Verdict {
        Verdict::Safe { why: vec![Reason::Clean] }
    }

    #[test]
    fn by_itself_goes_what_is_safe_and_proved_and_no_worktree() {
        let others = [
            Verdict::NeedsConsent { why: vec![Reason::Kept] },
            Verdict::Blocked { why: vec![Reason::Leased] },
        ];
        for kind in Kind::ALL {
            assert_eq!(goes_by_itself(kind, true, &safe()), kind != Kind::Worktree, "{kind:?}");
            assert!(!goes_by_itself(kind, false, &safe()), "{kind:?} without a proof");
            assert!(others.iter().all(|verdict| !goes_by_itself(kind, true, verdict)), "{kind:?}");
            assert_eq!(kind.word().parse(), Ok(kind));
        }
        assert!("worktrees".parse::<Kind>().is_err_and(|why| why.contains("temp, run, log")));
    }

    #[test]
    fn what_the_ledger_adds_makes_a_verdict_only_sterner() {
        let of = |agents: &[&str], is_kept, age_ms| OnLedger {
            agents: agents.iter().map(|name| (*name).to_owned()).collect(),
            is_kept,
            age_ms,
        };
        let consent = |why: &[Reason]| Verdict::NeedsConsent { why: why.to_vec() };
        assert_eq!(worktree(safe(), of(&[], false, None)), safe());
        assert_eq!(worktree(safe(), of(&[], true, None)), consent(&[Reason::Kept]));
        let works = Reason::AgentWorksIn("ada".to_owned());
        assert_eq!(worktree(safe(), of(&["ada"], true, None)), Verdict::Blocked { why: vec![works.clone()] });
        let dirty = || consent(&[Reason::Changed(1)]);
        assert_eq!(worktree(dirty(), of(&[], true, None)), consent(&[Reason::Changed(1), Reason::Kept]));
        let leased = Verdict::Blocked { why: vec![Reason::Leased] };
        assert_eq!(
            worktree(leased, of(&["ada"], false, Some(5))),
            Verdict::Blocked { why: vec![works, Reason::Leased] }
        );
    }

    #[test]
    fn one_in_which_nothing_was_done_yet_is_asked_for_until_it_is_a_day_old() {
        let untouched = || Verdict::Safe { why: vec![Reason::Clean, Reason::NoCommits] };
        let aged =
            |judged, age_ms| worktree(judged, OnLedger { age_ms: Some(age_ms), ..OnLedger::default() });
        let asked = |age_ms| Verdict::NeedsConsent { why: vec![Reason::Fresh { age_ms }] };
        assert_eq!(aged(untouched(), 0), asked(0));
        assert_eq!(aged(untouched(), -5), asked(0), "the clock was set back");
        let last = limits::WORKDIR_FRESH_MS - 1;
        assert_eq!(aged(untouched(), last), asked(last));
        assert_eq!(aged(untouched(), limits::WORKDIR_FRESH_MS), untouched());
        assert_eq!(worktree(untouched(), OnLedger::default()), untouched(), "nobody knows how old it is");
        let merged = || Verdict::Safe { why: vec![Reason::Clean, Reason::OnBase(Proof::Merged)] };
        assert_eq!(aged(merged(), 0), merged(), "its work is done");
        let gone = || Verdict::Safe { why: vec![Reason::Gone, Reason::NoCommits] };
        assert_eq!(aged(gone(), 0), gone(), "there is nothing to work in");
        assert_eq!(
            asked(90_000).why()[0].to_string(),
            "nothing was done in it yet, and it was made 1 min ago"
        );
    }
}
