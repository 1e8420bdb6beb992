//! The shapes of workdirs and residue. Part of the wire, as [`crate::wire`].

use carillon_core::workdir::{State, Why};
use carillon_engine::requests as engine;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Where a workdir stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum WorkdirState {
    /// git is at work.
    Creating,
    /// It is there to be worked in.
    Active,
    /// Its work is on its base branch.
    Merged,
    /// Nobody wants it any more.
    Abandoned,
    /// It is being archived and removed.
    Removing,
    /// It is gone; this is what is left.
    Tombstoned,
}

/// A worktree that Carillon made, or the tombstone of one.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Workdir {
    /// 32 hex digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The id of its project.
    pub project: String,
    /// Its absolute path.
    pub path: String,
    /// The branch that was made with it.
    pub branch: Option<String>,
    /// The branch that its work goes to.
    pub base_branch: Option<String>,
    /// The commit that it began from.
    pub base_commit: Option<String>,
    /// The id of the agent that works in it.
    pub owner: Option<String>,
    /// Where it stands.
    pub state: WorkdirState,
    /// Something in it is not committed; none when that cannot be told.
    pub dirty: Option<bool>,
    /// Commits that were made in it.
    #[ts(type = "number | null")]
    pub ahead: Option<u64>,
    /// Commits that its base has and it has not.
    #[ts(type = "number | null")]
    pub behind: Option<u64>,
    /// Whether it may go: `safe`, `needs_consent` or `blocked`.
    pub verdict: Option<String>,
    /// Why, in sentences; of one that was refused, why it stays.
    pub reasons: Vec<String>,
    /// Of a tombstone: why it went.
    pub why: Option<String>,
    /// What brings it back.
    pub archive_ref: Option<String>,
    /// What its archive could not keep.
    pub not_kept: Vec<String>,
    /// What is not as it was, in sentences.
    pub notes: Vec<String>,
    /// When it was accepted.
    #[ts(type = "number")]
    pub created_ms: i64,
    /// When it was gone.
    #[ts(type = "number | null")]
    pub ended_ms: Option<i64>,
}

impl From<engine::WorkdirView> for Workdir {
    fn from(view: engine::WorkdirView) -> Self {
        let row = view.row;
        let (state, why, archive_ref, refused) = match &row.state {
            State::Creating => (WorkdirState::Creating, None, None, None),
            State::Active { refused } => (WorkdirState::Active, None, None, refused.clone()),
            State::Merged { .. } => (WorkdirState::Merged, None, None, None),
            State::Abandoned { .. } => (WorkdirState::Abandoned, None, None, None),
            State::Removing { why } => (WorkdirState::Removing, Some(in_words(why)), None, None),
            State::Tombstoned { why, archive_ref } => {
                (WorkdirState::Tombstoned, Some(in_words(why)), archive_ref.clone(), None)
            }
        };
        let seen = view.seen;
        let reasons = seen.as_ref().map(|seen| seen.reasons.clone()).unwrap_or_default();
        Self {
            id: row.id.to_string(),
            name: row.name,
            project: row.project.to_string(),
            path: row.path,
            branch: row.branch,
            base_branch: row.base_branch,
            base_commit: row.base_commit,
            owner: row.owner.map(|id| id.to_string()),
            state,
            dirty: seen.as_ref().map(|seen| seen.dirty),
            ahead: seen.as_ref().map(|seen| seen.ahead),
            behind: seen.as_ref().map(|seen| seen.behind),
            verdict: seen.as_ref().map(|seen| seen.verdict.to_owned()),
            reasons: refused.into_iter().chain(reasons).collect(),
            why,
            archive_ref,
            not_kept: row.not_kept,
            notes: view.notes,
            created_ms: row.created_ms,
            ended_ms: row.ended_ms,
        }
    }
}

fn in_words(why: &Why) -> String {
    match why {
        Why::Merged => "merged".to_owned(),
        Why::Abandoned { by } if by == "user" => "removed by you".to_owned(),
        Why::Abandoned { by } => format!("removed by {by}"),
        Why::NeverMade { message } => format!("never made: {message}"),
        Why::Vanished => "its directory was taken away".to_owned(),
    }
}

/// What came of a wish to stop a merge or a removal.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct WorkdirStopped {
    /// It stops, and nothing was changed.
    pub stopped: bool,
    /// Why it does not.
    pub reason: Option<String>,
}

impl From<engine::StopView> for WorkdirStopped {
    fn from(engine::StopView { stopped, reason }: engine::StopView) -> Self {
        Self { stopped, reason }
    }
}

/// A file of a difference.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct DiffFile {
    /// From the root of the workdir.
    pub path: String,
    /// Lines that were added; none for a file that is no text.
    #[ts(type = "number | null")]
    pub added: Option<u64>,
    /// Lines that were taken away.
    #[ts(type = "number | null")]
    pub deleted: Option<u64>,
}

/// The difference of a workdir from the commit that it began from.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct WorkdirDiff {
    /// The id of the workdir.
    pub id: String,
    /// As `git diff` prints it.
    pub text: String,
    /// There is more than is told here.
    pub truncated: bool,
    /// The files in it.
    pub files: Vec<DiffFile>,
    /// Files that git does not know.
    pub untracked: Vec<String>,
}

impl From<(engine::WorkdirRow, engine::Diff)> for WorkdirDiff {
    fn from((row, diff): (engine::WorkdirRow, engine::Diff)) -> Self {
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        Self {
            id: row.id.to_string(),
            text: String::from_utf8_lossy(&diff.text).into_owned(),
            truncated: diff.is_cut,
            files: diff
                .files
                .into_iter()
                .map(|file| DiffFile { path: path(file.path), added: file.added, deleted: file.deleted })
                .collect(),
            untracked: diff.untracked.into_iter().map(path).collect(),
        }
    }
}
