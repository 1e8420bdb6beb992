//! Workdirs that cannot be made, and those of agents: what is refused leaves nothing behind.

use serde_json::json;

use crate::support::World;
use crate::untouched;
use crate::workdirs::{branches, new, path, world};

fn agents(world: &World) -> usize {
    world.ok(&["agent", "list"]).as_array().unwrap().len()
}

#[test]
fn an_agent_whose_workdir_cannot_be_made_is_not_added() {
    let world = world();
    world.add_demo_agents(&[]);
    let taken = path(&new(&world, "ada"));
    let before = (untouched::tree(&taken, &|_| false), branches(&world));
    let add = |name: &str| {
        let args = ["agent", "add", name, "--project", "repo", "--profile", "demo", "--workdir", "new"];
        world.run(&[&["--json"], &args[..]].concat())
    };
    let output = add("ada");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("has a workdir"), "{output:?}");
    assert_eq!(agents(&world), 0);
    // A rule that cannot be read, and a branch that is there.
    std::fs::write(world.repo().join("carillon.toml"), "[workdirs]\nsteup = []\n").unwrap();
    assert!(!add("bob").status.success());
    std::fs::remove_file(world.repo().join("carillon.toml")).unwrap();
    world.git(&["branch", "carillon/eve"]);
    let output = add("eve");
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(agents(&world), 0);
    world.git(&["branch", "-d", "carillon/eve"]);
    assert_eq!((untouched::tree(&taken, &|_| false), branches(&world)), before);
    assert_eq!(world.ok(&["clean", "--kind", "husk"]), json!([]));
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 2);
    // The same name works once the place is free.
    world.ok(&["workdirs", "remove", "ada"]);
    assert!(add("ada").status.success());
    assert_eq!(world.agent("ada")["workdir"], json!(taken));
}

#[test]
fn a_repository_without_a_commit_has_nothing_to_begin_from() {
    let world = World::started();
    let empty = world.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let git = |args: &[&str]| {
        let output = world.isolated("git").arg("-C").arg(&empty).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    world.ok(&["project", "add", empty.to_str().unwrap()]);
    let before = untouched::tree(&empty, &|_| false);
    let error = world.fails(&["workdirs", "new", "one", "--project", "empty"], 1);
    assert!(error["message"].as_str().unwrap().contains("main"), "{error}");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&["for-each-ref"]), "");
    assert_eq!(untouched::tree(&empty, &|_| false), before);
    assert_eq!(world.ok(&["clean", "--kind", "husk"]), json!([]));
}
