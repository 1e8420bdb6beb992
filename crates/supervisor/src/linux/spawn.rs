//! Starting a supervisor from a process that may be large and have many threads.
//!
//! `posix_spawn` shares the parent's memory until the exec instead of copying its page tables, so a
//! start costs the same whether the parent is a command line or a window with a web view. Only the
//! descriptors that are named reach the child, and only this child.

use super::signals::{empty_set, full_set};
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Starts `program` with exactly these arguments and this environment, in its own session, in the
/// root directory, with no signal blocked or ignored, with `/dev/null` as standard input, output and
/// error, and with `inherit` under their own numbers. Returns the child's pid; it must be waited for.
pub(crate) fn start(
    program: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
    inherit: &[BorrowedFd<'_>],
) -> io::Result<u32> {
    let program = c_string(program.as_os_str().as_bytes())?;
    let args = args.iter().map(|a| c_string(a.as_bytes())).collect::<io::Result<Vec<_>>>()?;
    let env = env
        .iter()
        .map(|(name, value)| {
            let mut entry = name.clone().into_vec();
            entry.push(b'=');
            entry.extend_from_slice(value.as_bytes());
            c_string(&entry)
        })
        .collect::<io::Result<Vec<_>>>()?;
    let actions = Actions::new(inherit)?;
    let attributes = Attributes::new()?;
    let (argv, envp) = (pointers(&args), pointers(&env));
    let mut pid: libc::pid_t = 0;
    // SAFETY: every pointer is to a value that lives through the call, and both lists end with null.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            argv.as_ptr(),
            envp.as_ptr(),
        )
    };
    check(error)?;
    Ok(pid.cast_unsigned())
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new(inherit: &[BorrowedFd<'_>]) -> io::Result<Actions> {
        let mut raw = std::mem::MaybeUninit::uninit();
        // SAFETY: the call initialises the value, which is dropped by the matching destroy.
        let mut actions = unsafe {
            check(libc::posix_spawn_file_actions_init(raw.as_mut_ptr()))?;
            Actions(raw.assume_init())
        };
        let null: &CStr = c"/dev/null";
        for fd in 0..=2 {
            // SAFETY: the value is initialised and the path is copied.
            check(unsafe {
                libc::posix_spawn_file_actions_addopen(&raw mut actions.0, fd, null.as_ptr(), libc::O_RDWR, 0)
            })?;
        }
        for fd in inherit {
            // A descriptor that is duplicated onto itself loses its close-on-exec mark, in the child
            // only. SAFETY: as above.
            check(unsafe {
                libc::posix_spawn_file_actions_adddup2(&raw mut actions.0, fd.as_raw_fd(), fd.as_raw_fd())
            })?;
        }
        // SAFETY: as above.
        check(unsafe { libc::posix_spawn_file_actions_addchdir_np(&raw mut actions.0, c"/".as_ptr()) })?;
        Ok(actions)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: the value was initialised by `new`.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Attributes> {
        let mut raw = std::mem::MaybeUninit::uninit();
        // SAFETY: the call initialises the value, which is dropped by the matching destroy.
        let mut attributes = unsafe {
            check(libc::posix_spawnattr_init(raw.as_mut_ptr()))?;
            Attributes(raw.assume_init())
        };
        let flags = libc::POSIX_SPAWN_SETSID
            | libc::POSIX_SPAWN_SETSIGMASK as libc::c_short
            | libc::POSIX_SPAWN_SETSIGDEF as libc::c_short;
        let (none, all) = (empty_set(), full_set());
        // SAFETY: the value and the sets are initialised and live through the calls.
        unsafe {
            check(libc::posix_spawnattr_setflags(&raw mut attributes.0, flags))?;
            check(libc::posix_spawnattr_setsigmask(&raw mut attributes.0, &raw const none))?;
            check(libc::posix_spawnattr_setsigdefault(&raw mut attributes.0, &raw const all))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the value was initialised by `new`.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

/// The calls of this family return the error instead of setting errno.
fn check(error: libc::c_int) -> io::Result<()> {
    match error {
        0 => Ok(()),
        e => Err(io::Error::from_raw_os_error(e)),
    }
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))
}

fn pointers(strings: &[CString]) -> Vec<*mut libc::c_char> {
    let list = strings.iter().map(|s| s.as_ptr().cast_mut());
    list.chain([std::ptr::null_mut()]).collect()
}
