//! Real repositories for tests, apart from the machine's user and his settings.
#![allow(dead_code, reason = "each test file uses another part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory with a repository in it, on a disk; gone at the end of the test.
pub struct World {
    pub dir: tempfile::TempDir,
}

/// Keeps every git of this test program, also the ones that the code under test starts, from the settings of the
/// machine. Each test file calls it first; nextest runs each test in a process of its own.
pub fn isolate() {
    // SAFETY: called at the beginning of a test, before it starts threads.
    unsafe {
        std::env::set_var("HOME", "/nonexistent");
        std::env::set_var("XDG_CONFIG_HOME", "/nonexistent");
        // What is set here must not reach the repository in question: our git calls do not inherit it.
        std::env::set_var("GIT_DIR", "/nonexistent/git");
        std::env::set_var("GIT_WORK_TREE", "/nonexistent");
        std::env::set_var("GIT_INDEX_FILE", "/nonexistent/index");
    }
}

impl World {
    pub fn new() -> World {
        isolate();
        // The test run may say where it is to be.
        let place = std::env::var_os("CARILLON_TEST_DISK").unwrap_or_else(|| "/var/tmp".into());
        let dir = tempfile::Builder::new().prefix("ct").rand_bytes(6).tempdir_in(place).expect("a directory");
        let world = World { dir };
        std::fs::create_dir(world.root()).expect("a directory");
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        for (name, value) in [("user.name", "Test"), ("user.email", "test@localhost")] {
            world.git(&["config", name, value]);
        }
        world.write("README", "hello\n");
        world.git(&["add", "README"]);
        world.git(&["commit", "--quiet", "-m", "Begin"]);
        world
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there").join("repo")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there").join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.root(), args)
    }

    pub fn branches(&self) -> Vec<String> {
        let text = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        text.lines().map(str::to_owned).collect()
    }

    pub fn refs(&self, below: &str) -> Vec<String> {
        let text = self.git(&["for-each-ref", "--format=%(refname)", below]);
        text.lines().map(str::to_owned).collect()
    }

    /// A commit on a branch that stays unmerged, made without a checkout.
    pub fn commit_on(&self, branch: &str, text: &str) -> String {
        let tree = self.git(&["rev-parse", "HEAD^{tree}"]);
        let commit = self.git(&["commit-tree", &tree, "-p", "HEAD", "-m", text]);
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &commit]);
        commit
    }
}

/// git in any directory; it must succeed.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = try_git(dir, args);
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub fn try_git(dir: &Path, args: &[&str]) -> Output {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        git.env_remove(name);
    }
    git.arg("-C").arg(dir).args(args).output().expect("git")
}

use carillon_tidy::git::create::{self, Order};
use carillon_tidy::git::look::Recorded;

impl World {
    /// Where the journal of creations and the archives are.
    pub fn data(&self) -> PathBuf {
        self.beside("data")
    }

    /// A worktree of ours beside the repository, on a branch of its own.
    pub fn workdir(&self, name: &str) -> Recorded {
        let order = Order {
            id: name.to_owned(),
            repository: self.root(),
            path: self.beside("wt").join(name),
            branch: Some(format!("carillon/{name}")),
            base: "main".to_owned(),
        };
        let recorded = create::create(&order, &self.data().join("journal")).expect("a worktree");
        create::close(&self.data().join("journal"), name).expect("closed");
        recorded
    }
}

/// A commit of everything in a checkout.
pub fn commit(dir: &Path, message: &str) -> String {
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "-m", message]);
    git(dir, &["rev-parse", "HEAD"])
}

pub fn put(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}
