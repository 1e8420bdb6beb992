//! Approvals: which wait, and the user's word.

use carillon_core::words::Agent;
use carillon_store::agents;
use carillon_store::approvals::{self, ApprovalRow, State};
use carillon_store::tasks::{self, TaskRow};

use crate::engine::Engine;
use crate::error::Error;

/// An approval with what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalView {
    /// The approval.
    pub row: ApprovalRow,
    /// The task.
    pub task: TaskRow,
    /// The agent that wants it.
    pub agent: Option<Agent>,
}

/// Most approvals in one list.
const LIST_MAX: usize = 200;

impl Engine {
    /// The approvals, those that wait first.
    pub fn approvals(&self) -> Result<Vec<ApprovalView>, Error> {
        self.read(|db| {
            let mut views = Vec::new();
            for row in approvals::list(db, LIST_MAX)? {
                let agent = match &row.agent {
                    Some(id) => agents::get(db, id)?,
                    None => None,
                };
                if let Some(task) = tasks::get(db, &row.task)? {
                    views.push(ApprovalView { row, task, agent });
                }
            }
            Ok(views)
        })
    }

    /// The user's word on the approval that `key` names: its id, or that of its task, or a unique start.
    pub fn decide_approval(&self, key: &str, approve: bool) -> Result<ApprovalView, Error> {
        let not_found = || Error::NotFound {
            what: "approval",
            name: key.to_owned(),
            hint: "`carillon approvals list` shows them".to_owned(),
        };
        let fits = |view: &ApprovalView| {
            key.len() >= 4
                && (view.row.id.as_str().starts_with(key) || view.row.task.as_str().starts_with(key))
        };
        let mut found: Vec<_> = self.approvals()?.into_iter().filter(fits).collect();
        // A task that was tried again has been asked about before.
        let waits = |view: &ApprovalView| view.row.state == State::Pending;
        if found.iter().filter(|view| waits(view)).count() == 1 {
            found.retain(waits);
        }
        if found.len() > 1 {
            return Err(Error::Ambiguous { what: "approval", name: key.to_owned() });
        }
        let row = found.pop().ok_or_else(not_found)?.row;
        if row.state != State::Pending {
            let message = "this was decided already, or is over";
            return Err(Error::refused(message, "`carillon approvals list` shows what waits"));
        }
        let word = if approve { State::Approved } else { State::Denied };
        let id = row.id.clone();
        self.request_blocking(move |inner| inner.decide_approval(&id, word))?;
        self.approvals()?.into_iter().find(|view| view.row.id == row.id).ok_or_else(not_found)
    }
}
