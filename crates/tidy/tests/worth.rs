//! What an archive holds that is nowhere else: whether giving it up would lose anything.

mod repo;

use carillon_tidy::git::archive;
use carillon_tidy::git::look::Recorded;
use carillon_tidy::git::remove::{Order, Outcome, remove};
use repo::{World, commit, git, put};

fn removed(world: &World, id: &str, recorded: &Recorded) -> String {
    let data = world.data();
    let order = Order {
        id,
        recorded,
        data_dir: &data,
        is_ours: true,
        open_work: 0,
        consent: true,
        with_branch: true,
        now_s: 1_700_000_000,
    };
    match remove(&order).expect("removed") {
        Outcome::Removed { archive: Some(archive), .. } => archive.reference,
        Outcome::Removed { branch: Some(branch), .. } => branch.archive_ref.expect("kept"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_archive_is_worth_what_is_nowhere_else() {
    let world = World::new();
    world.write(".git/info/exclude", ".env\n");
    let own = |id: &str, work: &dyn Fn(&Recorded)| {
        let recorded = world.workdir(id);
        work(&recorded);
        let reference = removed(&world, id, &recorded);
        (archive::own(&world.root(), &reference, &world.data()).expect("looked at"), reference)
    };
    let none: [&str; 0] = [];
    assert_eq!(own("clean", &|_| {}).0, none);
    let files = ["files that were not committed"];
    assert_eq!(own("new", &|one| put(&one.path, "new", "x")).0, files);
    assert_eq!(own("changed", &|one| put(&one.path, "README", "x")).0, files);
    let delete = |one: &Recorded| std::fs::remove_file(one.path.join("README")).expect("removed");
    assert_eq!(own("deleted", &delete).0, files);
    let stage = |one: &Recorded| {
        put(&one.path, "README", "staged");
        git(&one.path, &["add", "README"]);
        put(&one.path, "README", "hello\n");
    };
    assert!(own("staged", &stage).0.contains(&files[0].to_owned()));
    assert_eq!(
        own("secret", &|one| put(&one.path, ".env", "x")).0,
        ["ignored files that cannot be made again"]
    );
    let work = |one: &Recorded| {
        put(&one.path, "own", "x");
        commit(&one.path, "Work");
    };
    let (worth, reference) = own("commits", &work);
    assert_eq!(worth, ["1 commit on no branch"]);
    // What a branch leads to again is nothing of the archive's own.
    world.git(&["branch", "again", &format!("{reference}^1")]);
    assert_eq!(archive::own(&world.root(), &reference, &world.data()).expect("looked at"), none);
    // Names in a commit that only looks like an archive mean nothing.
    let taken_away = |one: &Recorded| {
        put(&one.path, "files/own", "x");
        commit(&one.path, "More");
        std::fs::remove_dir_all(&one.path).expect("removed");
    };
    let (worth, reference) = own("gone", &taken_away);
    assert!(reference.ends_with(".branch"), "{reference}");
    assert_eq!(worth, ["1 commit on no branch"]);
    assert!(archive::own(&world.root(), "refs/carillon/archive/no-such", &world.data()).is_err());
    assert!(archive::own(&world.root(), "refs/heads/main", &world.data()).is_err());
}
