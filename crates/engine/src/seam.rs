//! Places where a crash is most telling: between a commit and what goes before or after it. In debug
//! builds the engine kills itself at the one that `CARILLON_DIE_AT` names, so that a test can visit
//! each; a release build has none of this.

/// The seams that every run has, by name.
pub const SEAMS: &[&str] = &[
    "before the commit: task accepted",
    "after the commit: task accepted",
    "temp directory made",
    "run directory made",
    "supervisor started",
    "supervisor connected",
    "before the commit: run began",
    "after the commit: run began",
    "before the commit: run over",
    "after the commit: run over",
    "temp directory in the trash",
    "before the commit: temp buried",
    "after the commit: temp buried",
];

/// The seams that only asks and turns have.
pub const ASK_SEAMS: &[&str] = &[
    "before the commit: ask accepted",
    "after the commit: ask accepted",
    "before the commit: turn claimed",
    "after the commit: turn claimed",
    "before the commit: final pending",
    "after the commit: final pending",
    "before the commit: turn over",
    "after the commit: turn over",
    "before the commit: ask over",
    "after the commit: ask over",
    "before the commit: answer delivered",
    "after the commit: answer delivered",
    "before the commit: note accepted",
    "after the commit: note accepted",
];

/// The seams that only the typing of a prompt has.
pub const TYPING_SEAMS: &[&str] = &["a part of a prompt typed", "a prompt typed", "a prompt sent off"];

/// The seams that only workdirs have.
pub const WORKDIR_SEAMS: &[&str] = &[
    "before the commit: workdir recorded",
    "after the commit: workdir recorded",
    "before the commit: workdir made",
    "after the commit: workdir made",
    "before the commit: workdir not made",
    "after the commit: workdir not made",
    "before the commit: workdir merged",
    "after the commit: workdir merged",
    "before the commit: workdir given up",
    "after the commit: workdir given up",
    "before the commit: workdir going",
    "after the commit: workdir going",
    "before the commit: workdir stays",
    "after the commit: workdir stays",
    "before the commit: workdir gone",
    "after the commit: workdir gone",
    "before the commit: workdir back",
    "after the commit: workdir back",
    "worktree made",
    "set-up started",
    "worktree merged",
    "worktree removed",
    "worktree brought back",
];

/// The seams that only a temp directory has that outlives its run, or that somebody removes.
pub const TEMP_SEAMS: &[&str] = &[
    "temp directory handed over",
    "temp directory made anew",
    "before the commit: heir over",
    "after the commit: heir over",
];

/// The seams that only the removal of residue has.
pub const RESIDUE_SEAMS: &[&str] = &["residue in the trash", "one thing taken away"];

/// The seams that only the guard around a turn has.
pub const GUARD_SEAMS: &[&str] = &["guard begun", "guard sees what is new", "guard reaped"];

/// The engine is at this seam.
#[cfg(debug_assertions)]
pub(crate) fn reach(name: &str) {
    use std::sync::OnceLock;
    static DIE_AT: OnceLock<Option<String>> = OnceLock::new();
    let lists = [SEAMS, ASK_SEAMS, TYPING_SEAMS, WORKDIR_SEAMS, TEMP_SEAMS, RESIDUE_SEAMS, GUARD_SEAMS];
    let mut all = lists.into_iter().flatten();
    debug_assert!(all.any(|known| *known == name), "{name:?} is not on the list");
    let die_at = DIE_AT.get_or_init(|| std::env::var("CARILLON_DIE_AT").ok());
    if die_at.as_deref() == Some(name) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// The engine is at this seam.
#[cfg(not(debug_assertions))]
pub(crate) fn reach(_name: &str) {}
