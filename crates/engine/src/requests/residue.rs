//! What is left behind: the report, and taking away what may go. All of it works beside the loop, which only
//! records what came of it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use carillon_core::ask::ChildId;
use carillon_core::id::{RunId, WorkdirId};
use carillon_core::limits;
use carillon_core::residue::Kind;
use carillon_core::workdir::{Event as WorkdirEvent, State};
use carillon_store::changes::{self, Tag};
use carillon_store::db::{Db, SqlError};
use carillon_store::workdirs::{self, WorkdirRow};
use carillon_store::{agents, asks, attempts, projects, runs, tasks, turns};

use crate::engine::Engine;
use crate::error::Error;
use crate::event::Event;
use crate::host::residue::{Item, Known, Listing, Taken, Thing, Wanted, reasons};
use crate::main_loop::now_ms;
use crate::requests::workdir_steps::open_work_of;
use crate::seam;

/// What the report is to tell.
#[derive(Clone, Debug, Default)]
pub struct ResidueQuery {
    /// Only these kinds; all when there is none.
    pub kinds: Vec<Kind>,
    /// Only what belongs to this project, by name, id or path.
    pub project: Option<String>,
}

/// What is to be taken away: what is safe, and what the user consents to.
#[derive(Clone, Debug, Default)]
pub struct ApplyOrder {
    /// Of what.
    pub of: ResidueQuery,
    /// Only these of it, by their ids or unique beginnings of them; nothing else is touched or told of. None: all
    /// of it.
    pub only: Option<Vec<String>>,
    /// Ids of things that the user consents to, or unique beginnings of them.
    pub consent: Vec<String>,
}

/// What became of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What it was.
    pub item: Item,
    /// It was seen to be gone.
    pub removed: bool,
    /// Why it stays.
    pub refused: Option<String>,
    /// Bytes that came free.
    pub freed: u64,
}

/// How far a removal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// One is at work.
    pub running: bool,
    /// Things that are to go.
    pub total: u64,
    /// Things that were tried.
    pub done: u64,
    /// Things that are gone.
    pub removed: u64,
    /// Bytes that came free.
    pub freed_bytes: u64,
    /// Somebody broke it off.
    pub cancelled: bool,
}

/// Fewest characters of an id that name it.
const PREFIX_MIN_CHARS: usize = 4;
/// Characters of a whole id.
const ID_CHARS: usize = 32;

impl Engine {
    /// What is left behind, with sizes and verdicts. Nothing is changed.
    pub fn residue(&self, query: &ResidueQuery) -> Result<Vec<Item>, Error> {
        let wanted = self.wanted(query, true)?;
        Ok(self.report(&wanted)?.0)
    }

    fn wanted(&self, query: &ResidueQuery, sizes: bool) -> Result<Wanted, Error> {
        let project = query.project.as_deref().map(|key| self.project(key)).transpose()?;
        Ok(Wanted { kinds: query.kinds.clone(), project: project.map(|project| project.id), sizes })
    }

    /// The disk first, then the ledger.
    pub(crate) fn report(&self, wanted: &Wanted) -> Result<(Vec<Item>, Listing, Known), Error> {
        let listing = self.inner.host.list_residue(&self.projects()?, wanted);
        let known = self.known_residue()?;
        let items = self.inner.host.judge_residue(&listing, &known, wanted);
        Ok((items, listing, known))
    }

    /// What the ledger says of all that may be left behind.
    pub(crate) fn known_residue(&self) -> Result<Known, Error> {
        self.read(known_residue)
    }

    /// Takes away what is safe, and what `order` consents to. Everything is judged once more right before it goes.
    /// A second one waits for the first, and finds what that left.
    pub fn apply_residue(&self, order: &ApplyOrder) -> Result<Vec<Applied>, Error> {
        let wanted = self.wanted(&order.of, true)?;
        let work = &self.inner.residue;
        let _alone = work.alone();
        let (mut items, ..) = self.report(&wanted)?;
        if let Some(only) = &order.only {
            items = chosen_of(items, only)?;
        }
        // What was chosen and went meanwhile needs no consent any more.
        let went = |key: &&String| {
            order.only.as_ref().is_some_and(|only| only.contains(key)) && is_gone(&items, key)
        };
        let consent: Vec<String> = order.consent.iter().filter(|key| !went(key)).cloned().collect();
        let consented = named(&items, &consent)?;
        let chosen: Vec<(usize, bool)> = items
            .iter()
            .enumerate()
            .map(|(place, item)| {
                (place, consented.contains(&place), item.verdict.allows(consented.contains(&place)))
            })
            .filter(|(_, _, goes)| *goes)
            .map(|(place, consent, _)| (place, consent))
            .collect();
        let cancel = work.begin(chosen.len() as u64);
        let mut came = self.take_all(&items, &chosen, cancel);
        work.end();
        self.tell_residue_changed();
        let applied = |(place, item): (usize, Item)| match came.remove(&place) {
            Some(Ok(freed)) => Applied { item, removed: true, refused: None, freed },
            Some(Err(why)) => Applied { item, removed: false, refused: Some(why), freed: 0 },
            None if item.verdict.word() == "needs_consent" => {
                let refused = Some(format!("it needs your consent: {}", reasons(&item.verdict)));
                Applied { item, removed: false, refused, freed: 0 }
            }
            None => {
                let refused = Some(reasons(&item.verdict));
                Applied { item, removed: false, refused, freed: 0 }
            }
        };
        Ok(items.into_iter().enumerate().map(applied).collect())
    }

    /// How far the removal is that is at work, or how the last one went.
    pub fn residue_progress(&self) -> Progress {
        self.inner.residue.progress()
    }

    /// Breaks off the removal that is at work. What is gone is gone; the rest stays as it is.
    pub fn cancel_residue(&self) -> Progress {
        self.inner.residue.cancel();
        self.inner.residue.progress()
    }

    /// Takes these away, each with or without consent; answers what came of each, by its place.
    pub(crate) fn take_all(
        &self,
        items: &[Item],
        chosen: &[(usize, bool)],
        cancel: &AtomicBool,
    ) -> HashMap<usize, Taken> {
        let mut came = HashMap::new();
        let mut told = Instant::now();
        let mut rest = chosen;
        while let Some((first, _)) = rest.first() {
            let kind = items[*first].kind;
            // Temp directories and logs are judged together: one look serves many.
            let together = match kind {
                Kind::Temp | Kind::Log => limits::TEMP_BATCH,
                _ => 1,
            };
            let count =
                rest.iter().take(together).take_while(|(place, _)| items[*place].kind == kind).count();
            let (batch, later) = rest.split_at(count);
            rest = later;
            let results = if cancel.load(Ordering::Relaxed) {
                batch.iter().map(|_| Err("it was broken off before".to_owned())).collect()
            } else {
                self.take_batch(items, batch, cancel)
                    .unwrap_or_else(|error| batch.iter().map(|_| Err(error.to_string())).collect())
            };
            for ((place, _), taken) in batch.iter().zip(results) {
                self.inner.residue.count(&taken);
                came.insert(*place, taken);
            }
            seam::reach("one thing taken away");
            if told.elapsed() >= Duration::from_millis(limits::PROGRESS_MS) {
                told = Instant::now();
                self.tell_residue_changed();
            }
        }
        came
    }

    fn take_batch(
        &self,
        items: &[Item],
        batch: &[(usize, bool)],
        cancel: &AtomicBool,
    ) -> Result<Vec<Taken>, Error> {
        let batch: Vec<(&Item, bool)> =
            batch.iter().map(|(place, consent)| (&items[*place], *consent)).collect();
        match batch[0].0.kind {
            Kind::Temp => {
                let known = self.known_residue()?;
                let buried = self.inner.host.take_temps(&batch, &known, cancel);
                let told = buried.into_iter().map(|one| {
                    if let (Some(run), Ok(_)) = (one.run, &one.taken) {
                        self.report_to_loop(Event::TempBuried { run });
                    }
                    one.taken
                });
                Ok(told.collect())
            }
            Kind::Log => self.take_logs(&batch),
            _ => batch.into_iter().map(|(item, consent)| self.take(item, consent, cancel)).collect(),
        }
    }

    fn take_logs(&self, batch: &[(&Item, bool)]) -> Result<Vec<Taken>, Error> {
        let known = self.known_residue()?;
        let wanted = Wanted { kinds: vec![Kind::Log], ..Wanted::default() };
        let now = self.inner.host.judge_residue(&Listing::default(), &known, &wanted);
        let take = |(item, consent): &(&Item, bool)| {
            let Thing::Log { run } = &item.thing else { return Ok(0) };
            let Some(again) = now.iter().find(|one| one.id == item.id) else { return Ok(0) };
            if !again.verdict.allows(*consent) {
                return Err(reasons(&again.verdict));
            }
            let taken = self.inner.host.take_log(run);
            if taken.is_ok() {
                self.report_to_loop(Event::DirDropped { run: run.clone() });
            }
            taken
        };
        Ok(batch.iter().map(take).collect())
    }

    fn take(&self, item: &Item, consent: bool, cancel: &AtomicBool) -> Result<Taken, Error> {
        let host = &self.inner.host;
        let row_of = |run: &str| match RunId::parse(run) {
            Ok(run) => self.read(|db| runs::get(db, &run)),
            Err(_) => Ok(None),
        };
        Ok(match &item.thing {
            // These two are taken together.
            Thing::Temp { .. } | Thing::Log { .. } => Ok(0),
            Thing::Run { path, run } => host.take_run(path, row_of(run)?.as_ref(), consent, cancel),
            Thing::Worktree { id } => self.take_worktree(item, id, consent)?,
            Thing::Unlisted { row } => self.take_unlisted(item, row, consent)?,
            Thing::Husk { id } => self.take_husk(id, consent, cancel)?,
            Thing::Branch { repository, workdir, name, base } => {
                let kept = host.reference_for_branch(workdir);
                let taken = host.take_branch(repository, name, base.as_deref(), &kept, consent);
                if taken.is_ok() {
                    self.branch_is_gone(workdir)?;
                }
                taken
            }
            Thing::Process { stray } => host.take_process(stray, row_of(&stray.run)?.as_ref(), consent),
            Thing::Archive { reference, .. } => {
                let taken = host.take_archive(item, consent, now_ms());
                if taken.is_ok() {
                    self.forget_archive(reference)?;
                }
                taken
            }
            Thing::Tar { path } => host.take_tar(path),
            Thing::Trash { dir } => host.take_trash(dir, cancel),
        })
    }

    fn take_worktree(&self, item: &Item, id: &WorkdirId, consent: bool) -> Result<Taken, Error> {
        let taken = self.clean_workdir(id, consent)?;
        Ok(taken.and_then(|()| match std::fs::symlink_metadata(&item.path) {
            Err(_) => Ok(item.bytes),
            Ok(_) => Err("something is in its place".to_owned()),
        }))
    }

    /// A worktree of ours without a row gets one, so that there is a tombstone which brings it back.
    fn take_unlisted(&self, item: &Item, row: &WorkdirRow, consent: bool) -> Result<Taken, Error> {
        // Nobody brings it back in this moment.
        let alone = self.work_alone();
        let verdict = self.inner.host.judge_workdir(row, false, &self.known_residue()?);
        if !verdict.allows(consent) {
            return Ok(Err(reasons(&verdict)));
        }
        let mut row = row.clone();
        let id = row.id.clone();
        self.request_blocking(move |inner| {
            let all = inner.store.read(|db| workdirs::list(db, Some(&row.project)))?;
            let there: Vec<&WorkdirRow> = all.iter().filter(|one| one.ended_ms.is_none()).collect();
            if there.iter().any(|one| one.path == row.path) {
                return Err(Error::refused("it is on the ledger meanwhile", "look at the report again"));
            }
            if there.iter().any(|one| one.name == row.name) {
                row.name = format!("{}-{}", row.name, &row.id.as_str()[..6]);
            }
            inner.store.write(|tx| {
                workdirs::insert(tx, &row)?;
                workdirs::set_made(tx, &row)?;
                let creating = WorkdirRow { state: State::Creating, ..row.clone() };
                workdirs::set_state(tx, &creating, &State::Active { refused: None }, now_ms())
            })?;
            Ok(())
        })?;
        drop(alone);
        self.take_worktree(item, &id, consent)
    }

    fn take_husk(&self, id: &str, consent: bool, cancel: &AtomicBool) -> Result<Taken, Error> {
        let _alone = self.work_alone();
        let taken = self.inner.host.take_husk(id, consent, cancel);
        let row = match WorkdirId::parse(id) {
            Ok(id) => self.read(|db| workdirs::get(db, &id))?,
            Err(_) => None,
        };
        if let (Ok(_), Some(row)) = (&taken, row.filter(|row| row.state == State::Creating)) {
            let message = "what its creation had left was cleared away".to_owned();
            self.step_workdir(&row.id, WorkdirEvent::NotMade { message }, None)?;
        }
        Ok(taken)
    }

    /// The tombstone of a workdir tells of no archive that is gone.
    pub(crate) fn forget_archive(&self, reference: &str) -> Result<(), Error> {
        let has_it = |row: &WorkdirRow| match &row.state {
            State::Tombstoned { archive_ref, .. } => archive_ref.as_deref() == Some(reference),
            _ => false,
        };
        for row in self.read(|db| workdirs::list(db, None))?.iter().filter(|row| has_it(row)) {
            self.step_workdir(&row.id, WorkdirEvent::ArchiveForgotten, None)?;
        }
        Ok(())
    }

    /// From now on a branch of this name is somebody else's.
    fn branch_is_gone(&self, id: &WorkdirId) -> Result<(), Error> {
        let id = id.clone();
        self.request_blocking(move |inner| {
            let Some(row) = inner.store.read(|db| workdirs::get(db, &id))? else { return Ok(()) };
            inner.store.write(|tx| workdirs::set_branch_gone(tx, &row))?;
            Ok(())
        })
    }

    fn report_to_loop(&self, event: Event) {
        // An engine that is down finds it again at its next start.
        let _ = self.inner.events.send(event);
    }

    /// Tells everybody who looks at a report that it is stale.
    pub(crate) fn tell_residue_changed(&self) {
        self.request_unanswered(|inner| {
            inner.store.write(|tx| changes::note(tx, Tag::Residue, "residue", None))?;
            Ok(())
        });
    }
}

/// What the ledger says of all that may be left behind.
pub(crate) fn known_residue(db: &Db) -> Result<Known, SqlError> {
    let mut needed = HashSet::new();
    for ask in asks::going_on(db)? {
        for view in crate::asks::children_of(db, &ask.id)? {
            let ChildId::Task(task) = &view.id else { continue };
            needed.extend(attempts::latest(db, task)?.and_then(|attempt| attempt.run));
        }
    }
    needed.extend(turns::live(db)?.into_iter().filter_map(|turn| turn.run));
    let runs = runs::all(db)?;
    let mut inherited = HashSet::new();
    for row in runs.iter().filter(|row| row.temp_held && row.state.is_terminal()) {
        if !tasks::heirs_of(db, row)?.is_empty() {
            inherited.insert(row.id.clone());
        }
    }
    let workdirs = workdirs::list(db, None)?;
    let there: Vec<WorkdirRow> = workdirs.iter().filter(|row| row.ended_ms.is_none()).cloned().collect();
    Ok(Known {
        projects: projects::list(db)?,
        agents: agents::list(db)?,
        runs,
        open_work: open_work_of(db, &there)?,
        workdirs,
        needed,
        inherited,
        now_ms: now_ms(),
    })
}

/// Those that the user chose, without what went meanwhile.
fn chosen_of(items: Vec<Item>, keys: &[String]) -> Result<Vec<Item>, Error> {
    let there: Vec<String> = keys.iter().filter(|key| !is_gone(&items, key)).cloned().collect();
    let places = named(&items, &there)?;
    let chosen = items.into_iter().enumerate().filter(|(place, _)| places.contains(place));
    Ok(chosen.map(|(_, item)| item).collect())
}

/// Whether a thing that is named by its whole id is not in the report any more.
fn is_gone(items: &[Item], key: &str) -> bool {
    key.len() == ID_CHARS && !items.iter().any(|item| item.id == key)
}

/// The places of the things that the user names. One that is not in the report, or not unique, ends it all:
/// nothing is done on a word that may have been meant otherwise.
fn named(items: &[Item], keys: &[String]) -> Result<HashSet<usize>, Error> {
    let mut found = HashSet::new();
    for key in keys {
        let is_meant =
            |item: &Item| item.id == *key || (key.len() >= PREFIX_MIN_CHARS && item.id.starts_with(key));
        let mut places = items.iter().enumerate().filter(|(_, item)| is_meant(item)).map(|(place, _)| place);
        match (places.next(), places.next()) {
            (Some(place), None) => drop(found.insert(place)),
            (Some(_), Some(_)) => return Err(Error::Ambiguous { what: "residue", name: key.clone() }),
            (None, _) => {
                return Err(Error::NotFound {
                    what: "residue",
                    name: key.clone(),
                    hint: "`carillon clean` shows what there is; nothing was removed".to_owned(),
                });
            }
        }
    }
    Ok(found)
}
