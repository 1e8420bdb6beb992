//! What a random user has, and whether it is as it was.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::picture;
use crate::dice::Dice;
use crate::repo::{World, commit, put};

/// Everything that the user has, in the repository and beside it.
pub fn build(dice: &mut Dice, world: &World) {
    world.write(
        "carillon.toml",
        "[residue]\ndirectories = [\"test-feature-*\"]\nbranches = [\"kitty/test-*\"]\nworktree_roots = \
         [\".worktrees\"]\ntemp = [\"spec-kitty-*\"]\n",
    );
    world.write(".gitignore", ".env\ncache/\n");
    commit(&world.root(), "Rules");
    std::fs::create_dir(world.beside("tmp")).expect("a directory");
    for number in 0..1 + dice.below(3) {
        let at = [world.path(&format!(".worktrees/u{number}")), world.beside(&format!("user{number}"))];
        let path = &at[usize::try_from(dice.below(2)).expect("small")];
        world.git(&[
            "worktree",
            "add",
            "--quiet",
            "-b",
            &format!("user/{number}"),
            path.to_str().expect("UTF-8"),
        ]);
        if dice.often(50) {
            put(path, "work", "committed");
            commit(path, "The user's work");
        }
        put(path, "not-committed", "precious");
        put(path, ".env", "SECRET=1");
        symlink(world.beside("wt"), path.join("link-to-ours")).expect("a link");
        if dice.often(30) {
            world.git(&["worktree", "lock", path.to_str().expect("UTF-8")]);
        }
    }
    world.commit_on("kitty/test-users", "a branch that a rule names");
    world.commit_on("carillon-users", "nearly ours by its name");
    for name in
        ["test-feature-users/file", ".worktrees/husk-of-the-user/file", "untracked", "cache/built", ".env"]
    {
        world.write(name, "the user's");
    }
    put(&world.beside("tmp"), "spec-kitty-users/file", "the user's");
    std::fs::create_dir_all(world.beside("wt/a-directory-of-the-user")).expect("a directory");
    symlink(world.root(), world.beside("wt/a-link-of-the-user")).expect("a link");
    world.git(&["tag", "v1"]);
    world.git(&["branch", "integration"]);
    world.write("README", "staged");
    world.git(&["add", "README"]);
    world.write("README", "and changed");
}

/// All of the user's at this moment: files with their modes and bytes, references, and what git keeps of his worktrees.
pub fn users(world: &World) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let is_ours = |path: &Path| {
        let text = path.to_string_lossy();
        let below = text.strip_prefix(&*world.beside("").to_string_lossy()).unwrap_or_default().to_owned();
        let ours = [
            "data",
            "wt/w",
            "repo/test-feature-leak",
            "repo/.worktrees/leak",
            "tmp/spec-kitty-leak",
            "tmp/.trash-",
        ];
        // Of .git only what is listed below.
        ours.iter().any(|ours| below.starts_with(ours))
            || below == "repo/.git"
            || below.starts_with("repo/.git/")
            || below.starts_with("wt/.carillon-")
    };
    for (path, content) in picture(&world.beside("")) {
        if !is_ours(&path) {
            found.insert(path.display().to_string(), content);
        }
    }
    for name in ["HEAD", "index", "config", "info/exclude"] {
        let bytes = std::fs::read(world.path(".git").join(name)).unwrap_or_default();
        found.insert(format!(".git/{name}"), format!("{bytes:?}"));
    }
    for entry in std::fs::read_dir(world.path(".git/worktrees")).expect("the user's worktrees").flatten() {
        // git names these after the directory, with another letter for a dot at the beginning.
        if !entry.file_name().to_string_lossy().starts_with(['w', '-']) {
            found.extend(
                picture(&entry.path()).into_iter().map(|(path, text)| (path.display().to_string(), text)),
            );
        }
    }
    let refs = world.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let is_ours = |line: &&str| {
        ["refs/heads/carillon/", "refs/carillon/", "refs/heads/kitty/test-leak", "refs/heads/integration"]
            .iter()
            .any(|ours| line.starts_with(ours))
    };
    found.insert(
        "references".to_owned(),
        refs.lines().filter(|line| !is_ours(line)).collect::<Vec<_>>().join("\n"),
    );
    found
}
