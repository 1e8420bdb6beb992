//! Where an engine lives and how it was started.

use std::path::{Path, PathBuf};

/// How an engine was started.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data directory.
    pub home: PathBuf,
    /// Whether `CARILLON_HOME` named it, so that the temp base belongs under it too.
    pub home_is_chosen: bool,
    /// The `carillon` binary, whose `supervise` watches over runs.
    pub carillon_binary: PathBuf,
    /// Started from a terminal: then our own environment is the user's. Otherwise his login shell
    /// is asked for it.
    pub from_terminal: bool,
}

impl Config {
    /// The data directory that the environment asks for: `CARILLON_HOME`, or the user's own.
    /// The flag says whether `CARILLON_HOME` named it.
    pub fn default_home() -> Option<(PathBuf, bool)> {
        match std::env::var_os("CARILLON_HOME").filter(|value| !value.is_empty()) {
            Some(home) => Some((std::path::absolute(home).ok()?, true)),
            None => Some((dirs::data_dir()?.join("carillon"), false)),
        }
    }

    /// For tests that start no program.
    #[cfg(test)]
    pub(crate) fn of_test(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            home_is_chosen: true,
            carillon_binary: "/no/such/carillon".into(),
            from_terminal: true,
        }
    }

    /// The paths under the data directory.
    pub fn paths(&self) -> Paths {
        Paths::under(&self.home)
    }
}

/// The paths under a data directory.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The directory itself.
    pub home: PathBuf,
    /// Tells the process of the one engine; the lock itself is on the directory.
    pub lock: PathBuf,
    /// The ledger.
    pub ledger: PathBuf,
    /// The API's socket.
    pub socket: PathBuf,
    /// One directory per run.
    pub runs: PathBuf,
    /// Values of the profiles' variables, one file (0600) per profile.
    pub secrets: PathBuf,
    /// Environments of tasks that wait in line, one file (0600) per content.
    pub envs: PathBuf,
    /// One locked file per call that waits for an answer; see `host/calls.rs`.
    pub calls: PathBuf,
    /// Holds the temp directories of programs that are asked for their version; each is there only
    /// meanwhile.
    pub probe: PathBuf,
    /// The repository of `--demo`.
    pub demo: PathBuf,
}

impl Paths {
    /// The paths under `home`.
    pub fn under(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            lock: home.join("lock"),
            ledger: home.join("carillon.db"),
            socket: home.join("carillon.sock"),
            runs: home.join("runs"),
            secrets: home.join("secrets"),
            envs: home.join("envs"),
            calls: home.join("calls"),
            probe: home.join("probe"),
            demo: home.join("demo"),
        }
    }
}
