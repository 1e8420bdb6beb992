//! One place for temp: whatever runs writes where the reaper looks, and nowhere else.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{CARILLON, World, wait};

/// Tells where its temp is by each of its variables, writes there, and waits.
const SCRIPT: &str = "printf '%s\\n' \"$TMPDIR\" \"$TMP\" \"$TEMP\" \"$CLAUDE_CODE_TMPDIR\" > OUT.part; \
                      d=$(mktemp -d) && echo x > \"$d/.hidden\"; mv OUT.part OUT; \
                      until [ -e GATE ]; do sleep 0.05; done; echo done";

#[test]
fn whatever_runs_writes_where_the_reaper_looks() {
    let world = World::started();
    let kinds = ["terminal", "task", "turn"];
    let out = |kind: &str| world.path(&format!("out-{kind}"));
    let script = |kind: &str| {
        let gate = world.path("gate").display().to_string();
        SCRIPT.replace("OUT", &out(kind).display().to_string()).replace("GATE", &gate)
    };
    world.add_agent("terminal", &script("terminal"));
    world.ok(&["agent", "start", "terminal"]);
    world.ok(&["run", "--cwd", world.repo().to_str().unwrap(), "--", "sh", "-c", &script("task")]);
    let shell = ["--adapter", "plain", "--program", "/bin/sh", "--arg", "-c", "--arg"];
    world.ok(&[&["profile", "add", "sh"][..], &shell, &[&script("turn")]].concat());
    world.ok(&["agent", "add", "turn", "--project", "repo", "--profile", "sh", "--mode", "headless"]);
    let mut ask = world.isolated(CARILLON);
    let mut ask =
        ask.args(["ask", "turn", "hello"]).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();

    let root = world.home().join("t").canonicalize().expect("the base");
    let mut written = BTreeSet::new();
    for kind in kinds {
        world.wait_for(kind, || out(kind).exists().then_some(()));
        let text = std::fs::read_to_string(out(kind)).unwrap();
        let told: BTreeSet<PathBuf> = text.lines().map(PathBuf::from).collect();
        assert_eq!((text.lines().count(), told.len()), (4, 1), "{kind}: all variables say the same: {text}");
        let dir = told.into_iter().next().unwrap();
        assert!(
            dir.starts_with(&root) && dir.strip_prefix(&root).unwrap().components().count() == 2,
            "{kind}"
        );
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "{kind}: mktemp wrote there");
        written.insert(dir);
    }
    assert_eq!(written.len(), kinds.len(), "each has its own");
    let report = world.ok(&["clean", "--kind", "temp"]);
    let items = report.as_array().expect("a list");
    let listed: BTreeSet<PathBuf> =
        items.iter().map(|item| PathBuf::from(item["path"].as_str().unwrap())).collect();
    assert_eq!(listed, written, "the reaper sees just these");
    assert!(items.iter().all(|item| item["run"].is_string() && item["verdict"] == "blocked"), "{report}");
    assert_eq!(world.temp_entries().into_iter().collect::<BTreeSet<_>>(), written, "and there are no others");

    std::fs::write(world.path("gate"), "").unwrap();
    assert!(wait(&mut ask).success());
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}
