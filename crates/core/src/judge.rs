//! May it go? Facts that somebody observed in, a verdict with its reasons out.
//!
//! A verdict never rests on a guess: what could not be looked at is a fact of its own, and it is never in favour
//! of deleting. Of the reasons for one verdict all are given, the ones for a milder verdict are left out.

use std::fmt;

/// What may be done with something that is left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may go: nothing is lost with it.
    Safe {
        /// Why nothing is lost.
        why: Vec<Reason>,
    },
    /// It may go when the user says so: something would have to be fetched back from the archive.
    NeedsConsent {
        /// What would go with it.
        why: Vec<Reason>,
    },
    /// It stays, whatever anybody says: first the reason has to go.
    Blocked {
        /// What is in the way.
        why: Vec<Reason>,
    },
}

impl Verdict {
    /// The sterner of the lists that is not empty.
    pub(crate) fn of(blocked: Vec<Reason>, consent: Vec<Reason>, safe: Vec<Reason>) -> Verdict {
        if !blocked.is_empty() {
            Verdict::Blocked { why: blocked }
        } else if !consent.is_empty() {
            Verdict::NeedsConsent { why: consent }
        } else {
            Verdict::Safe { why: safe }
        }
    }

    /// The reasons.
    pub fn why(&self) -> &[Reason] {
        match self {
            Verdict::Safe { why } | Verdict::NeedsConsent { why } | Verdict::Blocked { why } => why,
        }
    }

    /// The verdict in one word, as scripts know it.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Safe { .. } => "safe",
            Verdict::NeedsConsent { .. } => "needs_consent",
            Verdict::Blocked { .. } => "blocked",
        }
    }

    /// Whether it may go now, with or without the user's consent to just this.
    pub fn allows(&self, consent: bool) -> bool {
        match self {
            Verdict::Safe { .. } => true,
            Verdict::NeedsConsent { .. } => consent,
            Verdict::Blocked { .. } => false,
        }
    }
}

/// A process that uses something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its process id.
    pub pid: u32,
    /// The short name of its program.
    pub name: String,
    /// How it uses it, as words that can follow a colon.
    pub how: String,
}

/// What is at the path of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The worktree that is meant.
    Worktree,
    /// Nothing. git may still know the worktree.
    Gone,
    /// A link, whatever it leads to.
    Link,
    /// Something that is no directory.
    NotADirectory,
    /// A directory, but not the one that was made there: it was swapped, or leads into another repository.
    Other,
    /// A directory that git does not know as a worktree.
    Unregistered,
    /// The main checkout of the repository.
    MainCheckout,
    /// Something inside of `.git`.
    InsideGit,
}

/// What git is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A merge.
    Merge,
    /// A rebase, or the applying of mails.
    Rebase,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection.
    Bisect,
    /// A change of the index by a git that runs now, or that was killed.
    Index,
}

impl Operation {
    fn in_words(self) -> &'static str {
        match self {
            Operation::Merge => "a merge",
            Operation::Rebase => "a rebase",
            Operation::CherryPick => "a cherry-pick",
            Operation::Revert => "a revert",
            Operation::Bisect => "a bisection",
            Operation::Index => "a change of the index",
        }
    }
}

/// A repository inside of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Where, from the root of the worktree.
    pub path: String,
    /// Whether the worktree's own commits name it.
    pub is_submodule: bool,
    /// Whether it has changes or commits that are nowhere else, as far as can be told.
    pub has_own_work: bool,
}

/// How it is known that the content of commits is on the base branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The base branch has the commits themselves.
    Merged,
    /// Merging them would change no file of the base branch.
    SameTree,
    /// The base branch has commits with the same changes.
    SamePatches,
}

/// What a worktree stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch.
    Branch(String),
    /// A commit, on no branch.
    Detached,
    /// A branch without a commit.
    Unborn,
}

/// The commits of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commits {
    /// What it stands on.
    pub head: Head,
    /// How many were made since the commit that was recorded at its creation.
    pub own: u64,
    /// How many of those no remote branch has; none where the repository has no remote.
    pub unpushed: Option<u64>,
    /// How many lead nowhere else: no other branch, no tag, no remote branch has them.
    pub only_here: u64,
    /// Whether the base branch has their content.
    pub on_base: Option<Proof>,
}

/// What was observed of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// What is at its path.
    pub place: Place,
    /// The ledger says that we made it.
    pub is_ours: bool,
    /// Somebody locked it: the reason, which may be empty.
    pub locked: Option<String>,
    /// Processes that use it.
    pub users: Vec<User>,
    /// Tasks and asks of it that are not over.
    pub open_work: u32,
    /// What git is in the middle of.
    pub operation: Option<Operation>,
    /// Files with conflicts.
    pub unmerged: u64,
    /// Repositories in it.
    pub inner: Vec<Inner>,
    /// What of it could not be looked at, in sentences.
    pub unseen: Vec<String>,
    /// Tracked files that differ from the last commit.
    pub changed: u64,
    /// Files that git does not know.
    pub untracked: u64,
    /// Ignored files that cannot be made again, such as `.env`.
    pub precious: Vec<String>,
    /// Its commits.
    pub commits: Commits,
}

/// Why something may go, needs consent or stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is not there any more.
    Gone,
    /// Nothing in it differs from its last commit.
    Clean,
    /// No commit was made in it.
    NoCommits,
    /// The base branch has its content.
    OnBase(Proof),
    /// All its commits are on a remote branch.
    Pushed,
    /// All its commits are on other branches.
    OnOtherBranches,
    /// Its run is over.
    RunOver,
    /// Its supervisor is gone, and its run is over.
    SupervisorGone,
    /// Its time to be kept is over.
    Expired,
    /// It was put into the trash before.
    InTrash,
    /// An aborted creation of ours left it, and there is nothing in it.
    EmptyHusk,

    /// The ledger does not know it.
    NotOnLedger,
    /// Tracked files were changed.
    Changed(u64),
    /// There are files that git does not know.
    Untracked(u64),
    /// There are ignored files that cannot be made again.
    Precious(Vec<String>),
    /// Commits are on no other branch.
    OnlyHere {
        /// How many.
        commits: u64,
        /// How many of its own commits were never pushed, where there is a remote.
        unpushed: Option<u64>,
    },
    /// Commits are on no branch at all.
    Unreachable(u64),
    /// There is a repository in it, whose work is elsewhere as well.
    InnerRepository(String),
    /// Something of it could not be looked at.
    Unseen(String),
    /// There are files in it.
    HasFiles,
    /// It was put in its place a short while ago, and nothing was done in it yet.
    Fresh {
        /// How long ago, in milliseconds.
        age_ms: i64,
    },
    /// It can still be fetched back, for so many milliseconds.
    StillKept {
        /// The rest of its time.
        for_ms: i64,
    },

    /// What is at its path is not what was made there.
    WrongPlace(Place),
    /// Somebody locked it.
    Locked(String),
    /// A process uses it.
    InUse(User),
    /// A live run holds its lease.
    Leased,
    /// The run or agent that it belongs to is alive.
    OwnerLives,
    /// An ask or a turn that is not over needs what it holds.
    Needed,
    /// It is among the newest of its agent, which are shown.
    Shown,
    /// Tasks that its run started are not over, and may use it.
    Inherited,
    /// Tasks or asks of it are not over.
    OpenWork(u32),
    /// git is in the middle of something.
    InOperation(Operation),
    /// Files have conflicts.
    Unmerged(u64),
    /// A repository in it has work that is nowhere else.
    InnerWork {
        /// Where.
        path: String,
        /// Whether it is a submodule.
        is_submodule: bool,
    },
    /// A worktree has the branch checked out.
    CheckedOut(String),
    /// git knows it as a worktree.
    Registered,
    /// It is not ours.
    NotOurs,
    /// Users share such a program between all they do.
    SharedDaemon(String),
    /// This agent works in it.
    AgentWorksIn(String),

    /// The user said that it stays.
    Kept,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = |n: &u64| if *n == 1 { "1 file".to_owned() } else { format!("{n} files") };
        let count = |n: &u64| if *n == 1 { "1 commit".to_owned() } else { format!("{n} commits") };
        match self {
            Reason::Gone => f.write_str("it is not there any more"),
            Reason::Clean => f.write_str("nothing in it differs from its last commit"),
            Reason::NoCommits => f.write_str("no commit was made in it"),
            Reason::OnBase(Proof::Merged) => f.write_str("its commits are on the base branch"),
            Reason::OnBase(Proof::SameTree) => f.write_str("its content is on the base branch"),
            Reason::OnBase(Proof::SamePatches) => {
                f.write_str("the base branch has commits with the same changes")
            }
            Reason::Pushed => f.write_str("its commits were pushed"),
            Reason::OnOtherBranches => f.write_str("its commits are on other branches"),
            Reason::RunOver => f.write_str("its run is over"),
            Reason::SupervisorGone => f.write_str("its supervisor is gone and its run is over"),
            Reason::Expired => f.write_str("the time for which it is kept is over"),
            Reason::InTrash => f.write_str("it is in the trash"),
            Reason::EmptyHusk => f.write_str("an aborted creation left it, and it is empty"),
            Reason::NotOnLedger => f.write_str("it is not on the ledger"),
            Reason::Changed(n) => write!(f, "{} changed and not committed", files(n)),
            Reason::Untracked(n) => write!(f, "{} that git does not know", files(n)),
            Reason::Precious(paths) => {
                write!(f, "ignored files that cannot be made again: {}", paths.join(", "))
            }
            Reason::OnlyHere { commits, unpushed: Some(unpushed) } => {
                write!(f, "{} on no other branch ({unpushed} unpushed)", count(commits))
            }
            Reason::OnlyHere { commits, unpushed: None } => {
                write!(f, "{} on no other branch", count(commits))
            }
            Reason::Unreachable(n) => write!(f, "{} on no branch at all", count(n)),
            Reason::InnerRepository(path) => write!(f, "there is a repository in it: {path}"),
            Reason::Unseen(why) => write!(f, "it cannot be looked at in full: {why}"),
            Reason::HasFiles => f.write_str("there are files in it"),
            Reason::Fresh { age_ms } => {
                write!(f, "nothing was done in it yet, and it was made {} ago", in_short(*age_ms))
            }
            Reason::StillKept { for_ms } => {
                write!(f, "it can still be fetched back for {} h", for_ms / 3_600_000)
            }
            Reason::WrongPlace(place) => f.write_str(match place {
                Place::Link => "a link is in its place",
                Place::NotADirectory => "something that is no directory is in its place",
                Place::Unregistered => "git does not know it as a worktree",
                Place::MainCheckout => "it is the main checkout of the repository",
                Place::InsideGit => "it is inside of .git",
                Place::Other | Place::Worktree | Place::Gone => "another directory is in its place",
            }),
            Reason::Locked(why) if why.is_empty() => f.write_str("it is locked"),
            Reason::Locked(why) => write!(f, "it is locked: {why}"),
            Reason::InUse(user) => write!(f, "in use by pid {} ({}): {}", user.pid, user.name, user.how),
            Reason::Leased => f.write_str("a live run holds its lease"),
            Reason::OwnerLives => f.write_str("what it belongs to is alive"),
            Reason::Needed => f.write_str("an ask or a turn that is not over needs it"),
            Reason::Shown => f.write_str("it is among the newest of its agent, which shows it"),
            Reason::Inherited => f.write_str("tasks that its run started are not over, and may use it"),
            Reason::OpenWork(1) => f.write_str("a task or ask of it is not over"),
            Reason::OpenWork(n) => write!(f, "{n} tasks and asks of it are not over"),
            Reason::InOperation(operation) => write!(f, "git is in the middle of {}", operation.in_words()),
            Reason::Unmerged(n) => write!(f, "{} with conflicts", files(n)),
            Reason::InnerWork { path, is_submodule: true } => {
                write!(f, "the submodule {path} has work that is nowhere else")
            }
            Reason::InnerWork { path, is_submodule: false } => {
                write!(f, "the repository {path} in it has work that is nowhere else")
            }
            Reason::CheckedOut(path) => write!(f, "it is checked out in {path}"),
            Reason::Registered => f.write_str("git knows it as a worktree"),
            Reason::NotOurs => f.write_str("Carillon did not make it"),
            Reason::SharedDaemon(name) => write!(f, "{name} is shared by all your programs"),
            Reason::AgentWorksIn(name) => write!(f, "agent {name} works in it"),
            Reason::Kept => f.write_str("you said that it stays"),
        }
    }
}

/// A time of less than some days, as people say it.
fn in_short(ms: i64) -> String {
    match ms.max(0) / 1_000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// Judges a worktree.
pub fn worktree(facts: &Worktree) -> Verdict {
    Verdict::of(blocked(facts), consent(facts), safe(facts))
}

/// Whether an archive has to be written before it goes: something in it is nowhere else.
pub fn needs_archive(facts: &Worktree) -> bool {
    facts.changed > 0 || facts.untracked > 0 || !facts.precious.is_empty() || facts.commits.only_here > 0
}

fn blocked(facts: &Worktree) -> Vec<Reason> {
    let mut why = Vec::new();
    match facts.place {
        Place::Worktree | Place::Gone => {}
        Place::Link
        | Place::NotADirectory
        | Place::Other
        | Place::Unregistered
        | Place::MainCheckout
        | Place::InsideGit => why.push(Reason::WrongPlace(facts.place)),
    }
    why.extend(facts.locked.clone().map(Reason::Locked));
    why.extend(facts.users.iter().cloned().map(Reason::InUse));
    if facts.open_work > 0 {
        why.push(Reason::OpenWork(facts.open_work));
    }
    why.extend(facts.operation.map(Reason::InOperation));
    if facts.unmerged > 0 {
        why.push(Reason::Unmerged(facts.unmerged));
    }
    why.extend(
        facts
            .inner
            .iter()
            .filter(|inner| inner.has_own_work)
            .map(|inner| Reason::InnerWork { path: inner.path.clone(), is_submodule: inner.is_submodule }),
    );
    why
}

fn consent(facts: &Worktree) -> Vec<Reason> {
    let mut why = Vec::new();
    if !facts.is_ours {
        why.push(Reason::NotOnLedger);
    }
    if facts.changed > 0 {
        why.push(Reason::Changed(facts.changed));
    }
    if facts.untracked > 0 {
        why.push(Reason::Untracked(facts.untracked));
    }
    if !facts.precious.is_empty() {
        why.push(Reason::Precious(facts.precious.clone()));
    }
    // A clean submodule is made again from what names it; any other repository is not.
    why.extend(
        facts
            .inner
            .iter()
            .filter(|inner| !inner.has_own_work && !inner.is_submodule)
            .map(|inner| Reason::InnerRepository(inner.path.clone())),
    );
    why.extend(facts.unseen.iter().cloned().map(Reason::Unseen));
    let Commits { head, only_here, unpushed, on_base, .. } = &facts.commits;
    if *only_here > 0 && on_base.is_none() {
        why.push(match head {
            Head::Detached => Reason::Unreachable(*only_here),
            Head::Branch(_) | Head::Unborn => Reason::OnlyHere { commits: *only_here, unpushed: *unpushed },
        });
    }
    why
}

fn safe(facts: &Worktree) -> Vec<Reason> {
    let there = if facts.place == Place::Gone { Reason::Gone } else { Reason::Clean };
    let commits = match &facts.commits {
        Commits { own: 0, only_here: 0, .. } => Reason::NoCommits,
        Commits { on_base: Some(proof), .. } => Reason::OnBase(*proof),
        Commits { unpushed: Some(0), .. } => Reason::Pushed,
        Commits { .. } => Reason::OnOtherBranches,
    };
    vec![there, commits]
}
