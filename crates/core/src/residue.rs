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

/// The judgement of a worktree, with what the ledger adds to what git says: the agents that work in it, and
/// whether the user said that it stays.
pub fn worktree(judged: Verdict, agents: Vec<String>, is_kept: bool) -> Verdict {
    let (mut blocked, mut consent, mut safe) = (Vec::new(), Vec::new(), Vec::new());
    blocked.extend(agents.into_iter().map(Reason::AgentWorksIn));
    match judged {
        Verdict::Blocked { why } => blocked.extend(why),
        Verdict::NeedsConsent { why } => consent.extend(why),
        Verdict::Safe { why } => safe = why,
    }
    if is_kept {
        consent.push(Reason::Kept);
    }
    Verdict::of(blocked, consent, safe)
}

/// What the ledger says of the run that something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It is over.
    Over,
    /// It is alive, or something that needs its leavings is.
    Alive,
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
    if facts.is_leased {
        blocked.push(Reason::Leased);
    }
    blocked.extend(facts.users.iter().cloned().map(Reason::InUse));
    let consent = owner(facts.owner, &mut blocked);
    Verdict::of(blocked, consent, vec![Reason::RunOver])
}

/// A live owner is in the way, and an unknown one is a question to the user.
fn owner(owner: Owner, blocked: &mut Vec<Reason>) -> Vec<Reason> {
    match owner {
        Owner::Over => Vec::new(),
        Owner::Alive => {
            blocked.push(Reason::OwnerLives);
            Vec::new()
        }
        Owner::Unknown => vec![Reason::NotOnLedger],
    }
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

/// What is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Nothing.
    Fine,
    /// The user is told, once for each run.
    Warn,
    /// The run is ended, and its record says so.
    End,
}

/// What is done about the room that a run's temp directory takes.
pub fn watch(taken: Use) -> Watch {
    if taken.bytes > limits::TEMP_MAX_BYTES || taken.inodes > limits::TEMP_MAX_INODES {
        Watch::End
    } else if taken.bytes > limits::TEMP_WARN_BYTES || taken.inodes > limits::TEMP_WARN_INODES {
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
        let agent = || vec!["ada".to_owned()];
        assert_eq!(worktree(safe(), vec![], false), safe());
        assert_eq!(worktree(safe(), vec![], true), Verdict::NeedsConsent { why: vec![Reason::Kept] });
        let works = Reason::AgentWorksIn("ada".to_owned());
        assert_eq!(worktree(safe(), agent(), true), Verdict::Blocked { why: vec![works.clone()] });
        let dirty = Verdict::NeedsConsent { why: vec![Reason::Changed(1)] };
        let both = vec![Reason::Changed(1), Reason::Kept];
        assert_eq!(worktree(dirty, vec![], true), Verdict::NeedsConsent { why: both });
        let leased = Verdict::Blocked { why: vec![Reason::Leased] };
        assert_eq!(worktree(leased, agent(), false), Verdict::Blocked { why: vec![works, Reason::Leased] });
    }
}
