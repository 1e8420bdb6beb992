//! The shape of what is told of temp directories.

use carillon_core::residue::Watch;
use carillon_engine::requests as engine;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What is done about the room that a temp directory takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TempLevel {
    /// Nothing.
    Fine,
    /// The user is told.
    Warn,
    /// Whoever fills it is ended.
    End,
}

/// How much room the temp directory of a run takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TempUse {
    /// Its absolute path.
    pub path: Option<String>,
    /// Bytes on the disk.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Files and directories.
    #[ts(type = "number")]
    pub files: u64,
    /// Bytes beyond which whoever fills it is ended.
    #[ts(type = "number")]
    pub max_bytes: u64,
    /// Files and directories beyond which whoever fills it is ended.
    #[ts(type = "number")]
    pub max_files: u64,
    /// What is done about it.
    pub level: TempLevel,
    /// What the user should know of it, when it is much.
    pub warning: Option<String>,
}

impl From<engine::TempView> for TempUse {
    fn from(engine::TempView { path, seen }: engine::TempView) -> Self {
        Self {
            path,
            bytes: seen.taken.bytes,
            files: seen.taken.inodes,
            max_bytes: seen.caps.max.bytes,
            max_files: seen.caps.max.inodes,
            level: match seen.level {
                Watch::Fine => TempLevel::Fine,
                Watch::Warn => TempLevel::Warn,
                Watch::End => TempLevel::End,
            },
            warning: seen.warning(),
        }
    }
}
