//! Stopping a merge or a removal of a workdir by its command and by Ctrl+C, on a real engine whose git is held.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;
use support::{CARILLON, World, send};

/// An engine whose git is held at the call that has the word of the file `at` among its arguments, and one workdir with a
/// commit that is nowhere else.
struct Held {
    world: World,
    dir: PathBuf,
}

impl Held {
    fn new() -> Self {
        let mut world = World::new();
        let dir = world.path("holding");
        let held = dir.display();
        let path = std::env::var("PATH").expect("a PATH");
        world.git(&["config", "user.name", "Test"]);
        world.git(&["config", "user.email", "test@localhost"]);
        fs::create_dir(&dir).expect("a directory");
        // What is held goes on when it may: the same call, on the real git.
        let text = format!(
            "#!/bin/sh\nat=$(cat {held}/at 2>/dev/null)\nfor arg; do\n  if [ -n \"$at\" ] && [ \"$arg\" = \"$at\" ]; then\n    rm {held}/at\n    echo held > {held}/told\n    read go < {held}/go\n    break\n  fi\ndone\nPATH={path}\nexec git \"$@\"\n"
        );
        fs::write(dir.join("git"), text).expect("a script");
        fs::set_permissions(dir.join("git"), fs::Permissions::from_mode(0o755)).expect("a mode");
        for name in ["told", "go"] {
            assert!(world.isolated("mkfifo").arg(dir.join(name)).status().expect("mkfifo").success());
        }
        let mut engine = world.isolated(CARILLON);
        engine.arg("serve").env("PATH", format!("{held}:{path}"));
        world.start_command(engine);
        world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
        let this = Self { world, dir };
        this.make("storm");
        this
    }

    fn make(&self, name: &str) {
        let made = self.world.ok(&["workdirs", "new", name, "--project", "repo"]);
        let path = PathBuf::from(made["path"].as_str().expect("a path"));
        fs::write(path.join(name), "work\n").expect("a file");
        for args in [vec!["add", "--all"], vec!["commit", "--quiet", "-m", name]] {
            let done = self.world.isolated("git").arg("-C").arg(&path).args(args).status().expect("git");
            assert!(done.success());
        }
        fs::write(self.world.repo().join(format!("later-{name}")), "on main\n").expect("a file");
        self.world.git(&["add", "--all"]);
        self.world.git(&["commit", "--quiet", "-m", "Later"]);
    }

    /// Begins a command, and waits until its git is held.
    fn begin(&self, at: &str, args: &[&str]) -> Child {
        fs::write(self.dir.join("at"), at).expect("a file");
        let child = self.beside(args);
        let mut told = String::new();
        fs::File::open(self.dir.join("told")).expect("a pipe").read_to_string(&mut told).expect("a word");
        child
    }

    fn beside(&self, args: &[&str]) -> Child {
        let mut command = self.world.isolated(CARILLON);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("carillon")
    }

    fn go_on(&self) {
        let mut go = fs::File::options().write(true).open(self.dir.join("go")).expect("a pipe");
        go.write_all(b"go\n").expect("written");
    }

    fn state(&self, name: &str) -> Value {
        let all = self.world.ok(&["workdirs", "list"]);
        let found = all.as_array().expect("a list").iter().find(|one| one["name"] == name);
        found.expect("it is there")["state"].clone()
    }

    fn refs(&self) -> String {
        self.world.git(&["show-ref"])
    }
}

/// How a command ended, with what it said of its errors.
fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("its end");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_interrupt_stops_a_merge_in_the_engine() {
    let held = Held::new();
    let before = held.refs();
    let merging = held.begin("merge-tree", &["workdirs", "merge", "storm"]);
    send(merging.id(), libc::SIGINT);
    let (code, said) = end(merging);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("it was stopped before anything was changed"), "{said}");
    assert_eq!((held.state("storm"), held.refs()), ("active".into(), before));
    held.world.ok(&["workdirs", "merge", "storm"]);
    assert_eq!(held.state("storm"), "tombstoned");
}

#[test]
fn a_removal_is_stopped_by_its_command_until_its_archive_stands() {
    let held = Held::new();
    let before = held.refs();
    let error = held.world.run(&["workdirs", "stop", "storm"]);
    assert_eq!(error.status.code(), Some(1), "nothing is under way");
    let removing = held.begin("commit-tree", &["workdirs", "remove", "storm"]);
    assert_eq!(held.state("storm"), "removing");
    assert_eq!(held.world.ok(&["workdirs", "stop", "storm"])["stopped"], true);
    let (code, said) = end(removing);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("it was stopped before anything was changed"), "{said}");
    assert_eq!((held.state("storm"), held.refs()), ("active".into(), before));

    let removing = held.begin("remove", &["workdirs", "remove", "storm"]);
    let stopped = held.world.call("workdir_stop", serde_json::json!({"workdir": "storm"}));
    assert_eq!(stopped["stopped"], false);
    assert!(
        stopped["reason"].as_str().is_some_and(|reason| reason.contains("goes on to its end")),
        "{stopped}"
    );
    held.go_on();
    assert_eq!(end(removing).0, Some(0));
    assert_eq!(held.state("storm"), "tombstoned");
}

#[test]
fn what_waits_for_its_turn_is_stopped_before_it_begins() {
    let held = Held::new();
    held.make("calm");
    let merging = held.begin("merge-tree", &["workdirs", "merge", "storm"]);
    let waiting = held.beside(&["workdirs", "remove", "calm"]);
    support::until("the removal to be in line", || {
        let stopped = held.world.call("workdir_stop", serde_json::json!({"workdir": "calm"}));
        (stopped["stopped"] == true).then_some(())
    });
    held.go_on();
    assert_eq!(end(merging).0, Some(0));
    assert_eq!(end(waiting).0, Some(4));
    assert_eq!((held.state("storm"), held.state("calm")), ("tombstoned".into(), "active".into()));
}

#[test]
fn after_a_crash_a_merge_is_as_if_it_had_not_begun() {
    let mut held = Held::new();
    let before = held.refs();
    let merging = held.begin("merge-tree", &["workdirs", "merge", "storm"]);
    held.world.crash();
    held.go_on();
    assert_ne!(end(merging).0, Some(0));
    assert_eq!(held.refs(), before);
    held.world.start(&[]);
    assert_eq!(held.state("storm"), "active");
}
