//! Calls that wait for an answer. Each client holds a lock on a file of its call for as long as it
//! waits, also while no engine is there: so an engine that comes back knows who still does.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use carillon_core::id::CallId;
use rustix::fs::FlockOperation;

use crate::host::Host;
use crate::world::{CallState, Report};

/// What a client writes into its file when the answer has left it.
const WRITTEN: &[u8] = b"written";

impl Host {
    fn call_file(&self, call: &CallId) -> PathBuf {
        self.home.join("calls").join(call.as_str())
    }

    fn open_call(&self, call: &CallId) -> std::io::Result<File> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        File::options().read(true).custom_flags(flags.bits() as i32).open(self.call_file(call))
    }

    /// What is known of the client of a call. It writes [`WRITTEN`] into its file once the answer has
    /// left it, so that nobody is told twice when it dies before it can say so.
    pub(crate) fn state_of_call(&self, call: &CallId) -> CallState {
        let Ok(file) = self.open_call(call) else { return CallState::Gone };
        // Another descriptor's lock is not ours, also in this process.
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
            return CallState::Waits;
        }
        let mut text = Vec::new();
        match file.take(64).read_to_end(&mut text) {
            Ok(_) if text.starts_with(WRITTEN) => CallState::Written,
            Ok(_) | Err(_) => CallState::Gone,
        }
    }

    /// Blocks on the client's lock, on a thread of its own, and reports when it is free.
    pub(crate) fn watch_call_in_background(self: &Arc<Self>, call: &CallId, report: Report) {
        if !self.watched_calls().insert(call.clone()) {
            return;
        }
        let (host, watched) = (self.clone(), call.clone());
        let wait = move || {
            if let Ok(file) = host.open_call(&watched) {
                let _ = rustix::fs::flock(&file, FlockOperation::LockShared);
            }
            host.watched_calls().remove(&watched);
            report.call_gone(&watched);
        };
        let stack = 64 * 1024;
        let spawned = std::thread::Builder::new().name("call".to_owned()).stack_size(stack).spawn(wait);
        if let Err(error) = spawned {
            self.watched_calls().remove(call);
            tracing::error!(%error, %call, "no thread to watch a call; the next start looks after it");
        }
    }

    /// Nobody waits any more.
    pub(crate) fn forget_call(&self, call: &CallId) {
        let _ = std::fs::remove_file(self.call_file(call));
    }

    /// Removes files of calls that nobody holds, and cgroups of runs that nobody remembers; at the start,
    /// before calls are taken.
    pub(crate) fn sweep_calls(&self) {
        carillon_supervisor::cgroup::sweep();
        let Ok(entries) = std::fs::read_dir(self.home.join("calls")) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let call = name.to_str().and_then(|name| CallId::parse(name).ok());
            if let Some(call) = call.filter(|call| self.state_of_call(call) == CallState::Gone) {
                self.forget_call(&call);
            }
        }
    }
}
