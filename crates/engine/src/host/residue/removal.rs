//! Taking things away: each is judged once more, right before it goes, and what is told to be gone was seen to
//! be gone.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use carillon_core::id::RunId;
use carillon_core::judge::Verdict;
use carillon_store::runs::RunRow;
use carillon_tidy::git::{archive, create, names};
use carillon_tidy::strays::{self, Stray};
use carillon_tidy::trash;

use super::files::{OfRun, judge_run_dir, judge_temp_dirs, names_in};
use super::repositories::{judge_archive, judge_branch};
use super::{Item, Known, Thing, owner_of, size_of};
use crate::host::Host;
use crate::seam;

/// Time that a process gets to end by itself.
const GRACE: Duration = Duration::from_millis(2_000);

/// What came of the removal of one thing: the bytes that came free, or why it stays.
pub(crate) type Taken = Result<u64, String>;

/// What came of one temp directory.
pub(crate) struct BuriedTemp {
    /// Its run, where it is known.
    pub(crate) run: Option<RunId>,
    pub(crate) taken: Taken,
}

/// The reasons of a verdict, as one sentence.
pub(crate) fn reasons(verdict: &Verdict) -> String {
    verdict.why().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn allowed(verdict: &Verdict, consent: bool) -> Result<(), String> {
    if verdict.allows(consent) { Ok(()) } else { Err(reasons(verdict)) }
}

impl Host {
    /// Buries temp directories and deletes what they hold. They are judged together, and each is renamed before
    /// any is deleted, so that little time passes in between.
    pub(crate) fn take_temps(
        &self,
        items: &[(&Item, bool)],
        known: &Known,
        cancel: &AtomicBool,
    ) -> Vec<BuriedTemp> {
        let mut subjects = Vec::new();
        for (item, _) in items {
            let Thing::Temp { path, run } = &item.thing else { continue };
            let by_path =
                || known.runs.iter().find(|row| row.temp_path.as_deref().map(Path::new) == Some(path));
            let row = run.as_ref().and_then(|run| known.run(run.as_str())).or_else(by_path);
            // A run that was on the ledger when this was listed, and is forgotten now, was over.
            let owner = match (run, row) {
                (Some(_), None) => carillon_core::residue::Owner::Over,
                (_, row) => known.owner_of_temp(row),
            };
            subjects.push(OfRun { path: path.clone(), run: run.clone(), owner });
        }
        let verdicts = judge_temp_dirs(&subjects);
        let buried: Vec<Result<Option<std::path::PathBuf>, String>> = subjects
            .iter()
            .zip(items)
            .zip(verdicts)
            .map(|((subject, (_, consent)), verdict)| {
                if std::fs::symlink_metadata(&subject.path).is_err() {
                    return Ok(None);
                }
                allowed(&verdict, *consent)?;
                let base = subject.path.parent().and_then(Path::parent).ok_or("it is in no base")?;
                self.put_into_trash(base, &subject.path).map(Some)
            })
            .collect();
        let delete =
            |buried: Option<std::path::PathBuf>| buried.map_or(0, |place| self.delete(&place, cancel));
        subjects
            .into_iter()
            .zip(buried)
            .map(|(subject, buried)| {
                // The project's directory goes with its last entry.
                let _ = subject.path.parent().map(std::fs::remove_dir);
                BuriedTemp { run: subject.run, taken: buried.map(delete) }
            })
            .collect()
    }

    fn put_into_trash(&self, base: &Path, path: &Path) -> Result<std::path::PathBuf, String> {
        let place = trash::bury(base, &self.trash_name, path).map_err(|error| error.to_string())?;
        seam::reach("residue in the trash");
        Ok(place)
    }

    /// Deletes one entry of a trash, as far as it goes; the rest stays for the next sweep. Answers what came free.
    fn delete(&self, place: &Path, cancel: &AtomicBool) -> u64 {
        let is_dir = std::fs::symlink_metadata(place).is_ok_and(|meta| meta.is_dir());
        let mut freed = 0;
        if is_dir {
            let own = own_size(place);
            let emptied = trash::empty(place, None, cancel);
            freed = emptied.bytes;
            if emptied.complete && std::fs::remove_dir(place).is_ok() {
                freed += own;
            }
        } else if std::fs::remove_file(place).is_ok() {
            freed = 0;
        }
        // Goes only when it is empty.
        let _ = place.parent().map(std::fs::remove_dir);
        freed
    }

    /// The directory of a run that the ledger does not know, or takes for gone.
    pub(crate) fn take_run(
        &self,
        path: &Path,
        row: Option<&RunRow>,
        consent: bool,
        cancel: &AtomicBool,
    ) -> Taken {
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(0);
        }
        if row.is_some_and(|row| row.dir_kept) {
            return Err("the ledger knows it".to_owned());
        }
        allowed(&judge_run_dir(path, owner_of(row)), consent)?;
        let place = self.put_into_trash(&self.home, path)?;
        Ok(self.delete(&place, cancel))
    }

    /// What a run that is over has left in its directory; whether it may go is known.
    pub(crate) fn take_log(&self, run: &RunId) -> Taken {
        let dir = self.run_dir(run);
        let (bytes, _) = size_of(&dir);
        self.terminals().remove(run);
        match std::fs::remove_dir_all(&dir) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(crate) fn take_trash(&self, dir: &Path, cancel: &AtomicBool) -> Taken {
        let emptied = trash::empty(dir, None, cancel);
        if emptied.complete {
            let _ = std::fs::remove_dir(dir);
            return Ok(emptied.bytes);
        }
        if names_in(dir).is_empty() {
            return Ok(emptied.bytes);
        }
        let (path, why) =
            emptied.refused.first().ok_or("it was broken off; the rest stays for the next time")?;
        let more = emptied.refused.len() - 1;
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        Err(format!("{} bytes came free; {} stays: {why}{more}", emptied.bytes, path.display()))
    }

    pub(crate) fn take_branch(
        &self,
        repository: &Path,
        name: &str,
        base: Option<&str>,
        archive_ref: &str,
        consent: bool,
    ) -> Taken {
        let Some(verdict) = judge_branch(repository, name, base) else { return Ok(0) };
        allowed(&verdict, consent)?;
        // What is on no other branch is kept by this reference first.
        names::delete_branch(repository, name, archive_ref).map_err(|error| error.to_string())?;
        Ok(0)
    }

    pub(crate) fn take_archive(&self, item: &Item, consent: bool, now_ms: i64) -> Taken {
        let Thing::Archive { repository, reference, is_known, made_ms } = &item.thing else { return Ok(0) };
        allowed(&judge_archive(reference, *is_known, *made_ms, now_ms), consent)?;
        let (bytes, _) = size_of(&self.tar_of(reference));
        archive::forget(repository, reference, &self.home).map_err(|error| error.to_string())?;
        let still = archive::list(repository).map_err(|error| error.to_string())?;
        if still.iter().any(|(one, _)| one == reference) {
            return Err("git still has it".to_owned());
        }
        Ok(bytes)
    }

    pub(crate) fn take_tar(&self, path: &Path) -> Taken {
        let (bytes, _) = size_of(path);
        match std::fs::remove_file(path) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(crate) fn take_process(&self, stray: &Stray, row: Option<&RunRow>, consent: bool) -> Taken {
        if row.is_some_and(|row| !row.state.is_terminal()) {
            return Err("its run is alive".to_owned());
        }
        allowed(&self.judge_process(stray, row), consent)?;
        tracing::info!(
            pid = stray.pid,
            name = stray.name,
            run = stray.run,
            "ending a process of a run that is over"
        );
        let outcome = strays::end(std::slice::from_ref(stray), GRACE);
        outcome.left.into_iter().next().map_or(Ok(0), |(_, why)| Err(why))
    }

    /// What a creation left. Files go only with consent; what is not what was made never goes.
    pub(crate) fn take_husk(&self, id: &str, consent: bool, cancel: &AtomicBool) -> Taken {
        let journal = self.journal();
        if !self.creations().iter().any(|one| one == id) {
            return Ok(0);
        }
        let (husk, verdict) = self.judge_husk(id).ok_or("it is no husk any more")?;
        allowed(&verdict, consent)?;
        let mut freed = 0;
        if husk.is_there && husk.has_files && consent {
            // git's own entry goes below, by git.
            let place = self.put_into_trash(&self.home, &husk.path)?;
            let _ = std::fs::remove_file(place.join(".git"));
            freed = self.delete(&place, cancel);
        }
        match create::settle(&journal, id).map_err(|error| error.to_string())? {
            create::Settled::Nothing => Ok(freed),
            create::Settled::Complete(_) => Err("git had finished it".to_owned()),
            create::Settled::InProgress { pid } => Err(format!("process {pid} is at work there")),
            create::Settled::LeftAlone { why } => Err(why),
        }
    }
}

fn own_size(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).map_or(0, |meta| meta.blocks() * 512)
}
