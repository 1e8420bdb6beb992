//! Every combination of what can be observed of a worktree against what the judgement says.

use carillon_core::judge::{
    Commits, Head, Inner, Operation, Place, Proof, Reason, User, Verdict, Worktree, needs_archive, worktree,
};
use carillon_core::residue::{
    self, Branch, Caps, Husk, Kind, Owner, Process, Record, Temp, Use, Watch, branch, husk, process, record,
    temp,
};

fn clean() -> Worktree {
    Worktree {
        place: Place::Worktree,
        is_ours: true,
        locked: None,
        users: Vec::new(),
        open_work: 0,
        operation: None,
        unmerged: 0,
        inner: Vec::new(),
        unseen: Vec::new(),
        changed: 0,
        untracked: 0,
        precious: Vec::new(),
        commits: Commits {
            head: Head::Branch("b".to_owned()),
            own: 0,
            unpushed: None,
            only_here: 0,
            on_base: None,
        },
    }
}

fn user() -> User {
    User { pid: 7, name: "sh".to_owned(), how: "its working directory is there".to_owned() }
}

fn inner(has_own_work: bool, is_submodule: bool) -> Inner {
    Inner { path: "sub".to_owned(), is_submodule, has_own_work }
}

/// What is in the way, each with the words that must be among the reasons.
type Change = (&'static str, fn(&mut Worktree));

const BLOCKING: &[Change] = &[
    ("a link is in its place", |w| w.place = Place::Link),
    ("locked: mine", |w| w.locked = Some("mine".to_owned())),
    ("in use by pid 7 (sh)", |w| w.users.push(user())),
    ("2 tasks and asks", |w| w.open_work = 2),
    ("in the middle of a rebase", |w| w.operation = Some(Operation::Rebase)),
    ("3 files with conflicts", |w| w.unmerged = 3),
    ("the submodule sub has work", |w| w.inner.push(inner(true, true))),
    ("the repository sub in it has work", |w| w.inner.push(inner(true, false))),
];

const ASKING: &[Change] = &[
    ("not on the ledger", |w| w.is_ours = false),
    ("1 file changed", |w| w.changed = 1),
    ("2 files that git does not know", |w| w.untracked = 2),
    ("cannot be made again: .env", |w| w.precious.push(".env".to_owned())),
    ("there is a repository in it: sub", |w| w.inner.push(inner(false, false))),
    ("in full: no", |w| w.unseen.push("no".to_owned())),
    ("4 commits on no other branch (3 unpushed)", |w| {
        w.commits = Commits { own: 4, unpushed: Some(3), only_here: 4, ..w.commits.clone() };
    }),
];

const HARMLESS: &[Change] = &[
    ("", |w| w.inner.push(inner(false, true))),
    ("", |w| w.commits.own = 5),
    ("", |w| w.commits.unpushed = Some(5)),
];

#[test]
fn every_combination_is_judged_by_its_sternest_fact() {
    let bits = BLOCKING.len() + ASKING.len() + HARMLESS.len();
    let changes: Vec<&Change> = BLOCKING.iter().chain(ASKING).chain(HARMLESS).collect();
    for combination in 0..1u32 << bits {
        let mut facts = clean();
        let is_set = |bit: usize| combination & (1 << bit) != 0;
        // The last one first, so that the ones that add to a value come after the ones that replace it.
        for bit in (0..bits).rev().filter(|bit| is_set(*bit)) {
            changes[bit].1(&mut facts);
        }
        let verdict = worktree(&facts);
        let blocking = (0..BLOCKING.len()).filter(|bit| is_set(*bit)).count();
        let asking = (BLOCKING.len()..BLOCKING.len() + ASKING.len()).filter(|bit| is_set(*bit)).count();
        let (word, expected) = match (blocking, asking) {
            (0, 0) => ("safe", 2),
            (0, asking) => ("needs_consent", asking),
            (blocking, _) => ("blocked", blocking),
        };
        assert_eq!((verdict.word(), verdict.why().len()), (word, expected), "{facts:?}: {verdict:?}");
        let allowed = (verdict.allows(false), verdict.allows(true));
        assert_eq!(allowed, (word == "safe", word != "blocked"));
        if combination.count_ones() <= 2 {
            check_words(&verdict, word, &changes, &is_set);
        }
    }
}

fn check_words(verdict: &Verdict, word: &str, changes: &[&Change], is_set: &dyn Fn(usize) -> bool) {
    let words: Vec<String> = verdict.why().iter().map(ToString::to_string).collect();
    let range = match word {
        "blocked" => 0..BLOCKING.len(),
        "needs_consent" => BLOCKING.len()..BLOCKING.len() + ASKING.len(),
        _ => 0..0,
    };
    for bit in range.filter(|bit| is_set(*bit)) {
        let named = words.iter().any(|word| word.contains(changes[bit].0));
        assert!(named, "{:?} is not among {words:?}", changes[bit].0);
    }
}

#[test]
fn every_place_but_the_right_one_is_in_the_way() {
    for (place, word) in [
        (Place::Worktree, "safe"),
        (Place::Gone, "safe"),
        (Place::Link, "blocked"),
        (Place::NotADirectory, "blocked"),
        (Place::Other, "blocked"),
        (Place::Unregistered, "blocked"),
        (Place::MainCheckout, "blocked"),
        (Place::InsideGit, "blocked"),
    ] {
        assert_eq!(worktree(&Worktree { place, ..clean() }).word(), word, "{place:?}");
    }
}

#[test]
fn commits_are_safe_when_they_or_their_content_are_elsewhere() {
    let head = || Head::Branch("b".to_owned());
    let judged = |commits: Commits| {
        let facts = Worktree { commits, ..clean() };
        (worktree(&facts), needs_archive(&facts))
    };
    let commits =
        |own, unpushed, only_here, on_base| Commits { head: head(), own, unpushed, only_here, on_base };
    for (given, reason, archive) in [
        (commits(0, None, 0, None), Reason::NoCommits, false),
        (commits(3, Some(3), 0, Some(Proof::Merged)), Reason::OnBase(Proof::Merged), false),
        (commits(3, Some(3), 3, Some(Proof::SameTree)), Reason::OnBase(Proof::SameTree), true),
        (commits(3, None, 3, Some(Proof::SamePatches)), Reason::OnBase(Proof::SamePatches), true),
        (commits(3, Some(0), 0, None), Reason::Pushed, false),
        (commits(3, None, 0, None), Reason::OnOtherBranches, false),
        (commits(3, Some(2), 0, None), Reason::OnOtherBranches, false),
    ] {
        let why = vec![Reason::Clean, reason];
        assert_eq!(judged(given.clone()), (Verdict::Safe { why }, archive), "{given:?}");
    }
    let lost = Commits { head: Head::Detached, ..commits(2, None, 2, None) };
    assert_eq!(judged(lost), (Verdict::NeedsConsent { why: vec![Reason::Unreachable(2)] }, true));
}

#[test]
fn what_else_is_left_behind_is_judged_by_its_owner() {
    for (owner, is_leased, used, word) in [
        (Owner::Over, false, false, "safe"),
        (Owner::Over, true, false, "blocked"),
        (Owner::Over, false, true, "blocked"),
        (Owner::Alive, false, false, "blocked"),
        (Owner::Unknown, false, false, "needs_consent"),
        (Owner::Unknown, true, true, "blocked"),
        (Owner::Inherited, true, false, "blocked"),
        (Owner::Inherited, false, false, "blocked"),
    ] {
        let users = if used { vec![user()] } else { Vec::new() };
        assert_eq!(temp(&Temp { owner, is_leased, users }).word(), word, "{owner:?} {is_leased} {used}");
    }
    for (owner, is_leased, age_ms, word) in [
        (Owner::Over, false, 10, "safe"),
        (Owner::Over, false, 9, "needs_consent"),
        (Owner::Over, false, -5, "needs_consent"),
        (Owner::Over, true, 10, "blocked"),
        (Owner::Alive, false, 10, "blocked"),
        (Owner::Needed, false, 10, "blocked"),
        (Owner::Shown, false, 10, "blocked"),
        (Owner::Unknown, false, 10, "needs_consent"),
    ] {
        let facts = Record { owner, is_leased, age_ms, kept_ms: 10 };
        assert_eq!(record(&facts).word(), word, "{facts:?}");
    }
    for (owner, is_of_this_home, shared, word) in [
        (Owner::Over, true, None, "safe"),
        (Owner::Unknown, true, None, "needs_consent"),
        (Owner::Alive, true, None, "blocked"),
        (Owner::Over, false, None, "blocked"),
        (Owner::Over, true, Some("gpg-agent".to_owned()), "blocked"),
    ] {
        let facts = Process { owner, is_of_this_home, shared };
        assert_eq!(process(&facts).word(), word, "{facts:?}");
    }
    assert_eq!(residue::trash().word(), "safe");
}

#[test]
fn a_husk_is_ours_only_by_the_journal_and_a_branch_only_by_the_ledger() {
    for bits in 0..16u32 {
        let is_set = |bit: u32| bits & (1 << bit) != 0;
        let users = if is_set(3) { vec![user()] } else { Vec::new() };
        let facts = Husk { is_in_journal: is_set(0), is_registered: is_set(1), has_files: is_set(2), users };
        let word = match (is_set(0) && !is_set(1) && !is_set(3), is_set(2)) {
            (true, false) => "safe",
            (true, true) => "needs_consent",
            (false, _) => "blocked",
        };
        assert_eq!(husk(&facts).word(), word, "{facts:?}");
        let facts = Branch {
            is_ours: is_set(0),
            checked_out: is_set(1).then(|| "/w".to_owned()),
            only_here: u64::from(is_set(2)),
            on_base: is_set(3).then_some(Proof::SameTree),
        };
        let word = match (is_set(0) && !is_set(1), is_set(2) && !is_set(3)) {
            (true, false) => "safe",
            (true, true) => "needs_consent",
            (false, _) => "blocked",
        };
        assert_eq!(branch(&facts).word(), word, "{facts:?}");
    }
}

#[test]
fn the_room_that_temp_takes_is_watched() {
    let mib = 1024 * 1024;
    for (bytes, inodes, expected) in [
        (0, 0, Watch::Fine),
        (6 * 1024 * mib, 10, Watch::Warn),
        (10, 600_000, Watch::Warn),
        (60 * 1024 * mib, 10, Watch::End),
        (10, 6_000_000, Watch::End),
    ] {
        assert_eq!(residue::watch(Use { bytes, inodes }, &Caps::default()), expected, "{bytes} {inodes}");
    }
    let cap = |bytes| Use { bytes, inodes: bytes };
    let own = Caps { warn: cap(1), max: cap(2) };
    for (taken, expected) in [(cap(1), Watch::Fine), (cap(2), Watch::Warn), (cap(3), Watch::End)] {
        assert_eq!(residue::watch(taken, &own), expected, "{taken:?}: a cap is what may be taken");
    }
    assert!(Watch::Fine < Watch::Warn && Watch::Warn < Watch::End);
}

#[test]
fn every_kind_has_its_word() {
    let words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
    assert_eq!(words, ["temp", "run", "log", "worktree", "husk", "branch", "process", "archive", "trash"]);
}
