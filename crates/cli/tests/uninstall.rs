//! `carillon uninstall`: what goes, what stays, and when it is refused.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::World;

/// The paths of one list of the answer, below the world's data directory.
fn below(answer: &serde_json::Value, list: &str, home: &Path) -> Vec<String> {
    let entries = answer[list].as_array().expect("a list");
    let paths = entries.iter().filter_map(|entry| {
        let path = Path::new(entry["path"].as_str().expect("a path"));
        Some(path.strip_prefix(home).ok()?.display().to_string())
    });
    let mut paths: Vec<String> = paths.collect();
    paths.sort();
    paths
}

#[test]
fn without_data_only_what_a_start_makes_again_goes() {
    let mut world = World::started();
    world.add_agent("ada", "echo here");
    world.ok(&["agent", "start", "ada"]);
    world.wait_until_over("ada");
    world.end(libc::SIGTERM);
    fs::create_dir_all(world.home().join("bin/0.1.0")).expect("a folder");
    fs::write(world.home().join("bin/0.1.0/carillon"), "").expect("a file");
    fs::write(world.home().join("mine.txt"), "mine").expect("a file");
    let answer = world.ok(&["uninstall"]);
    let (removed, kept) = (below(&answer, "removed", &world.home()), below(&answer, "kept", &world.home()));
    assert!(removed.contains(&"bin".to_owned()), "{removed:?}");
    for name in ["carillon.db", "runs", "mine.txt"] {
        assert!(kept.contains(&name.to_owned()) && world.home().join(name).exists(), "{name}: {kept:?}");
    }
    world.start(&[]);
    assert_eq!(world.agent("ada")["name"], "ada", "the ledger is as it was");
}

#[test]
fn with_data_nothing_stays_but_what_is_not_ours() {
    let mut world = World::started();
    world.add_agent("ada", "echo here");
    world.ok(&["agent", "start", "ada"]);
    world.wait_until_over("ada");
    world.end(libc::SIGTERM);
    let autostart = world.user_home().join(".config/autostart/dev.carillon.desktop.desktop");
    fs::create_dir_all(autostart.parent().expect("a folder")).expect("a folder");
    let exec = format!("Exec=env \"CARILLON_HOME={}\" \"/a/carillon\"\n", world.home().display());
    fs::write(&autostart, format!("[Desktop Entry]\n{exec}")).expect("a file");
    let programs = world.user_home().join(".local/bin");
    fs::create_dir_all(&programs).expect("a folder");
    std::os::unix::fs::symlink(world.home().join("bin/carillon"), programs.join("carillon")).expect("a link");
    let mine = world.home().join("mine.txt");
    fs::write(&mine, "mine").expect("a file");
    let answer = world.ok(&["uninstall", "--data"]);
    assert_eq!(below(&answer, "kept", &world.home()), ["mine.txt"]);
    let left: Vec<_> = fs::read_dir(world.home()).expect("the data directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!autostart.exists() && programs.join("carillon").symlink_metadata().is_err());
    assert!(world.repo().join("README").exists(), "the repository is the user's");
    fs::remove_file(&mine).expect("removed");
    world.ok(&["uninstall", "--data"]);
    assert!(!world.home().exists());
    let nothing = world.ok(&["uninstall", "--data"]);
    assert_eq!(
        (nothing["removed"].as_array().map(Vec::len), nothing["kept"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
}

#[test]
fn an_entry_that_starts_it_with_another_data_directory_stays() {
    let world = World::new();
    let autostart = world.user_home().join(".config/autostart/dev.carillon.desktop.desktop");
    fs::create_dir_all(autostart.parent().expect("a folder")).expect("a folder");
    for home in [String::new(), format!("env \"CARILLON_HOME={}2\" ", world.home().display())] {
        fs::write(&autostart, format!("[Desktop Entry]\nExec={home}\"/a/carillon\"\n")).expect("a file");
        let answer = world.ok(&["uninstall", "--data"]);
        assert!(autostart.exists(), "{answer}");
        assert_eq!(answer["kept"][0]["reason"], "it starts Carillon with another data directory");
    }
}

#[test]
fn a_link_to_somebody_elses_program_stays() {
    let world = World::new();
    let programs = world.user_home().join(".local/bin");
    fs::create_dir_all(&programs).expect("a folder");
    std::os::unix::fs::symlink("/opt/Carillon.AppImage", programs.join("carillon")).expect("a link");
    let answer = world.ok(&["uninstall", "--data"]);
    assert_eq!(answer["kept"][0]["path"], programs.join("carillon").to_str().expect("UTF-8"));
    assert!(programs.join("carillon").symlink_metadata().is_ok());
}

#[test]
fn it_is_refused_while_anything_runs() {
    let mut world = World::new();
    world.start(&["--at-exit", "keep"]);
    let error = world.fails(&["uninstall", "--data"], 4);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("running")), "{error}");
    world.add_agent("ada", "echo here; sleep 300");
    world.ok(&["agent", "start", "ada"]);
    world.wait_for_text("ada", "here");
    world.end(libc::SIGTERM);
    let error = world.fails(&["uninstall", "--data"], 4);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("kept running")), "{error}");
    assert!(world.home().join("carillon.db").exists());
    world.start(&[]);
    world.ok(&["agent", "stop", "ada"]);
    world.wait_until_over("ada");
    world.end(libc::SIGTERM);
    world.ok(&["uninstall", "--data"]);
    assert!(!world.home().exists());
}

/// A world with a workdir in which nothing was done, and one that was removed with all kinds of work in it.
fn with_workdirs() -> World {
    let world = World::started();
    world.git(&["config", "user.name", "Test"]);
    world.git(&["config", "user.email", "test@localhost"]);
    fs::write(world.repo().join(".git/info/exclude"), ".env\n").expect("a file");
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    world.ok(&["workdirs", "new", "clean", "--project", "repo"]);
    let dir = path_of(&world.ok(&["workdirs", "new", "worked", "--project", "repo"]));
    fs::write(dir.join("open"), "not committed\n").expect("a file");
    fs::write(dir.join(".env"), "SECRET=1\n").expect("a file");
    world
}

fn path_of(workdir: &Value) -> std::path::PathBuf {
    workdir["path"].as_str().expect("a path").into()
}

fn dir_of(world: &World, name: &str) -> std::path::PathBuf {
    let all = world.ok(&["workdirs", "list"]);
    path_of(all.as_array().expect("a list").iter().find(|one| one["name"] == name).expect("it is there"))
}

/// Everything in the repository that is not a checkout: its references, and where its worktrees are.
fn references(world: &World) -> String {
    world.git(&["for-each-ref"]) + &world.git(&["worktree", "list", "--porcelain"])
}

fn reason(answer: &Value, place: &str) -> String {
    let kept = answer["kept"].as_array().expect("a list");
    let found = kept.iter().find(|one| one["path"].as_str().is_some_and(|path| path.contains(place)));
    found.map_or(String::new(), |one| one["reason"].as_str().expect("a reason").to_owned())
}

#[test]
fn without_data_it_tells_where_workdirs_and_archives_are() {
    let mut world = with_workdirs();
    world.ok(&["workdirs", "remove", "worked"]);
    let dir = dir_of(&world, "clean");
    world.end(libc::SIGTERM);
    let before = references(&world);
    let answer = world.ok(&["uninstall"]);
    assert_eq!(reason(&answer, dir.to_str().expect("UTF-8")), "workdir clean on branch carillon/clean");
    let repo = world.repo().canonicalize().expect("it is there");
    assert!(reason(&answer, repo.to_str().expect("UTF-8")).contains("refs/carillon/archive/"), "{answer}");
    assert!(reason(&answer, "/archives").contains(".env"), "{answer}");
    assert!(reason(&answer, "/h/workdirs").contains("workdir"), "{answer}");
    assert_eq!(references(&world), before);
    assert!(dir.join("README").is_file());
    world.start(&[]);
    world.ok(&["workdirs", "restore", "worked"]);
}

#[test]
fn work_that_is_nowhere_else_is_in_the_way_of_all_of_it() {
    let mut world = with_workdirs();
    let (clean, worked) = (dir_of(&world, "clean"), dir_of(&world, "worked"));
    world.end(libc::SIGTERM);
    let before = references(&world);
    let error = world.fails(&["uninstall", "--data"], 4);
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(worked.to_str().expect("UTF-8")), "{message}");
    assert!(message.contains("1 file that git does not know") && message.contains(".env"), "{message}");
    assert!(!message.contains(clean.to_str().expect("UTF-8")), "{message}");
    assert!(clean.join("README").is_file() && worked.join("open").is_file());
    assert!(world.home().join("carillon.db").is_file());
    assert_eq!(references(&world), before);

    // Once it is archived, what it held is kept, and all else goes.
    world.start(&[]);
    world.ok(&["workdirs", "remove", "worked"]);
    world.ok(&["workdirs", "new", "merged", "--project", "repo"]);
    let merged = dir_of(&world, "merged");
    fs::write(merged.join("own"), "x\n").expect("a file");
    for args in [&["add", "own"][..], &["commit", "--quiet", "-m", "Own"]] {
        let done = world.isolated("git").arg("-C").arg(&merged).args(args).output().expect("git");
        assert!(done.status.success(), "{done:?}");
    }
    world.ok(&["workdirs", "merge", "merged"]);
    world.end(libc::SIGTERM);
    assert_eq!(world.git(&["for-each-ref", "refs/carillon"]).lines().count(), 2);
    let answer = world.ok(&["uninstall", "--data"]);
    let kept = reason(&answer, "refs/carillon/archive/");
    assert!(kept.contains("worked: files that were not committed"), "{answer}");
    assert!(kept.contains("ignored files"), "{answer}");
    let references = world.git(&["for-each-ref", "--format=%(refname)", "refs/carillon", "refs/heads"]);
    let lines: Vec<&str> = references.lines().collect();
    assert!(lines.len() == 2 && lines[1] == "refs/heads/main", "{references}");
    assert_eq!(world.git(&["show", &format!("{}:files/open", lines[0])]), "not committed\n");
    assert!(!clean.exists() && world.git(&["worktree", "list"]).lines().count() == 1);
    let left: Vec<_> = fs::read_dir(world.home())
        .expect("the data directory")
        .flatten()
        .map(|one| one.file_name())
        .collect();
    assert_eq!(left, ["archives"], "the secret file has no other place");
    let again = world.ok(&["uninstall", "--data"]);
    assert!(reason(&again, "archives").contains(".env"), "{again}");
    world.git(&["fsck", "--full", "--strict"]);
}

#[test]
fn a_ledger_that_is_gone_does_not_make_work_nobodys() {
    let mut world = with_workdirs();
    let (clean, worked) = (dir_of(&world, "clean"), dir_of(&world, "worked"));
    world.end(libc::SIGTERM);
    for name in ["carillon.db", "carillon.db-wal", "carillon.db-shm"] {
        let _ = fs::remove_file(world.home().join(name));
    }
    let error = world.fails(&["uninstall", "--data"], 4);
    assert!(error["message"].as_str().is_some_and(|said| said.contains("worked")), "{error}");
    assert!(clean.is_dir() && worked.join("open").is_file());
    // Nor does a repository that is gone.
    let aside = world.path("aside");
    fs::rename(world.repo(), &aside).expect("moved");
    let error = world.fails(&["uninstall", "--data"], 4);
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("clean") && message.contains("worked"), "{message}");
    fs::rename(&aside, world.repo()).expect("moved back");
    for name in ["open", ".env"] {
        fs::remove_file(worked.join(name)).expect("removed");
    }
    world.ok(&["uninstall", "--data"]);
    assert!(!world.home().exists(), "what holds nothing of its own goes by what lies there");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn what_is_in_use_stays() {
    let mut world = with_workdirs();
    world.ok(&["workdirs", "remove", "worked"]);
    let clean = dir_of(&world, "clean");
    world.end(libc::SIGTERM);
    let mut shell =
        std::process::Command::new("sleep").arg("1000").current_dir(&clean).spawn().expect("sleep");
    let error = world.fails(&["uninstall", "--data"], 4);
    let in_use = format!("in use by pid {}", shell.id());
    assert!(error["message"].as_str().is_some_and(|said| said.contains(&in_use)), "{error}");
    assert!(clean.join("README").is_file());
    shell.kill().expect("ended");
    shell.wait().expect("ended");
    // A temp directory that somebody still uses is not taken from under him.
    let namespace =
        carillon_tidy::temp::namespace(&world.home(), &world.repo().canonicalize().expect("there"));
    let temp = world.home().join("t").join(namespace).join("inuse001");
    fs::create_dir_all(&temp).expect("a folder");
    let mut shell =
        std::process::Command::new("sleep").arg("1000").current_dir(&temp).spawn().expect("sleep");
    let answer = world.ok(&["uninstall", "--data"]);
    let said = reason(&answer, "inuse001");
    assert!(said.contains(&format!("in use by pid {}", shell.id())), "{answer}");
    assert!(temp.is_dir() && !clean.exists());
    shell.kill().expect("ended");
    shell.wait().expect("ended");
    world.ok(&["uninstall", "--data"]);
    assert!(!temp.exists());
}
