//! The output of a task, by pages. A log is never read whole.

use std::path::Path;
use std::time::Duration;

use carillon_core::id::RunId;
use carillon_core::limits;
use carillon_supervisor::{LogReader, Read};

use crate::engine::Engine;
use crate::error::Error;
use crate::requests::tasks::Lending;

/// What part of the output is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputQuery {
    /// Where to begin, in bytes of the stream.
    pub offset: u64,
    /// Begin so many bytes before the end instead.
    pub tail: Option<u64>,
    /// Most bytes to answer.
    pub limit: Option<usize>,
    /// Cut at the borders of characters, so that each page is text of its own.
    pub whole_characters: bool,
}

/// How long to wait for something to follow the offset.
#[derive(Clone, Debug, Default)]
pub struct OutputWait {
    /// At most so long.
    pub wait: Duration,
    /// The run that waits, whose task lends its slot meanwhile.
    pub waiter: Option<RunId>,
}

/// A page of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPage {
    /// Where it begins. Later than what was asked for when that is not kept.
    pub offset: u64,
    /// Ask for it next.
    pub next_offset: u64,
    /// Bytes of the stream so far.
    pub total: u64,
    /// Something between what was asked for and `offset` is not kept.
    pub truncated: bool,
    /// Nothing follows `next_offset`.
    pub over: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Engine {
    /// A page of a task's output; waits for something to follow the offset.
    pub async fn task_output(
        &self,
        key: &str,
        query: OutputQuery,
        OutputWait { wait, waiter }: OutputWait,
    ) -> Result<OutputPage, Error> {
        let key = key.to_owned();
        let (view, outlet) = self
            .aside(move |engine| {
                let view = engine.task(&key)?;
                // Right after a start that waits for the run's supervisor.
                let outlet = view.attempt.run.as_ref().and_then(|run| engine.inner.host.outlet(run));
                Ok((view, outlet))
            })
            .await?;
        let id = view.row.task.id.to_string();
        let _lent = waiter.filter(|_| wait > Duration::ZERO).map(|run| Lending::begin(self, run));
        if let Some(outlet) = outlet {
            let mut end = outlet.subscribe();
            let wait = wait.min(Duration::from_millis(limits::WAIT_MAX_MS));
            let from = if query.tail.is_some() { 0 } else { query.offset };
            // The time running out is an answer as well: nothing is new.
            let _ = tokio::time::timeout(wait, end.wait_for(|(end, over)| *over || *end > from)).await;
        } else if !view.attempt.state.is_terminal() && wait > Duration::ZERO {
            // In line, or on its way up: a change of it is a reason to look again.
            let mut one = self.inner.newest.watch_one(&id);
            let _ = tokio::time::timeout(wait.min(Duration::from_secs(1)), one.changed()).await;
        }
        self.aside(move |engine| engine.read_output(&id, query)).await
    }

    fn read_output(&self, key: &str, query: OutputQuery) -> Result<OutputPage, Error> {
        let (view, dir) = self.task_with_run_dir(key)?;
        let over = view.attempt.state.is_terminal();
        let nothing = OutputPage { over, ..page_at(query.offset.min(view.attempt.log_bytes)) };
        let Some(dir) = dir else { return Ok(OutputPage { offset: 0, next_offset: 0, ..nothing }) };
        if !dir.is_dir() {
            if view.attempt.log_bytes == 0 {
                return Ok(nothing);
            }
            return Err(Error::NotFound {
                what: "output of the task",
                name: key.to_owned(),
                hint: "it is not kept any more, like all logs of old tasks; `carillon tasks retry` makes a new one"
                    .to_owned(),
            });
        }
        let failed =
            |e: carillon_supervisor::Error| Error::failed(e.to_string(), "`carillon doctor` tells more");
        let mut page = read_page(&dir, query).map_err(failed)?;
        page.over = over && page.next_offset >= page.total;
        if query.whole_characters {
            trim_to_characters(&mut page, query.tail.is_some());
        }
        Ok(page)
    }
}

fn page_at(offset: u64) -> OutputPage {
    OutputPage {
        offset,
        next_offset: offset,
        total: offset,
        truncated: false,
        over: false,
        bytes: Vec::new(),
    }
}

fn read_page(dir: &Path, query: OutputQuery) -> Result<OutputPage, carillon_supervisor::Error> {
    let mut log = LogReader::open(dir)?;
    let total = log.end()?;
    let mut offset = match query.tail {
        Some(tail) => total.saturating_sub(tail),
        None => query.offset,
    };
    let limit = query.limit.unwrap_or(limits::OUTPUT_PAGE_BYTES).clamp(1, limits::OUTPUT_PAGE_MAX_BYTES);
    let mut page = OutputPage { total, ..page_at(offset) };
    if offset >= total {
        return Ok(page);
    }
    page.bytes.reserve(limit);
    let mut buf = vec![0; limit];
    while page.bytes.len() < limit {
        let rest = limit - page.bytes.len();
        match log.read_at(offset, &mut buf[..rest])? {
            Read::Bytes(n) => {
                page.bytes.extend_from_slice(&buf[..n]);
                offset += n as u64;
            }
            // A page never spans a gap: what is in it stands together in the stream.
            Read::Gap { .. } if !page.bytes.is_empty() => break,
            Read::Gap { to, .. } => {
                page.truncated = true;
                page.offset = to;
                offset = to;
            }
            Read::End => break,
        }
    }
    page.next_offset = offset;
    page.total = if page.bytes.is_empty() { total } else { total.max(offset) };
    Ok(page)
}

/// Leaves an unfinished character at the end for the next page, and at the start of a tail to the
/// page before.
fn trim_to_characters(page: &mut OutputPage, is_tail: bool) {
    if is_tail && page.offset > 0 {
        let torn = page.bytes.iter().take(3).take_while(|b| **b & 0xc0 == 0x80).count();
        page.bytes.drain(..torn);
        page.offset += torn as u64;
    }
    if page.over {
        return;
    }
    // At most the last three bytes can be the start of a character that goes on.
    let len = page.bytes.len();
    for back in 1..=len.min(3) {
        let needed = match page.bytes[len - back] {
            b if b & 0xc0 == 0x80 => continue,
            b if b & 0xe0 == 0xc0 => 2,
            b if b & 0xf0 == 0xe0 => 3,
            b if b & 0xf8 == 0xf0 => 4,
            _ => 1,
        };
        if needed > back {
            page.bytes.truncate(len - back);
            page.next_offset -= back as u64;
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: &[u8]) -> OutputPage {
        let mut page = OutputPage { bytes: bytes.to_vec(), ..page_at(0) };
        page.next_offset = bytes.len() as u64;
        page
    }

    #[test]
    fn pages_end_between_characters() {
        let text = "a—🦀é".as_bytes();
        for cut in 2..text.len() {
            let mut first = page(&text[..cut]);
            trim_to_characters(&mut first, false);
            let head = std::str::from_utf8(&first.bytes).expect("whole characters");
            let tail = std::str::from_utf8(&text[first.next_offset as usize..]).expect("whole characters");
            assert_eq!(format!("{head}{tail}"), "a—🦀é", "cut at {cut}");
        }
    }

    #[test]
    fn a_tail_begins_with_a_whole_character() {
        let mut tail = OutputPage { offset: 5, ..page(&"—x".as_bytes()[1..]) };
        trim_to_characters(&mut tail, true);
        assert_eq!((tail.offset, tail.bytes.as_slice()), (7, b"x".as_slice()));
    }
}
