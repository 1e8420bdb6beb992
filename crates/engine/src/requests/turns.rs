//! The turns of an agent, and what was seen of one.

use std::time::Duration;

use carillon_agents::adapter::Adapter;
use carillon_agents::reader::Reader as Events;
pub use carillon_agents::turn::Seen;
use carillon_core::id::{RunId, TurnId};
use carillon_core::limits;
use carillon_store::messages;
use carillon_store::turns::{self, TurnRow};
use carillon_supervisor::{LogReader, Read};

use crate::engine::Engine;
use crate::error::Error;

/// A turn with the messages that it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnView {
    /// The turn.
    pub row: TurnRow,
    /// Ids of its messages.
    pub messages: Vec<String>,
}

/// A page of what was seen of a turn.
#[derive(Clone, Debug, Default)]
pub struct EventsPage {
    /// What was seen.
    pub events: Vec<Seen>,
    /// Ask for it next, in bytes of the run's output.
    pub next_offset: u64,
    /// Nothing follows.
    pub over: bool,
}

/// Most turns in one list.
const LIST_MAX: usize = 500;
/// Bytes of output that a page is made of; more only for one long line.
const PAGE_BYTES: usize = 256 * 1024;

impl Engine {
    /// The turns of an agent, the newest first.
    pub fn turns(&self, agent: &str, most: Option<usize>) -> Result<Vec<TurnView>, Error> {
        let id = self.agent(agent)?.agent.id;
        let most = most.unwrap_or(50).min(LIST_MAX);
        self.read(|db| {
            let rows = turns::of_agent(db, &id, most)?;
            rows.into_iter()
                .map(|row| Ok(TurnView { messages: messages::of_turn(db, &row.id)?, row }))
                .collect()
        })
    }

    fn turn(&self, key: &str) -> Result<TurnRow, Error> {
        let not_found = || Error::NotFound {
            what: "turn",
            name: key.to_owned(),
            hint: "the list of the agent's turns tells their ids".to_owned(),
        };
        let id = TurnId::parse(key).map_err(|_| not_found())?;
        self.read(|db| turns::get(db, &id))?.ok_or_else(not_found)
    }

    /// What was seen of a headless turn from `offset` on; waits for something to follow.
    pub async fn turn_events(&self, key: &str, offset: u64, wait: Duration) -> Result<EventsPage, Error> {
        let key = key.to_owned();
        let (row, outlet) = self
            .aside(move |engine| {
                let row = engine.turn(&key)?;
                // Right after a start that waits for the run's supervisor.
                let outlet = row.run.as_ref().and_then(|run| engine.inner.host.outlet(run));
                Ok((row, outlet))
            })
            .await?;
        let Some(run) = row.run.clone() else {
            return Ok(EventsPage { next_offset: 0, over: row.state.is_over(), ..EventsPage::default() });
        };
        if let Some(outlet) = outlet {
            let mut end = outlet.subscribe();
            let wait = wait.min(Duration::from_millis(limits::WAIT_MAX_MS));
            let _ = tokio::time::timeout(wait, end.wait_for(|(end, over)| *over || *end > offset)).await;
        }
        self.aside(move |engine| engine.read_events(row.id.as_str(), &run, offset)).await
    }

    fn read_events(&self, key: &str, run: &RunId, offset: u64) -> Result<EventsPage, Error> {
        let row = self.turn(key)?;
        let over = row.state.is_over();
        let nothing = EventsPage { events: Vec::new(), next_offset: offset, over };
        let agent = self.agent(row.agent.as_str())?.agent;
        let adapter: Adapter = match self.profile(agent.profile.as_str())?.adapter.parse() {
            Ok(adapter) => adapter,
            Err(_) => return Ok(nothing),
        };
        let dir = self.inner.host.run_dir(run);
        if agent.mode == carillon_core::words::Mode::Terminal || !dir.is_dir() {
            return Ok(nothing);
        }
        let failed = |e: carillon_supervisor::Error| Error::failed(e.to_string(), "try again");
        let mut log = LogReader::open(&dir).map_err(failed)?;
        let (mut bytes, is_end) = page(&mut log, offset).map_err(failed)?;
        let count = bytes.len();
        // A page ends with a line, so that none is taken for two.
        let whole = match memrchr_newline(&bytes) {
            Some(at) if !over || !is_end => at + 1,
            None if !over && is_end => 0,
            Some(_) | None => count,
        };
        bytes.truncate(whole);
        let mut events = Events::new(adapter);
        let mut seen = events.feed(&bytes);
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            seen.extend(events.feed(b"\n"));
        }
        let next_offset = offset + whole as u64;
        let over = over && (count == 0 || whole == count && is_end);
        if over {
            // Nothing follows: what the guard around the turn found is its last word.
            seen.extend(self.inner.host.guard_notes(run).into_iter().map(Seen::Note));
        }
        Ok(EventsPage { events: seen, next_offset, over })
    }
}

/// A page of output with at least one whole line, unless there is none yet or it is longer than any event is; and whether
/// it reaches to the end of what there is.
fn page(log: &mut LogReader, offset: u64) -> Result<(Vec<u8>, bool), carillon_supervisor::Error> {
    let mut bytes = Vec::new();
    loop {
        let known = bytes.len();
        bytes.resize(known + PAGE_BYTES, 0);
        let count = match log.read_at(offset + known as u64, &mut bytes[known..])? {
            Read::Bytes(count) => count,
            Read::Gap { .. } | Read::End => 0,
        };
        bytes.truncate(known + count);
        if count < PAGE_BYTES {
            return Ok((bytes, true));
        }
        if bytes[known..].contains(&b'\n') || bytes.len() > limits::EVENT_LINE_MAX_BYTES {
            return Ok((bytes, false));
        }
    }
}

fn memrchr_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}
