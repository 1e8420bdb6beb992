//! Limits of a program that tells nobody of them, while it is at a turn of ours: they stand in the records that it keeps
//! of its conversations. No clock is asked; the system tells what is written.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use carillon_agents::codex_records::{self, Limited};
use carillon_core::id::RunId;
use serde_json::json;

use crate::event::Event;
use crate::host::typing::Mark;
use crate::host::{Host, linux};
use crate::left_hooks;
use crate::main_loop::now_ms;
use crate::requests::LIMIT_REACHED;
use crate::world::Report;

mod linux_events;

use linux_events::{Told, Watch};

/// So much of the end of a record is read: the end of a turn stands in its last lines.
const TAIL_BYTES: u64 = 256 * 1024;

/// The program is a child of the run's first process, or of one more that starts it.
const GENERATIONS_MAX: usize = 3;

impl Host {
    /// Watches until the turn is over that the program of a run is at. For one that tells of its limits itself, nothing.
    pub(crate) fn watch_records_in_background(self: &Arc<Self>, run: &RunId, report: &Report) {
        if !self.has_mark(run, Mark::Records) || !self.has_mark(run, Mark::Busy) {
            return;
        }
        let (host, watched, report) = (self.clone(), run.clone(), report.clone());
        let work = move || match host.wait_for_limit(&watched) {
            Ok(Some(limited)) => host.limit_stands_in_records(&watched, &limited, &report),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(run = %watched, %error, "the records of a program cannot be watched")
            }
        };
        if let Err(error) = std::thread::Builder::new().name("records".to_owned()).spawn(work) {
            tracing::error!(%run, %error, "no thread to watch the records of a program; a limit is not noticed");
        }
    }

    /// The limit at which the turn has ended; none when it has ended otherwise.
    fn wait_for_limit(&self, run: &RunId) -> io::Result<Option<Limited>> {
        let busy = self.mark_file(run, Mark::Busy);
        let watch = Watch::new(&self.run_dir(run), &busy)?;
        // Gone already: the turn was over before anybody could look.
        let Ok(meta) = std::fs::metadata(&busy) else { return Ok(None) };
        let began = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since_ms = i64::try_from(began.as_millis()).unwrap_or(i64::MAX);
        let mut seen = HashMap::new();
        loop {
            for record in self.records_of(run) {
                // One that has just gone is no record of the program's any more.
                let _ = watch.add(&record);
                if let Some(limited) = look(&record, &mut seen, since_ms) {
                    return Ok(Some(limited));
                }
            }
            if watch.wait()? == Told::Over {
                return Ok(None);
            }
        }
    }

    /// The records of the conversations that the program is in.
    fn records_of(&self, run: &RunId) -> Vec<PathBuf> {
        let pid = self.facts_of_live(run).ok().flatten().and_then(|facts| facts.pid);
        let mut generation: Vec<u32> = pid.into_iter().collect();
        for _ in 0..GENERATIONS_MAX {
            let found: Vec<PathBuf> =
                generation.iter().flat_map(|pid| codex_records::open_in(*pid)).collect();
            if !found.is_empty() {
                return found;
            }
            generation = generation.into_iter().flat_map(linux::children).collect();
        }
        Vec::new()
    }

    /// It lies there for the loop, and for the next engine if this one does not come to it.
    fn limit_stands_in_records(self: &Arc<Self>, run: &RunId, limited: &Limited, report: &Report) {
        let data = json!({ "reason": limited.reason, "until_ms": limited.resets_at_ms });
        let id = uuid::Uuid::new_v4().simple().to_string();
        if let Err(error) = left_hooks::leave(&self.home, run.as_str(), LIMIT_REACHED, &data, &id) {
            tracing::error!(%run, %error, "a limit that a program has reached cannot be told");
            return;
        }
        let host = self.clone();
        report.send(Event::Requested(Box::new(move |main_loop| {
            if let Err(error) = main_loop.hear_all_left(&host) {
                tracing::error!(%error, "a limit that a program has reached is heard at the next start");
            }
        })));
    }
}

/// Looks into a record that has become longer.
fn look(record: &Path, seen: &mut HashMap<PathBuf, u64>, since_ms: i64) -> Option<Limited> {
    let mut file = File::open(record).ok()?;
    let length = file.metadata().ok()?.len();
    if seen.insert(record.to_path_buf(), length) == Some(length) {
        return None;
    }
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    let limited = codex_records::limited_since(&bytes, since_ms, now_ms())?;
    codex_records::is_of_user(record).then_some(limited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_record_is_read_when_it_has_become_longer() {
        let dir = tempfile::tempdir().expect("a directory");
        let record = dir.path().join("rollout-1-a.jsonl");
        let meta = "{\"type\":\"session_meta\",\"payload\":{\"source\":\"cli\"}}\n";
        std::fs::write(&record, meta).expect("a file");
        let mut seen = HashMap::new();
        assert_eq!(look(&record, &mut seen, 0), None);
        let end = r#"{"timestamp":"2026-11-30T18:00:01Z","type":"event_msg","payload":{"type":"task_complete","error":{"message":"limit","codex_error_info":"usage_limit_exceeded"}}}"#;
        let mut file = File::options().append(true).open(&record).expect("ours");
        writeln!(file, "{}\n{end}", "x".repeat(300_000)).expect("ours");
        let limited = Limited { reason: "limit".to_owned(), resets_at_ms: None };
        assert_eq!(look(&record, &mut seen, 0), Some(limited));
        assert_eq!(look(&record, &mut seen, 0), None, "it is as it was");
        assert_eq!(look(&dir.path().join("none"), &mut seen, 0), None);
    }
}
