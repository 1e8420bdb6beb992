//! The engine's side of a run's control socket: attach, input, resize, stop, notices.
//!
//! Two connections are made. A program that does not read its input stalls the one that carries
//! input, and only that one: notices, sizes and the request to stop always get through.

use crate::error::Error;
use crate::files;
use crate::protocol::{self, BY_MAX, INPUT_MAX, Reply, Request, VERSION};
use crate::rundir::lease_is_held;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Input without an id goes out in pieces of at most so many bytes.
const PIECE: usize = 16 << 10;

/// The pause between two tries to connect, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// A connection to a run's supervisor. Any number of them may exist at a time.
#[derive(Debug)]
pub struct Control {
    sender: Sender,
    events: Inbound,
    input: Inbound,
    closed: bool,
}

/// Sends requests to a run's supervisor. Cheap to clone, may be used from any thread.
#[derive(Debug, Clone)]
pub struct Sender(Arc<Streams>);

#[derive(Debug)]
struct Streams {
    run_dir: PathBuf,
    events: Outbound,
    input: Outbound,
}

/// A connection to write to. The turn keeps the frames of several threads apart; it is no lock
/// around the stream, so that a stalled writer can be shut down by another thread.
#[derive(Debug)]
struct Outbound {
    stream: UnixStream,
    turn: Mutex<()>,
}

/// What a supervisor says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The log's end is past the offset that was asked about; ask again for the next notice.
    Output {
        /// The log's end, a stream offset in bytes.
        end: u64,
    },
    /// The input with this id is the program's now, or was already. It is journalled.
    Accepted {
        /// The input's id.
        id: u128,
    },
    /// The input with this id was not accepted: the program has ended or has no terminal.
    Refused {
        /// The input's id.
        id: u128,
    },
    /// The supervisor is gone, or [`Sender::detach`] was called; ask
    /// [`observe`](crate::observe) which.
    Closed,
}

/// Bytes that came in on one connection.
#[derive(Debug)]
struct Inbound {
    stream: UnixStream,
    bytes: Vec<u8>,
}

impl Control {
    /// Connects to the supervisor of the run in `run_dir`. As long as the lease is held but the
    /// socket is not there yet, waits for it, at most `patience`.
    ///
    /// # Errors
    /// [`Error::NotAlive`] when the lease is free, [`Error::NoAnswer`] when the patience is over,
    /// [`Error::Version`] when the supervisor speaks another protocol.
    pub fn connect(run_dir: &Path, patience: Duration) -> Result<Control, Error> {
        let until = Instant::now() + patience;
        let events = open(run_dir, patience, until)?;
        let input = open(run_dir, patience, until)?;
        let clone = |inbound: &Inbound| {
            let stream = inbound.stream.try_clone();
            let stream = stream.map_err(|e| connection("connect to", run_dir, e))?;
            let turn = Mutex::new(());
            Ok::<_, Error>(Outbound { stream, turn })
        };
        let streams = Streams { run_dir: run_dir.to_owned(), events: clone(&events)?, input: clone(&input)? };
        Ok(Control { sender: Sender(Arc::new(streams)), events, input, closed: false })
    }

    /// A handle that sends requests.
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// Asks for one [`Event::Output`] as soon as the log's end is past `past` (at once, if it is).
    /// If the supervisor is gone, [`Control::next`] says so.
    pub fn wait_output(&mut self, past: u64) {
        // A failure to write is a closed connection, which the next read reports.
        let _ = self.sender.send_on_events(&Request::WaitOutput { past });
    }

    /// Blocks until the supervisor says something.
    ///
    /// # Errors
    /// [`Error::Connection`] when waiting or reading fails for another reason than the supervisor's
    /// end, or when it sends what is no frame.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator could not report errors and would suggest an end"
    )]
    pub fn next(&mut self) -> Result<Event, Error> {
        loop {
            for inbound in [&mut self.events, &mut self.input] {
                match inbound.take_reply(&self.sender.0.run_dir)? {
                    Some(Reply::Output { end }) => return Ok(Event::Output { end }),
                    Some(Reply::Accepted { id }) => return Ok(Event::Accepted { id }),
                    Some(Reply::Refused { id }) => return Ok(Event::Refused { id }),
                    Some(Reply::Hello { .. }) | None => {}
                }
            }
            if self.closed {
                return Ok(Event::Closed);
            }
            let mut fds = [&self.events, &self.input].map(|inbound| libc::pollfd {
                fd: inbound.stream.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            });
            crate::linux::poll(&mut fds, -1)
                .map_err(|e| connection("wait for", &self.sender.0.run_dir, e))?;
            let run_dir = &self.sender.0.run_dir;
            for (inbound, fd) in [&mut self.events, &mut self.input].into_iter().zip(fds) {
                if fd.revents != 0 && !inbound.receive(run_dir)? {
                    self.closed = true;
                }
            }
            if self.closed {
                // What was said last on the other connection must not be lost.
                self.events.receive(run_dir)?;
                self.input.receive(run_dir)?;
            }
        }
    }
}

impl Sender {
    /// Hands bytes to the program's terminal.
    ///
    /// With an id they are accepted as a whole and once: the supervisor answers
    /// [`Event::Accepted`], also to a repeat, of which the program sees nothing, or
    /// [`Event::Refused`]. Without an id nothing is answered.
    ///
    /// Blocks while the program does not read what it was sent before and the queue (1 MiB) is full.
    ///
    /// # Errors
    /// [`Error::InputTooLong`] for more than 1 MiB with an id, [`Error::Connection`] when the
    /// supervisor is gone.
    pub fn input(&self, id: Option<u128>, bytes: &[u8]) -> Result<(), Error> {
        let input = &self.0.input;
        // All pieces in one turn, so that two pastes do not mix.
        let _turn = input.take_turn();
        if id.is_some() {
            if bytes.len() > INPUT_MAX {
                return Err(Error::InputTooLong { bytes: bytes.len(), limit: INPUT_MAX });
            }
            let bytes = bytes.to_vec();
            return self.send(input, &Request::Input { id, bytes });
        }
        for piece in bytes.chunks(PIECE) {
            let bytes = piece.to_vec();
            self.send(input, &Request::Input { id: None, bytes })?;
        }
        Ok(())
    }

    /// Gives the program's terminal a new size. Only the latest of many is applied; a size with a
    /// zero in it is ignored.
    ///
    /// # Errors
    /// [`Error::Connection`] when the supervisor is gone.
    pub fn resize(&self, cols: u16, rows: u16) -> Result<(), Error> {
        self.send_on_events(&Request::Resize { cols, rows })
    }

    /// Asks for the end of the whole tree. `by` says who asks, at most 256 bytes of it are recorded.
    ///
    /// # Errors
    /// [`Error::Connection`] when the supervisor is gone.
    pub fn stop(&self, by: &str) -> Result<(), Error> {
        let by = by[..by.floor_char_boundary(BY_MAX)].to_owned();
        self.send_on_events(&Request::Stop { by })
    }

    /// Ends this connection, so that a thread that blocks in [`Control::next`] gets
    /// [`Event::Closed`]. The run goes on.
    pub fn detach(&self) {
        for stream in [&self.0.events.stream, &self.0.input.stream] {
            // It fails only for a connection that is already shut.
            let _ = rustix::net::shutdown(stream, Shutdown::Both);
        }
    }

    fn send_on_events(&self, request: &Request) -> Result<(), Error> {
        let _turn = self.0.events.take_turn();
        self.send(&self.0.events, request)
    }

    fn send(&self, to: &Outbound, request: &Request) -> Result<(), Error> {
        let frame = request.encode();
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            match rustix::net::send(&to.stream, rest, SendFlags::NOSIGNAL) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(e) => return Err(connection("write to", &self.0.run_dir, e)),
            }
        }
        Ok(())
    }
}

impl Outbound {
    /// A poisoned lock only means that another thread panicked between two frames.
    fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbound {
    /// Reads once; false at the end of the connection.
    fn receive(&mut self, run_dir: &Path) -> Result<bool, Error> {
        let mut buf = [0u8; 4096];
        match rustix::net::recv(&self.stream, &mut buf, RecvFlags::DONTWAIT) {
            Ok((_, 0)) | Err(Errno::CONNRESET | Errno::PIPE) => Ok(false),
            Ok((_, n)) => {
                self.bytes.extend_from_slice(&buf[..n]);
                Ok(true)
            }
            Err(Errno::INTR | Errno::WOULDBLOCK) => Ok(true),
            Err(e) => Err(connection("read from", run_dir, e)),
        }
    }

    /// Takes the next reply that has arrived as a whole and that this version knows.
    fn take_reply(&mut self, run_dir: &Path) -> Result<Option<Reply>, Error> {
        let garbled = |_| {
            let kind = std::io::ErrorKind::InvalidData;
            connection("understand", run_dir, kind)
        };
        loop {
            let Some((kind, payload, length)) = protocol::first_frame(&self.bytes).map_err(garbled)? else {
                return Ok(None);
            };
            let reply = Reply::decode(kind, payload).map_err(garbled)?;
            self.bytes.drain(..length);
            if reply.is_some() {
                return Ok(reply);
            }
        }
    }
}

/// Makes one connection and takes the supervisor's greeting from it.
fn open(run_dir: &Path, patience: Duration, until: Instant) -> Result<Inbound, Error> {
    let no_answer = || Error::NoAnswer {
        run_dir: run_dir.to_owned(),
        waited_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
    };
    let mut pause = PAUSE_MIN;
    let stream = loop {
        let dir = match files::open_dir(run_dir) {
            Err(Error::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(not_alive(run_dir));
            }
            opened => opened?,
        };
        match UnixStream::connect(socket_path(&dir)) {
            Ok(stream) => break stream,
            Err(_) if !lease_is_held(dir.as_fd(), run_dir)? => return Err(not_alive(run_dir)),
            Err(_) if Instant::now() >= until => return Err(no_answer()),
            // Not bound yet, or its queue of new connections is full.
            Err(_) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(PAUSE_MAX);
    };
    let mut inbound = Inbound { stream, bytes: Vec::new() };
    loop {
        match inbound.take_reply(run_dir)? {
            Some(Reply::Hello { version: VERSION }) => return Ok(inbound),
            Some(Reply::Hello { version }) => {
                return Err(Error::Version { run_dir: run_dir.to_owned(), theirs: version, ours: VERSION });
            }
            _ => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(no_answer());
        }
        let mut fds = [libc::pollfd { fd: inbound.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        let left_ms = i32::try_from(left.as_millis()).unwrap_or(i32::MAX).max(1);
        crate::linux::poll(&mut fds, left_ms).map_err(|e| connection("wait for", run_dir, e))?;
        if fds[0].revents != 0 && !inbound.receive(run_dir)? {
            return Err(not_alive(run_dir));
        }
    }
}

/// The socket's path through the directory's descriptor: short, however long the directory's own
/// path is, and right even if the directory is renamed at this moment.
pub(crate) fn socket_path(dir: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{}", dir.as_raw_fd(), files::SOCKET))
}

fn not_alive(run_dir: &Path) -> Error {
    Error::NotAlive { run_dir: run_dir.to_owned() }
}

fn connection(operation: &'static str, run_dir: &Path, source: impl Into<std::io::Error>) -> Error {
    Error::Connection { operation, run_dir: run_dir.to_owned(), source: source.into() }
}
