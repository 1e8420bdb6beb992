//! Reading runs, and typing into their terminals.

use std::time::Duration;

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_store::runs::{self, RunRow};

use crate::engine::Engine;
use crate::error::Error;
use crate::host::Pulled;

impl Engine {
    /// One run, with the present length of its log.
    pub fn run(&self, id: &str) -> Result<RunRow, Error> {
        let id = run_id(id)?;
        let row = self.read(|db| runs::get(db, &id))?.ok_or_else(|| unknown(id.as_str()))?;
        Ok(self.with_live_size(row))
    }

    /// The runs that are not over.
    pub fn live_runs(&self) -> Result<Vec<RunRow>, Error> {
        self.read(runs::live)
    }

    pub(crate) fn with_live_size(&self, mut row: RunRow) -> RunRow {
        if !row.state.is_terminal() {
            row.log_bytes = self.inner.host.log_bytes(&row.id).unwrap_or(row.log_bytes);
        }
        row
    }

    /// Sends text to a terminal, as if it were typed.
    pub fn terminal_write(&self, run: &str, text: &str) -> Result<(), Error> {
        let run = run_id(run)?;
        if text.len() > limits::TERMINAL_WRITE_MAX_BYTES {
            return Err(Error::invalid(
                format!(
                    "the text has {} bytes, at most {} can be sent at once",
                    text.len(),
                    limits::TERMINAL_WRITE_MAX_BYTES
                ),
                "send it in parts, or give the agent a file",
            ));
        }
        let typed = self.inner.host.type_for_user(&run, text.as_bytes());
        let typed = typed.map_err(|message| not_live(&message))?;
        if typed.may_be_free || typed.attended {
            self.request_unanswered(move |inner| {
                if typed.attended {
                    inner.attention_changed(&run)?;
                }
                // What waits for an empty line may begin now.
                inner.terminal_changed(&run)
            });
        }
        Ok(())
    }

    /// What follows `offset` on a run's terminal, or its screen when there is no offset. A new view
    /// of a live run tells the program its size, so that it paints for that.
    pub async fn pull(
        &self,
        run: &str,
        offset: Option<u64>,
        (cols, rows): (u16, u16),
        wait: Duration,
    ) -> Result<Pulled, Error> {
        let run = run_id(run)?;
        let host = self.inner.host.clone();
        // Building the screen of an ended run reads its log.
        let built = tokio::task::spawn_blocking(move || {
            let terminal = host.terminal(&run)?;
            if offset.is_none() && cols > 0 && rows > 0 {
                terminal.resize(cols, rows)?;
            }
            Ok(terminal)
        })
        .await;
        let terminal =
            built.unwrap_or_else(|e| Err(e.to_string())).map_err(|message: String| not_live(&message))?;
        terminal.pull(offset, wait).await.map_err(|message| not_live(&message))
    }

    /// The visible screen of a terminal as plain text, also of one that has ended.
    pub fn terminal_text(&self, run: &str) -> Result<String, Error> {
        let run = run_id(run)?;
        let terminal = self.inner.host.terminal(&run).map_err(|message| not_live(&message))?;
        Ok(terminal.text())
    }

    /// Tells a terminal its size. A size without columns or rows is ignored.
    pub fn terminal_resize(&self, run: &str, cols: u16, rows: u16) -> Result<(), Error> {
        let run = run_id(run)?;
        if cols == 0 || rows == 0 {
            return Ok(());
        }
        self.inner.host.resize(&run, cols, rows).map_err(|message| not_live(&message))
    }
}

pub(crate) fn run_id(text: &str) -> Result<RunId, Error> {
    RunId::parse(text).map_err(|_| unknown(text))
}

fn unknown(name: &str) -> Error {
    Error::NotFound {
        what: "run",
        name: name.to_owned(),
        hint: "`carillon agent list --json` shows the runs".to_owned(),
    }
}

fn not_live(message: &str) -> Error {
    Error::refused(message.to_owned(), "start the agent again")
}
