//! Starting the supervisor of a run.

use crate::error::Error;
use crate::files::{self, Durable};
use crate::linux::spawn;
use crate::rundir::LeasedRun;
use crate::spec::{Io, RunSpec};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A supervisor that was just started, as our child.
///
/// It must be waited for when it ends, or a zombie stays until we end ourselves: give it to a thread
/// that calls [`Launched::reap`], or call [`Launched::try_reap`] when its control connection closes.
/// Dropping it neither ends nor waits for the supervisor, which is meant to outlive us.
#[derive(Debug)]
#[must_use = "a supervisor that is never reaped stays as a zombie"]
pub struct Launched {
    /// The supervisor's process id.
    pub pid: u32,
}

/// Writes `spec.json` and starts `binary supervise <run dir> --lease-fds ...` with exactly the
/// environment `env`, which the supervisor hands on to the program. The environment is never written
/// to a file.
///
/// The run's lease and the further leases in `also_inherit` pass to the supervisor: it inherits the
/// descriptors, our own copies are closed when this function returns, whatever it returns.
///
/// # Errors
/// [`Error::Spec`] when the spec does not fit the run, [`Error::File`] when it cannot be written,
/// [`Error::Launch`] when the binary cannot be executed. The program has then not been started, and
/// [`observe`](crate::observe) answers `NeverBegan`.
pub fn launch(
    binary: &Path,
    leased: LeasedRun,
    spec: &RunSpec,
    env: &[(OsString, OsString)],
    also_inherit: Vec<OwnedFd>,
) -> Result<Launched, Error> {
    check(&leased, spec)?;
    // After a crash of the machine nobody reads it any more, so nobody waits for the disk.
    files::write_json(leased.dir.as_fd(), files::SPEC, spec, Durable::No)
        .map_err(|e| Error::file("write", leased.path.join(files::SPEC), e))?;
    let inherit: Vec<BorrowedFd<'_>> =
        std::iter::once(leased.dir.as_fd()).chain(also_inherit.iter().map(AsFd::as_fd)).collect();
    let numbers: Vec<String> = inherit.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
    let run_dir = std::path::absolute(&leased.path).map_err(|e| Error::file("resolve", &leased.path, e))?;
    // The child starts in the root directory, where a relative name would mean something else.
    let binary = &std::path::absolute(binary).map_err(|e| Error::file("resolve", binary, e))?;
    let args: [OsString; 5] =
        [binary.into(), "supervise".into(), run_dir.into(), "--lease-fds".into(), numbers.join(",").into()];
    let pid = spawn::start(binary, &args, env, &inherit)
        .map_err(|source| Error::Launch { binary: binary.to_owned(), source })?;
    Ok(Launched { pid })
}

fn check(leased: &LeasedRun, spec: &RunSpec) -> Result<(), Error> {
    let why = if leased.path.file_name() != Some(spec.run.as_ref()) {
        format!("the spec of run {} does not belong in {}", spec.run, leased.path.display())
    } else if spec.argv.is_empty() {
        "there is no program to run".to_owned()
    } else if spec.argv.iter().any(|a| a.contains('\0')) {
        "an argument contains a zero byte".to_owned()
    } else if !spec.cwd.is_absolute() {
        format!("its directory {} is not absolute", spec.cwd.display())
    } else if spec.cwd.to_str().is_none() {
        format!("its directory {} is not valid UTF-8", spec.cwd.display())
    } else if spec.io == Io::Turn && !files::exists(leased.dir.as_fd(), files::PROMPT) {
        "its prompt was not written".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Spec { why })
}

impl Launched {
    /// Blocks until the supervisor has ended and removes its zombie. What became of the run is not
    /// its exit status but what [`observe`](crate::observe) says.
    ///
    /// # Errors
    /// [`Error::Reap`] when it is not our child any more.
    pub fn reap(self) -> Result<(), Error> {
        self.wait(WaitOptions::empty()).map(|_| ())
    }

    /// The same without blocking: whether the supervisor has ended (and is reaped now).
    ///
    /// # Errors
    /// [`Error::Reap`] when it is not our child any more, as after a first success.
    pub fn try_reap(&mut self) -> Result<bool, Error> {
        self.wait(WaitOptions::NOHANG)
    }

    fn wait(&self, options: WaitOptions) -> Result<bool, Error> {
        let failed = |source: Errno| Error::Reap { pid: self.pid, source: source.into() };
        let pid = Pid::from_raw(self.pid.cast_signed()).ok_or(failed(Errno::CHILD))?;
        loop {
            match rustix::process::waitpid(Some(pid), options) {
                Ok(status) => return Ok(status.is_some()),
                Err(Errno::INTR) => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rundir::{Observed, create, observe};
    use crate::spec::Grace;

    const RUN: &str = "0123456789abcdef0123456789abcdef";

    fn spec() -> RunSpec {
        RunSpec {
            run: RUN.into(),
            argv: vec!["true".into()],
            cwd: "/".into(),
            io: Io::Pipes,
            timeout_ms: None,
            grace: Grace::default(),
            log_max: 4096,
            keep: vec![],
        }
    }

    #[test]
    fn what_cannot_be_started_is_refused_and_never_began() {
        let bad = [
            RunSpec { run: RUN.replace('0', "1"), ..spec() },
            RunSpec { argv: vec![], ..spec() },
            RunSpec { argv: vec!["a\0b".into()], ..spec() },
            RunSpec { cwd: "somewhere".into(), ..spec() },
            RunSpec { io: Io::Turn, ..spec() },
        ];
        for bad in bad {
            let temp = tempfile::tempdir().expect("temp");
            let run = create(temp.path(), RUN).expect("create");
            let path = run.path.clone();
            let refused = launch(Path::new("/bin/true"), run, &bad, &[], vec![]);
            assert!(matches!(refused, Err(Error::Spec { .. })), "{bad:?}");
            assert_eq!(observe(&path).expect("observe"), Observed::NeverBegan);
        }
    }

    #[test]
    fn a_missing_supervisor_is_named_and_the_lease_is_free_again() {
        let temp = tempfile::tempdir().expect("temp");
        let run = create(temp.path(), RUN).expect("create");
        let path = run.path.clone();
        let failed = launch(Path::new("/no/such/binary"), run, &spec(), &[], vec![]);
        let message = failed.expect_err("must fail").to_string();
        assert!(message.contains("/no/such/binary"), "{message}");
        assert_eq!(observe(&path).expect("observe"), Observed::NeverBegan);
    }
}
