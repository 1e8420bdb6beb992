//! The keeper: a process of its own that outlives everything else of this program. It holds the mount or the directory, waits for the
//! process that uses it to end, and takes it away.
//!
//! It is started before there is anything to take away, so it does not matter on which line the other one dies. It leaves the session,
//! the terminal, the working directory and the standard streams of the one that it serves: a closed terminal, a Ctrl+C, a shutdown's
//! TERM and a reader of the program's output are none of its business.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use crate::error::Error;
use crate::image::Image;
use crate::mount;
use crate::temp::{self, Leased};

/// What the keeper says when all is ready; anything else is why not.
const READY: &str = "ready";
/// What a keeper would otherwise end by before it has tidied up. Those of the terminal do not reach its session.
const IGNORED: [libc::c_int; 5] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE];

/// Mounts the image for as long as this process lives, whatever it becomes, and answers where.
///
/// # Errors
/// [`Error::Mount`] when there is no FUSE; [`Error::Keeper`]; [`Error::File`] when no directory can be made.
pub fn mount(image: Image, stem: &str) -> Result<PathBuf, Error> {
    let place = temp::create_for_mount(stem)?;
    let path = place.path.clone();
    let said = start(place, |place, say, user| {
        match mount::mount(image, &place.path, stem) {
            Err(why) => say(&why.to_string()),
            Ok(session) => {
                say(READY);
                wait_for_end(user);
                // Helpers of the program may be a little later than itself and still stand in the mount: it leaves the tree at once,
                // and this process goes on serving it until the last of them has let go.
                mount::detach(&place.path);
                remove(&place.path);
                let _ = session.join();
            }
        }
        remove(&place.path);
    })?;
    if said == READY { Ok(path) } else { Err(Error::Mount(reason(&said))) }
}

/// Makes a directory with room for `bytes` for as long as this process lives, whatever it becomes, and answers where.
///
/// # Errors
/// [`Error::NoRoom`]; [`Error::Keeper`]; [`Error::File`] when no directory can be made.
pub fn folder(stem: &str, bytes: u64) -> Result<PathBuf, Error> {
    let place = temp::create_for_extraction(stem, bytes)?;
    let path = place.path.clone();
    let said = start(place, |place, say, user| {
        say(READY);
        wait_for_end(user);
        // Read-only directories of an image would keep what they hold; only their owner's bit is missing.
        if std::fs::remove_dir_all(&place.path).is_err() {
            open_folders(&place.path);
            let _ = std::fs::remove_dir_all(&place.path);
        }
    })?;
    if said == READY { Ok(path) } else { Err(Error::Keeper(io::Error::other(reason(&said)))) }
}

fn reason(said: &str) -> String {
    if said.is_empty() { "its process ended".to_owned() } else { said.to_owned() }
}

fn remove(path: &Path) {
    let _ = std::fs::remove_dir(path);
}

/// Gives the folders below `path` their owner's rights back. Links are not followed.
fn open_folders(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_folders(&entry.path());
        }
    }
}

/// Blocks until the process of that descriptor has ended.
fn wait_for_end(user: &OwnedFd) {
    loop {
        match poll(&mut [PollFd::new(user, PollFlags::IN)], None) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// Starts the keeper, which does `duty` and ends, and answers what it says first: one word or sentence.
///
/// There must be no other thread. On failure nothing is left.
fn start(place: Leased, duty: impl FnOnce(&Leased, &dyn Fn(&str), &OwnedFd)) -> Result<String, Error> {
    let prepared = pidfd_open(getpid(), PidfdFlags::empty())
        .and_then(|user| Ok((user, pipe_with(PipeFlags::CLOEXEC)?)))
        .map_err(io::Error::from)
        .and_then(|(user, (hear, tell))| {
            // SAFETY: the only thread of this process forks, so the child may go on as it is.
            match unsafe { libc::fork() } {
                -1 => Err(io::Error::last_os_error()),
                0 => {
                    drop(hear);
                    become_keeper(&place, tell, &user, duty)
                }
                starter => Ok((starter, hear)),
            }
        });
    match prepared {
        Ok((starter, hear)) => {
            // SAFETY: it is our own child, and the status is not wanted.
            while unsafe { libc::waitpid(starter, std::ptr::null_mut(), 0) } < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
            // Only the keeper has the other end now, so that its death is the end of what it says.
            let mut said = String::new();
            let heard = File::from(hear).read_to_string(&mut said);
            if heard.is_err() || said.is_empty() {
                remove(&place.path);
            }
            Ok(said.trim().to_owned())
        }
        Err(error) => {
            remove(&place.path);
            Err(Error::Keeper(error))
        }
    }
}

/// Runs in the child: forks once more, so that the keeper is nobody's child whom somebody has to wait for.
fn become_keeper(
    place: &Leased,
    tell: OwnedFd,
    user: &OwnedFd,
    duty: impl FnOnce(&Leased, &dyn Fn(&str), &OwnedFd),
) -> ! {
    let _ = rustix::process::setsid();
    // SAFETY: still the only thread; `_exit` runs nothing of ours.
    unsafe {
        if libc::fork() != 0 {
            libc::_exit(0);
        }
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    let _ = rustix::process::chdir("/");
    leave_streams();
    let tell = std::cell::Cell::new(Some(File::from(tell)));
    let say = |word: &str| {
        // Closing it is what the other one waits for.
        if let Some(mut tell) = tell.take() {
            let _ = tell.write_all(word.as_bytes());
        }
    };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| duty(place, &say, user)));
    if outcome.is_err() {
        remove(&place.path);
    }
    // SAFETY: as above.
    unsafe { libc::_exit(0) }
}

/// Points the standard streams at nothing.
fn leave_streams() {
    let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") else { return };
    let _ = rustix::stdio::dup2_stdin(nothing.as_fd());
    let _ = rustix::stdio::dup2_stdout(nothing.as_fd());
    let _ = rustix::stdio::dup2_stderr(nothing.as_fd());
}
