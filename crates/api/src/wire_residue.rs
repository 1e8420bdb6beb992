//! The shapes of what is left behind. Part of the wire, as [`crate::wire`].

use carillon_core::judge::Verdict;
use carillon_core::residue::Kind;
use carillon_engine::requests as engine;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A kind of what is left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ResidueKind {
    /// The temp directory of a run.
    Temp,
    /// The directory of a run that is on no list.
    Run,
    /// What a run that is over has written.
    Log,
    /// A worktree.
    Worktree,
    /// What the creation of a worktree left that was cut short.
    Husk,
    /// The branch of a workdir that is gone.
    Branch,
    /// A process of a run that is over.
    Process,
    /// What brings a workdir back.
    Archive,
    /// What lies in a trash.
    Trash,
}

impl From<Kind> for ResidueKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Temp => Self::Temp,
            Kind::Run => Self::Run,
            Kind::Log => Self::Log,
            Kind::Worktree => Self::Worktree,
            Kind::Husk => Self::Husk,
            Kind::Branch => Self::Branch,
            Kind::Process => Self::Process,
            Kind::Archive => Self::Archive,
            Kind::Trash => Self::Trash,
        }
    }
}

impl From<ResidueKind> for Kind {
    fn from(kind: ResidueKind) -> Self {
        match kind {
            ResidueKind::Temp => Self::Temp,
            ResidueKind::Run => Self::Run,
            ResidueKind::Log => Self::Log,
            ResidueKind::Worktree => Self::Worktree,
            ResidueKind::Husk => Self::Husk,
            ResidueKind::Branch => Self::Branch,
            ResidueKind::Process => Self::Process,
            ResidueKind::Archive => Self::Archive,
            ResidueKind::Trash => Self::Trash,
        }
    }
}

/// Whether something may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ResidueVerdict {
    /// Nothing is lost with it.
    Safe,
    /// It goes when the user says so.
    NeedsConsent,
    /// It stays until its reason has gone.
    Blocked,
}

impl From<&Verdict> for ResidueVerdict {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Safe { .. } => Self::Safe,
            Verdict::NeedsConsent { .. } => Self::NeedsConsent,
            Verdict::Blocked { .. } => Self::Blocked,
        }
    }
}

/// Something that is left behind.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Residue {
    /// 32 hex digits, the same in each report.
    pub id: String,
    /// What it is.
    pub kind: ResidueKind,
    /// What people call it.
    pub name: String,
    /// Where it is: a path, or the name of a branch or of a reference.
    pub path: String,
    /// The id of its project.
    pub project: Option<String>,
    /// The id of the agent that it is of.
    pub owner: Option<String>,
    /// The id of the run that it is of.
    pub run: Option<String>,
    /// Bytes on the disk.
    #[ts(type = "number")]
    pub bytes: u64,
    /// All of it was counted; else there is more.
    pub counted: bool,
    /// How old it is, in milliseconds.
    #[ts(type = "number | null")]
    pub age_ms: Option<i64>,
    /// Whether it may go.
    pub verdict: ResidueVerdict,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

impl From<engine::ResidueItem> for Residue {
    fn from(item: engine::ResidueItem) -> Self {
        Self {
            id: item.id,
            kind: item.kind.into(),
            name: item.name,
            path: item.path,
            project: item.project.map(|id| id.to_string()),
            owner: item.owner.map(|id| id.to_string()),
            run: item.run.map(|id| id.to_string()),
            bytes: item.bytes,
            counted: item.is_counted,
            age_ms: item.age_ms,
            verdict: (&item.verdict).into(),
            reasons: item.verdict.why().iter().map(ToString::to_string).collect(),
        }
    }
}

/// What became of something that was left behind.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct ResidueApplied {
    /// What it was.
    #[serde(flatten)]
    pub residue: Residue,
    /// It was seen to be gone.
    pub removed: bool,
    /// Why it stays.
    pub refused: Option<String>,
    /// Bytes that came free, as they were measured.
    #[ts(type = "number")]
    pub freed_bytes: u64,
}

impl From<engine::Applied> for ResidueApplied {
    fn from(applied: engine::Applied) -> Self {
        Self {
            residue: applied.item.into(),
            removed: applied.removed,
            refused: applied.refused,
            freed_bytes: applied.freed,
        }
    }
}

/// How far the removal of what is left behind is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, TS)]
pub struct ResidueProgress {
    /// One is at work.
    pub running: bool,
    /// Things that are to go.
    #[ts(type = "number")]
    pub total: u64,
    /// Things that were tried.
    #[ts(type = "number")]
    pub done: u64,
    /// Things that are gone.
    #[ts(type = "number")]
    pub removed: u64,
    /// Bytes that came free.
    #[ts(type = "number")]
    pub freed_bytes: u64,
    /// Somebody broke it off.
    pub cancelled: bool,
}

impl From<engine::Progress> for ResidueProgress {
    fn from(progress: engine::Progress) -> Self {
        Self {
            running: progress.running,
            total: progress.total,
            done: progress.done,
            removed: progress.removed,
            freed_bytes: progress.freed_bytes,
            cancelled: progress.cancelled,
        }
    }
}
