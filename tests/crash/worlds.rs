//! Random worlds on the built binary: a user with worktrees, branches, files and links of his own, beside ours. After any
//! sequence of our operations, with the engine killed at seams and at random moments, everything of the user's is bit
//! for bit as it was, and everything of ours is on the ledger or gone.
//!
//! `CARILLON_WORLDS` sets how many (2 when it is not set); `CARILLON_SEED` repeats one sequence.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use carillon_engine::seam::{GUARD_SEAMS, RESIDUE_SEAMS, SEAMS, WORKDIR_SEAMS};
use serde_json::Value;

use crate::rounds::{Random, number};
use crate::support::{CARILLON, World, alive, wait};
use crate::{untouched, workdirs};

const OPERATIONS: u64 = 8;
const RULES: &str = "[residue]\ndirectories = [\"test-feature-*\"]\nbranches = [\"kitty/test-*\"]\n\
                     worktree_roots = [\".worktrees\"]\ntemp = [\"spec-kitty-*\"]\nauto = true\n";
/// What a turn of our agent leaves behind.
const LEAK: &str = "cat > /dev/null; mkdir test-feature-leak .worktrees/leak; git branch kitty/test-leak; sleep 0.1; echo done";

/// A running world with all that a user has.
fn build(random: &mut Random) -> World {
    let world = workdirs::world();
    std::fs::write(world.repo().join("carillon.toml"), RULES).expect("a file");
    for number in 0..1 + random.next(3) {
        let beside = world.path(&format!("users-{number}"));
        let inside = world.repo().join(format!(".worktrees/users-{number}"));
        let dir = if random.next(2) == 0 { beside } else { inside };
        let branch = format!("user/{number}");
        world.git(&["worktree", "add", "--quiet", "-b", &branch, dir.to_str().expect("UTF-8")]);
        std::fs::write(dir.join("not-committed"), "precious").expect("a file");
        std::fs::write(dir.join(".env"), "SECRET=1").expect("a file");
        symlink(world.home(), dir.join("link-to-ours")).expect("a link");
    }
    for branch in ["integration", "kitty/test-users", "carillon-users"] {
        world.git(&["branch", branch]);
    }
    for dir in ["test-feature-users", ".worktrees/husk-of-the-user", "made"] {
        std::fs::create_dir_all(world.repo().join(dir)).expect("a directory");
        std::fs::write(world.repo().join(dir).join("file"), "the user's").expect("a file");
    }
    std::fs::write(world.repo().join("README"), "staged").expect("a file");
    world.git(&["add", "README"]);
    std::fs::write(world.repo().join("README"), "and changed").expect("a file");
    let plain = ["--adapter", "plain", "--program", "/bin/sh", "--arg", "-c", "--arg", LEAK];
    world.ok(&[&["profile", "add", "p"], &plain[..]].concat());
    world.ok(&["agent", "add", "bob", "--project", "repo", "--profile", "p", "--mode", "headless"]);
    world
}

/// All of the user's, apart from the branch that is there to be merged into.
fn users(world: &World) -> String {
    let others: Vec<PathBuf> = (0..3).map(|number| world.path(&format!("users-{number}"))).collect();
    let others: Vec<&Path> = others.iter().map(PathBuf::as_path).collect();
    let all = untouched::all(world, &others);
    all.lines().filter(|line| !line.starts_with("refs/heads/integration ")).collect::<Vec<_>>().join("\n")
}

/// The words of one random operation, and what an agent may have done before it.
fn choose(world: &World, random: &mut Random, made: &mut u64) -> Vec<String> {
    let all = world.ok(&["workdirs", "list"]);
    let of = |states: &[&str]| -> Vec<Value> {
        let all = all.as_array().expect("a list").iter();
        all.filter(|one| states.iter().any(|state| one["state"] == *state)).cloned().collect()
    };
    let pick = |random: &mut Random, list: &[Value]| {
        let place = random.next(list.len().max(1) as u64);
        list.get(usize::try_from(place).expect("small")).cloned()
    };
    let (live, gone) = (of(&["active", "merged"]), of(&["tombstoned"]));
    let (live, gone) = (pick(random, &live), pick(random, &gone));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let id = |one: &Value| one["id"].as_str().expect("an id").to_owned();
    match (random.next(10), live, gone) {
        (0, ..) => words(&["clean", "--apply"]),
        (1 | 2, ..) => words(&["ask", "bob", "do it", "--timeout", "60s"]),
        (3 | 4, Some(live), _) => {
            let dir = workdirs::path(&live);
            workdirs::commit(world, &dir, &format!("step-{}", random.next(1 << 40)), "work");
            let how =
                [&[][..], &["--squash"], &["--rebase"]][usize::try_from(random.next(3)).expect("small")];
            words(&[&["workdirs", "merge", &id(&live), "--into", "integration", "--keep"], how].concat())
        }
        (5 | 6, Some(live), _) => {
            std::fs::write(workdirs::path(&live).join("new"), format!("{}", random.next(99)))
                .expect("a file");
            words(&["workdirs", "remove", &id(&live)])
        }
        (7, _, Some(gone)) => words(&["workdirs", "restore", &id(&gone)]),
        (..) => {
            *made += 1;
            words(&["workdirs", "new", &format!("w{made}"), "--project", "repo"])
        }
    }
}

/// Does it while the engine dies, and starts the engine again.
fn operate(world: &mut World, random: &mut Random, words: &[String]) -> String {
    let seams: Vec<&str> =
        [SEAMS, WORKDIR_SEAMS, RESIDUE_SEAMS, GUARD_SEAMS].into_iter().flatten().copied().collect();
    let seam = seams[usize::try_from(random.next(seams.len() as u64)).expect("small")];
    let at_seam = random.next(2) == 0;
    world.end(libc::SIGTERM);
    let mut serve = world.isolated(CARILLON);
    serve.arg("serve");
    if at_seam {
        serve.env("CARILLON_DIE_AT", seam);
    }
    world.start_command(serve);
    let mut command = world.isolated(CARILLON);
    command.args(words).current_dir(world.repo());
    command.env_remove("CARILLON_HOME").env("CARILLON_SOCKET", world.home().join("./carillon.sock"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut command = command.spawn().expect("carillon");
    if !at_seam {
        // The moment is what is tested here; nothing is waited for.
        std::thread::sleep(Duration::from_micros(random.next(250_000)));
        world.crash();
        world.start(&[]);
    } else {
        let engine = world.engine_pid();
        // The seam is met on the way, or it is none of this operation's.
        world.wait_for("the end of the command or of the engine", || {
            let is_over = command.try_wait().expect("it is ours").is_some();
            (is_over || !alive(engine)).then_some(())
        });
        // It may still meet its seam on the way out.
        world.end(libc::SIGTERM);
        world.start(&[]);
    }
    // Whether it worked is another test's question: after a crash it may be told to ask again.
    wait(&mut command);
    format!("{} ({})", words.join(" "), if at_seam { seam } else { "at a random moment" })
}

/// Everything of ours is on the ledger or gone, once the start has settled what was cut short.
fn check_ours(world: &World, when: &str) {
    world.wait_for(&format!("the workdirs to be settled ({when})"), || {
        let all = world.ok(&["workdirs", "list"]);
        let on_its_way = |one: &Value| ["creating", "removing"].iter().any(|state| one["state"] == *state);
        (!all.as_array().expect("a list").iter().any(on_its_way)).then_some(())
    });
    world.wait_for(&format!("the end of all processes ({when})"), || {
        world.processes().is_empty().then_some(())
    });
    world.wait_for(&format!("no temp left ({when})"), || world.temp_entries().is_empty().then_some(()));
    let gone =
        || ["test-feature-leak", ".worktrees/leak"].iter().all(|leak| !world.repo().join(leak).exists());
    world.wait_for(&format!("the leak to go ({when})"), || gone().then_some(()));
    let all = world.ok(&["workdirs", "list"]);
    let rows = all.as_array().expect("a list");
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let here: BTreeSet<PathBuf> =
        rows.iter().filter(|row| row["state"] != "tombstoned").map(workdirs::path).collect();
    let place = world.home().join("workdirs");
    let listed = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let projects = listed(&place).into_iter().filter(|path| path.is_dir() && !is_hidden(path));
    let on_disk: BTreeSet<PathBuf> = projects.flat_map(|project| listed(&project)).collect();
    assert_eq!(on_disk, here, "{when}: the directories of workdirs");
    // The file of context goes with its workdir, and no other goes.
    let live = rows.iter().filter(|row| row["state"] != "tombstoned");
    let contexts: BTreeSet<PathBuf> =
        live.map(|row| place.join(format!("{}.json", text(row, "id")))).collect();
    world.wait_for(&format!("the files of context ({when})"), || {
        let files: BTreeSet<PathBuf> =
            listed(&place).into_iter().filter(|path| path.is_file() && !is_hidden(path)).collect();
        (files == contexts).then_some(())
    });
    let journal = std::fs::read_dir(world.home().join("workdirs/.journal"));
    assert_eq!(journal.map(Iterator::count).unwrap_or(0), 0, "{when}: the journal of creations");
    let branches = world.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/carillon/"]);
    for branch in branches.lines() {
        assert!(rows.iter().any(|row| text(row, "branch") == branch), "{when}: {branch} is nobody's");
    }
    let archives = world.git(&["for-each-ref", "--format=%(refname)", "refs/carillon/"]);
    for archive in archives.lines().filter(|archive| !archive.contains("/guard-")) {
        assert!(rows.iter().any(|row| text(row, "archive_ref") == archive), "{when}: {archive} is nobody's");
    }
    // One that was never made has nothing to archive.
    for row in rows.iter().filter(|row| row["state"] == "tombstoned" && !row["archive_ref"].is_null()) {
        assert_eq!(world.git(&["cat-file", "-t", &text(row, "archive_ref")]), "commit\n", "{when}: {row}");
    }
}

#[test]
fn all_that_is_the_users_stays_whatever_is_done() {
    let seed = number("CARILLON_SEED", 0x5eed_0006);
    for round in 0..number("CARILLON_WORLDS", 2) {
        let mut random = Random::of(seed, round);
        let mut world = build(&mut random);
        let before = users(&world);
        let (mut made, mut history) = (0, Vec::new());
        for _ in 0..OPERATIONS {
            let words = choose(&world, &mut random, &mut made);
            history.push(operate(&mut world, &mut random, &words));
            let when = format!("world {round}: {history:?}");
            check_ours(&world, &when);
            let after = users(&world);
            let differs = || before.lines().zip(after.lines()).find(|(before, after)| before != after);
            assert!(before == after, "{when}: {:?}", differs());
        }
        println!("world {round}: {history:?}");
        world.git(&["fsck", "--full", "--no-dangling"]);
    }
}
