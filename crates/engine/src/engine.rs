//! The handle of a running engine.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use carillon_core::limits;
use carillon_store::{Reader, Store};

use crate::config::{Config, Paths};
use crate::error::{Error, OpenError};
use crate::event::Event;
use crate::host::Host;
use crate::main_loop::{MainLoop, now_ms};
use crate::newest::Newest;
use crate::requests::trials::Trials;
use crate::requests::workdir_stops::Works;
use crate::sweep::Clearing;
use crate::temps::TempUses;
use crate::world::World;

/// A running engine. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) events: Sender<Event>,
    pub(crate) reader: Mutex<Reader>,
    pub(crate) world: Arc<dyn World>,
    pub(crate) host: Arc<Host>,
    pub(crate) newest: Arc<Newest>,
    pub(crate) temp_uses: Arc<TempUses>,
    pub(crate) config: Config,
    pub(crate) paths: Paths,
    pub(crate) notices: Mutex<Vec<Notice>>,
    /// Held while git merges, removes or brings back a workdir.
    pub(crate) workdir_work: Mutex<()>,
    /// What git is at there, or about to be.
    pub(crate) works: Arc<Works>,
    pub(crate) residue: Arc<Clearing>,
    /// Programs of profiles that are being tried.
    pub(crate) trials: Trials,
    pub(crate) down: Once,
    /// Held for as long as the handle lives.
    _lock: File,
}

/// Something that the user should know from the start on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whether it is an error (else a warning).
    pub is_error: bool,
    /// What is the matter.
    pub text: String,
    /// The way out.
    pub hint: Option<String>,
}

impl Engine {
    /// Takes the data directory, opens the ledger, brings it in line with what is there and starts
    /// the loop. Blocking; needs no runtime.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        let host = Arc::new(Host::new(&config));
        Self::open_in(config, host.clone(), Arc::new(host))
    }

    /// As [`Engine::open`], with another world: for tests of timing and failure.
    pub fn open_in(config: Config, host: Arc<Host>, world: Arc<dyn World>) -> Result<Self, OpenError> {
        let paths = config.paths();
        let lock = take_home(&paths)?;
        let opened = Store::open(&paths.ledger, now_ms())?;
        let mut notices = Vec::new();
        if let Some(aside) = opened.moved_aside {
            notices.push(Notice {
                is_error: true,
                text: "The ledger was damaged. It was moved aside and a new one begun; your repositories are untouched.".to_owned(),
                hint: Some(format!("the damaged file is {}", aside.display())),
            });
        }
        if let Some(aside) = opened.log_put_aside {
            notices.push(Notice {
                is_error: false,
                text: "The ledger was put back from a backup while a log of another time lay beside it. The backup holds; the log was put aside.".to_owned(),
                hint: Some(format!("the log is {}", aside.display())),
            });
        }
        host.sweep_calls();
        let reader = opened.store.reader()?;
        let (events, queue) = mpsc::channel();
        let as_home = |error: Error| OpenError::Home { home: paths.home.clone(), why: error.to_string() };
        let (mut main_loop, newest) =
            MainLoop::new(opened.store, world.clone(), paths.clone(), events.clone()).map_err(as_home)?;
        let temp_uses = main_loop.temp_uses.clone();
        let found = main_loop.boot(&host).map_err(as_home)?;
        tracing::info!(?found, home = %paths.home.display(), "recovered");
        if found.unknown > 0 {
            notices.push(Notice {
                is_error: false,
                text: format!("{} earlier runs could not be looked at.", found.unknown),
                hint: Some("`carillon doctor` tells more".to_owned()),
            });
        }
        std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || {
                // Without its loop an engine would answer and do nothing. The supervisors go on, and
                // the next start finds everything as it is.
                let looped = std::panic::AssertUnwindSafe(|| main_loop.run(&queue));
                if std::panic::catch_unwind(looped).is_err() {
                    std::process::abort();
                }
            })
            .map_err(|e| OpenError::Home { home: paths.home.clone(), why: format!("no thread: {e}") })?;
        let inner = Inner {
            events,
            reader: Mutex::new(reader),
            world,
            host,
            newest,
            temp_uses,
            paths,
            notices: Mutex::new(notices),
            workdir_work: Mutex::new(()),
            works: Arc::default(),
            residue: Arc::default(),
            trials: Trials::default(),
            down: Once::new(),
            _lock: lock,
            config,
        };
        let engine = Self { inner: Arc::new(inner) };
        engine.sweep_in_background();
        engine.look_after_workdirs();
        Ok(engine)
    }

    /// The paths of this engine.
    pub fn paths(&self) -> &Paths {
        &self.inner.paths
    }

    /// How it was started.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// What the user should know from the start on.
    pub fn notices(&self) -> Vec<Notice> {
        self.inner.notices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds what went wrong at the start to what the user should know.
    pub fn notice(&self, error: &Error) {
        let hint = error.hint().map(str::to_owned);
        let notice = Notice { is_error: true, text: error.to_string(), hint };
        self.inner.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// The terminals of this engine's runs.
    pub fn host(&self) -> &Arc<Host> {
        &self.inner.host
    }

    /// Runs `work` on the loop's thread and waits for its answer.
    pub(crate) fn request_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut MainLoop) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.request(work)?.recv().map_err(|_| Error::ShuttingDown)?
    }

    /// As [`Engine::request_blocking`], for a caller that cannot wait longer than `until`.
    pub(crate) fn request_until<T: Send + 'static>(
        &self,
        until: Instant,
        work: impl FnOnce(&mut MainLoop) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let rest = until.saturating_duration_since(Instant::now());
        self.request(work)?.recv_timeout(rest).map_err(|_| Error::ShuttingDown)?
    }

    fn request<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut MainLoop) -> Result<T, Error> + Send + 'static,
    ) -> Result<mpsc::Receiver<Result<T, Error>>, Error> {
        let (reply, answer) = mpsc::channel();
        let request = Event::Requested(Box::new(move |main_loop| {
            let result = main_loop.wholly(work);
            main_loop.answer_later(move |committed| {
                let not_kept = |why| Error::failed(why, "free some space on the disk of the data directory");
                // Whoever asked may have gone.
                let _ = reply.send(committed.map_err(not_kept).and(result));
            });
        }));
        self.inner.events.send(request).map_err(|_| Error::ShuttingDown)?;
        Ok(answer)
    }

    /// Runs `work` on the loop's thread some time; nobody waits for it.
    pub(crate) fn request_unanswered(
        &self,
        work: impl FnOnce(&mut MainLoop) -> Result<(), Error> + Send + 'static,
    ) {
        let request = Event::Requested(Box::new(move |main_loop| {
            if let Err(error) = main_loop.wholly(work) {
                tracing::warn!(%error, "a request that nobody waits for failed");
            }
        }));
        // An engine that is down has nothing to do for it.
        let _ = self.inner.events.send(request);
    }

    /// Does what may block where that is no harm: not on a thread that others' calls need.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let engine = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&engine)).await;
        done.unwrap_or_else(|error| {
            Err(Error::failed(format!("the command broke off: {error}"), "try again"))
        })
    }

    /// Reads the ledger beside the loop.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&carillon_store::db::Db) -> Result<T, carillon_store::db::SqlError>,
    ) -> Result<T, Error> {
        let reader = self.inner.reader.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(reader.read(work)?)
    }

    /// Workdirs that are merged or given up go when their last task or ask is over: each end is a
    /// change, so each change is a reason to look.
    fn look_after_workdirs(&self) {
        let (weak, newest) = (Arc::downgrade(&self.inner), self.inner.newest.clone());
        let far = Duration::from_secs(24 * 3_600);
        // Read before anybody can ask for more: only these were cut short.
        let cut_short = self.workdirs_on_their_way();
        self.inner.host.begin_journal();
        let clearing = self.inner.residue.clone();
        let work = move || {
            if let (Some(_busy), Some(inner)) = (clearing.begin_work(), weak.upgrade()) {
                Self { inner }.recover_workdirs(cut_short);
            }
            while let (Some(busy), Some(inner)) = (clearing.begin_work(), weak.upgrade()) {
                let seen = newest.get();
                let engine = Self { inner };
                let waiting = engine.workdirs_on_their_way();
                engine
                    .settle_workdirs(waiting.into_iter().filter(|row| row.state.waits_for_work()).collect());
                drop(engine);
                drop(busy);
                while newest.get() == seen && weak.strong_count() > 0 {
                    newest.wait(seen, Instant::now() + far);
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("workdirs".to_owned()).spawn(work) {
            tracing::warn!(%error, "no thread for workdirs; the next start goes on with them");
        }
    }
}

/// Makes the data directory (0700) where it is missing, and takes its lock: a flock on the directory
/// itself, which nobody can remove from under us. The file `lock` in it only tells who has it.
fn take_home(paths: &Paths) -> Result<File, OpenError> {
    let home = |why: std::io::Error| OpenError::Home { home: paths.home.clone(), why: why.to_string() };
    let private = |dir: &Path| std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    private(&paths.home).map_err(home)?;
    let lock = File::open(&paths.home).map_err(home)?;
    lock_home(&lock, &paths.lock)
        .map_err(|pid| OpenError::AlreadyRunning { pid, home: paths.home.clone() })?;
    let tell = || -> std::io::Result<()> {
        // Made anew: what stands there under this name is a dead engine's, or somebody's trap.
        let part = paths.lock.with_extension("part");
        let _ = std::fs::remove_file(&part);
        let mut file = File::options().create_new(true).write(true).mode(0o600).open(&part)?;
        writeln!(file, "{}", std::process::id())?;
        std::fs::rename(&part, &paths.lock)
    };
    tell().map_err(home)?;
    private(&paths.runs).map_err(home)?;
    private(&paths.calls).map_err(home)?;
    Ok(lock)
}

/// Whom the file `lock` names.
fn who_has_it(lock: &Path) -> Option<u32> {
    let file = File::options()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(lock)
        .ok()?;
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Takes the lock, or answers who has it. When that process is dead, a child of it that was just being
/// started may hold the lock for another moment: it goes with the child's exec.
fn lock_home(home: &File, lock: &Path) -> Result<(), Option<u32>> {
    let until = Instant::now() + Duration::from_millis(limits::DEAD_LOCK_PATIENCE_MS);
    while rustix::fs::flock(home, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        let pid = who_has_it(lock);
        let process = pid.and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?));
        let is_dead = process.is_some_and(|pid| rustix::process::test_kill_process(pid).is_err());
        if !is_dead || Instant::now() > until {
            return Err(pid);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
