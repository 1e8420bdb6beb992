//! What may be asked of the engine, one file per subject. A request that only reads does so beside
//! the loop; one that changes something is run on the loop's thread.

mod agents;
mod agents_to_be;
mod approvals;
mod asks;
mod bounds;
mod callers;
mod changes;
mod demo;
mod doctor;
mod find;
mod hooks;
mod layouts;
mod limits;
mod messages;
mod output;
mod profiles;
mod projects;
mod residue;
pub(crate) mod runs;
mod settings;
mod settling;
mod tasks;
pub(crate) mod trials;
mod turns;
mod user_only;
mod workdir_steps;
pub(crate) mod workdir_stops;
mod workdirs;

pub use carillon_store::approvals::State as ApprovalState;
pub use carillon_store::asks::{AskRow, Delivered};
pub use carillon_store::changes::Change;
pub use carillon_store::messages::{Kind as MessageKind, MessageRow};
pub use carillon_store::runs::RunRow;
pub use carillon_store::turns::{Kind as TurnKind, TurnRow};

pub use agents::{AgentView, NewAgent, Work, Workdir};
pub use approvals::ApprovalView;
pub use asks::{AskView, NewAsk, WaitingFor};
pub use callers::Caller;
pub use changes::Changes;
pub use doctor::{Check, CheckState, look_around};
pub(crate) use hooks::{LIMIT_REACHED, is_own_word};
pub use limits::LimitView;
pub use messages::NewNote;
pub use output::{OutputPage, OutputQuery, OutputWait};
pub(crate) use profiles::resolve;
pub use profiles::{DetectedView, NewProfile, ProfileChange};
pub use projects::ProjectView;
pub(crate) use residue::known_residue;
pub use residue::{Applied, ApplyOrder, Progress, ResidueQuery};
pub use tasks::{NewTask, TaskView};
pub use trials::{TrialView, UserPrograms};
pub use turns::{EventsPage, Seen, TurnView};

pub use workdir_stops::StopView;
pub use workdirs::{MergeOrder, NewWorkdir, WorkdirView};

pub use crate::asks::{ChildView, final_of, reason_of};
pub use crate::host::residue::Item as ResidueItem;
pub use crate::host::workdirs::{Diff, How, Seen as WorkdirSeen};
pub use crate::temps::{TempUse, TempView};
pub use carillon_store::workdirs::WorkdirRow;
