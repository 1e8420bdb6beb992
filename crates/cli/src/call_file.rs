//! The file that shows that somebody waits for an answer.
//!
//! A waiting call is a durable row of the engine's, and a file `calls/<call id>` beside the engine's
//! socket on which the one who waits holds a lock. As long as the lock is held, also while the engine
//! is away, the answer waits for this call; when it is free, the answer goes to the caller's inbox.
//! The kernel frees it with the process, so there is no way to die and still seem to wait.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use carillon_api::ApiError;
use rustix::fs::{FlockOperation, flock};

/// Files that are made before it is given up.
const TRIES: u32 = 5;
/// What stands in the file once the answer has been written out.
const WRITTEN: &[u8] = b"written\n";

/// A call that is waited for. Dropping it gives the lock back.
#[derive(Debug)]
pub(crate) struct CallFile {
    id: String,
    path: PathBuf,
    file: File,
}

impl CallFile {
    /// Makes and locks the file of a new call, for the engine behind `socket`.
    pub(crate) fn create(socket: &Path) -> Result<Self, ApiError> {
        let calls = socket.with_file_name("calls");
        let failed = |e: std::io::Error| {
            ApiError::failed(format!("a call cannot be noted in {}: {e}", calls.display()))
        };
        for _ in 0..TRIES {
            let id = new_id();
            let path = calls.join(&id);
            let file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
            // An engine that starts in this very moment may take it for a dead client's.
            let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_locked && file.metadata().map_err(failed)?.nlink() > 0 {
                return Ok(Self { id, path, file });
            }
        }
        Err(failed(std::io::ErrorKind::WouldBlock.into()))
    }

    /// The id of the call, 32 hex digits.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Notes in the file that the answer has been written out, for an engine that is away and finds
    /// nobody to ask when it is back.
    pub(crate) fn note_written(&mut self) {
        // The engine is told as well; a note that cannot be written costs nothing but this second way.
        let _ = self.file.write_all(WRITTEN);
    }

    /// Takes the file away again: the engine has never heard of this call.
    pub(crate) fn discard(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A new id of anything that a client makes.
pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_held_exactly_as_long_as_somebody_waits() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(home.path().join("calls")).expect("its directory");
        let call = CallFile::create(&home.path().join("carillon.sock")).expect("a call");
        let path = home.path().join("calls").join(call.id());
        let other = File::open(&path).expect("the file");
        assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err(), "somebody waits");
        drop(call);
        flock(&other, FlockOperation::NonBlockingLockExclusive).expect("nobody waits any more");
        assert!(path.exists(), "the engine has not settled it yet");
    }
}
