//! The user database: which shell and which home the system has for us.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What the user database says about one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// The login name.
    pub(crate) name: String,
    /// The home directory.
    pub(crate) home: PathBuf,
    /// The login shell.
    pub(crate) shell: PathBuf,
}

/// The account of the effective user, or nothing when the database has none (as in many containers).
pub(crate) fn account() -> Option<Account> {
    let uid = rustix::process::geteuid().as_raw();
    let mut buffer = vec![0_u8; 16 * 1024];
    // SAFETY: `passwd` holds numbers and pointers only, for which all zeroes are valid values.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are valid for the call, and the buffer's real length is given.
    let code =
        unsafe { libc::getpwuid_r(uid, &mut entry, buffer.as_mut_ptr().cast(), buffer.len(), &mut found) };
    if code != 0 || found.is_null() {
        return None;
    }
    let text = |pointer: *const libc::c_char| {
        if pointer.is_null() {
            return PathBuf::new();
        }
        // SAFETY: the call succeeded, so each pointer that is set leads to a text in `buffer`, which still lives.
        PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(pointer) }.to_bytes()))
    };
    let name = text(entry.pw_name).to_string_lossy().into_owned();
    Some(Account { name, home: text(entry.pw_dir), shell: text(entry.pw_shell) })
}
