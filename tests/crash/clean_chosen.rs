//! What the user chose of a report, and workdirs in which nothing was done yet.

use serde_json::{Value, json};

use crate::clean::{applied, at, ledger, make_dir, namespace, report, trash};
use crate::untouched;
use crate::workdirs::{aged, commit, git_in, named, new, path, world};

#[test]
fn a_workdir_that_was_just_made_is_not_thrown_away() {
    let world = world();
    let (fresh, done) = (path(&new(&world, "fresh")), path(&new(&world, "done")));
    commit(&world, &done, "own", "x\n");
    world.git(&["merge", "--quiet", "--no-edit", "carillon/done"]);
    let items = report(&world, "worktree");
    let item = at(&items, &fresh);
    assert_eq!(item["verdict"], "needs_consent", "{item}");
    assert!(item["reasons"].to_string().contains("nothing was done in it yet"), "{item}");
    assert_eq!(at(&items, &done)["verdict"], "safe", "its work is merged: {items:?}");
    applied(&world, &[]);
    assert!(fresh.join("README").is_file() && !done.exists());
    // The ledger's word alone does not make one old that was brought back just now.
    ledger(&world, "UPDATE workdirs SET created_ms = 1");
    assert_eq!(at(&report(&world, "worktree"), &fresh)["verdict"], "needs_consent");
    let id = item["id"].as_str().unwrap();
    assert_eq!(at(&applied(&world, &["--consent", id]), &fresh)["removed"], true);
    let old = path(&aged(&world, "old"));
    assert_eq!(at(&report(&world, "worktree"), &old)["verdict"], "safe");
    applied(&world, &[]);
    assert!(!old.exists());
}

#[test]
fn only_what_was_chosen_goes() {
    let world = world();
    let dirs: Vec<_> = ["one", "two", "three"].map(|name| path(&aged(&world, name))).into();
    std::fs::write(dirs[2].join("open"), vec![1; 50_000]).unwrap();
    make_dir(&trash(&world).join("thrown-away"));
    let unknown = namespace(&world).join("unknown1");
    make_dir(&unknown);
    let before = untouched::all(&world, &[]);
    let items = world.ok(&["clean"]);
    let items = items.as_array().unwrap();
    let id = |path: &std::path::Path| at(items, path)["id"].as_str().unwrap().to_owned();
    let (one, three, left) = (id(&dirs[0]), id(&dirs[2]), id(&unknown));

    // Chosen is not consented: what needs it says so and stays.
    let done = applied(&world, &["--only", &one[..12], "--only", &three]);
    assert_eq!(done.len(), 2, "nothing else is told of: {done:?}");
    assert_eq!((&at(&done, &dirs[0])["removed"], dirs[0].exists()), (&json!(true), false));
    let refused = at(&done, &dirs[2])["refused"].as_str().unwrap();
    assert!(refused.contains("it needs your consent") && dirs[2].join("open").is_file(), "{refused}");
    assert!(dirs[1].is_dir() && trash(&world).join("thrown-away/file").is_file() && unknown.is_dir());

    // What went meanwhile is no reason to do nothing of the rest.
    let done = applied(&world, &["--only", &one, "--only", &three, "--consent", &three]);
    let item = at(&done, &dirs[2]);
    assert_eq!((done.len(), &item["removed"], dirs[2].exists()), (1, &json!(true), false), "{done:?}");
    assert!(item["freed_bytes"].as_u64().unwrap() >= 50_000, "{item}");
    assert_eq!(applied(&world, &["--only", &three, "--consent", &three]), Vec::<Value>::new());
    // A word that is not understood, or a consent to what was not chosen, does nothing at all.
    let second = id(&dirs[1]);
    for (args, code) in [
        (&["clean", "--apply", "--only", "0123abcd"][..], 1),
        (&["clean", "--apply", "--only", &second, "--consent", &left], 1),
        (&["clean", "--only", &second], 2),
    ] {
        assert!(world.fails(args, code)["message"].is_string());
        assert!(dirs[1].is_dir() && unknown.is_dir());
    }
    assert_eq!(world.call("residue_apply", json!({"only": []})), json!([]), "an empty choice is none");
    assert!(dirs[1].is_dir() && trash(&world).join("thrown-away/file").is_file());
    assert_eq!(untouched::all(&world, &[]), before);
}

#[test]
fn what_git_refuses_stays_on_the_list_with_its_reason() {
    let world = world();
    let dir = path(&aged(&world, "one"));
    git_in(&world, &dir, &["checkout", "--quiet", "--detach"]);
    world.ok(&["workdirs", "remove", "one"]);
    let (side, name) = (world.path("side"), "carillon/one");
    // The branch went with its workdir; one that stayed is what a user has checked out.
    assert_eq!(world.git(&["branch", "--list", name]), "");
    let dir = path(&aged(&world, "two"));
    git_in(&world, &dir, &["checkout", "--quiet", "--detach"]);
    world.git(&["worktree", "add", "--quiet", side.to_str().unwrap(), "carillon/two"]);
    let removed = world.ok(&["workdirs", "remove", "two"]);
    assert!(removed["notes"].to_string().contains("carillon/two stays"), "{removed}");
    let items = report(&world, "branch");
    let id = items[0]["id"].as_str().unwrap();
    let done = applied(&world, &["--only", id, "--consent", id]);
    assert_eq!((done.len(), &done[0]["removed"], &done[0]["freed_bytes"]), (1, &json!(false), &json!(0)));
    let why = done[0]["refused"].as_str().unwrap();
    assert!(why.contains("checked out in") && why.contains(side.to_str().unwrap()), "{why}");
    assert_eq!(report(&world, "branch").len(), 1, "it is still on the list");
    assert_eq!(named(&world, "nobody"), Value::Null);
}

#[test]
fn the_users_own_worktrees_are_never_on_the_list() {
    let world = world();
    let ours = path(&new(&world, "ours"));
    let inside = world.repo().join(".worktrees/mine");
    let deeper = world.repo().join(".worktrees/deep/er");
    std::fs::write(world.repo().join(".git/info/exclude"), ".worktrees/\n").unwrap();
    for (dir, branch) in [(&inside, "mine"), (&deeper, "carillon/looks-like-ours")] {
        world.git(&["worktree", "add", "--quiet", "-b", branch, dir.to_str().unwrap()]);
        commit(&world, dir, "own", "x\n");
        std::fs::write(dir.join("open"), "y\n").unwrap();
    }
    let others = [inside.as_path(), deeper.as_path()];
    let before = (untouched::all(&world, &others), world.git(&["for-each-ref", "refs/heads"]));
    let status = |dir: &std::path::Path| git_in(&world, dir, &["status", "--porcelain", "--branch"]);
    let said = others.map(status);
    make_dir(&trash(&world).join("one"));
    let items = world.ok(&["clean"]);
    let is_theirs = |item: &Value| item["path"].as_str().unwrap().contains(".worktrees");
    assert!(!items.as_array().unwrap().iter().any(is_theirs), "{items}");
    applied(&world, &[]);
    assert!(!trash(&world).exists() && ours.is_dir(), "it was at work");
    assert_eq!((untouched::all(&world, &others), world.git(&["for-each-ref", "refs/heads"])), before);
    assert_eq!(others.map(status), said);
}
