//! Measures what a guard costs around a command that leaves nothing: a repository with many branches and worktrees.
//!
//! `cargo run --release -p carillon-tidy --example guard [BRANCHES] [WORKTREES] [DIRECTORY]` prints the times of
//! some rounds, with the references in one file and each in a file of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use carillon_tidy::guard::{Begun, Guard, Order};

const ROUNDS: usize = 7;
const RULES: &str = "[residue]\ndirectories = [\"test-feature-*\"]\nbranches = [\"kitty/test-*\", \"test-*\"]\n\
                     worktree_roots = [\".worktrees\"]\ntemp = [\"spec-kitty-*\"]\n";

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn git(dir: &Path, args: &[&str], input: &str) -> Outcome<()> {
    use std::io::Write;
    let mut child = Command::new("git").arg("-C").arg(dir).args(args).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    if child.wait()?.success() { Ok(()) } else { Err(format!("git {args:?}").into()) }
}

fn build(root: &Path, branches: usize, worktrees: usize) -> Outcome<()> {
    std::fs::create_dir_all(root)?;
    git(root, &["init", "--quiet", "--initial-branch=main"], "")?;
    std::fs::write(root.join("carillon.toml"), RULES)?;
    let who = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    git(root, &["add", "carillon.toml"], "")?;
    git(root, &[&who[..], &["commit", "--quiet", "-m", "Begin"]].concat(), "")?;
    let lines: String =
        (0..branches).map(|number| format!("create refs/heads/kitty/test-{number} HEAD\n")).collect();
    git(root, &["update-ref", "--stdin"], &lines.replace("HEAD", &head(root)?))?;
    for number in 0..worktrees {
        git(root, &["worktree", "add", "--quiet", "--detach", &format!(".worktrees/w{number}")], "")?;
    }
    Ok(())
}

fn head(root: &Path) -> Outcome<String> {
    let output = Command::new("git").arg("-C").arg(root).args(["rev-parse", "HEAD"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn rounds(root: &Path) -> Outcome<(Duration, Duration)> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let order = Order::from_environment(root.to_path_buf(), None);
        let Begun::Acts(guard) = Guard::begin(&order)? else { return Err("a guard stands around us".into()) };
        let report = guard.finish(0);
        if !report.made.is_empty() {
            return Err(format!("nothing was made: {report:?}").into());
        }
        times.push(begun.elapsed());
    }
    times.sort();
    Ok((times[ROUNDS / 2], times[ROUNDS - 1]))
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse::<usize>());
    let (branches, worktrees) = (number(10_000)?, number(200)?);
    let place = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let base = place.join(format!("carillon-guard-bench-{}", std::process::id()));
    let root = base.join("repo");
    build(&root, branches, worktrees)?;
    let (loose, worst) = rounds(&root)?;
    println!("{branches} branches in files of their own, {worktrees} worktrees: {loose:?} (worst {worst:?})");
    git(&root, &["pack-refs", "--all"], "")?;
    let (packed, worst) = rounds(&root)?;
    println!("{branches} branches in one file, {worktrees} worktrees: {packed:?} (worst {worst:?})");
    std::fs::remove_dir_all(base)?;
    Ok(())
}
