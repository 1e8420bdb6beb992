//! The supervisor's side of the control socket.
//!
//! Nothing here ever blocks, and nothing grows without bound: a client that does not read its answers
//! is not read either, a client whose input finds no room waits, and clients past the limit stay in
//! the kernel's queue until one has gone.

use crate::control::socket_path;
use crate::protocol::{self, Garbled, Reply, Request, VERSION};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

/// At most so many connections at a time; an engine makes two for each attachment.
const CLIENTS_MAX: usize = 32;

/// A client's buffers shrink to this many bytes when they are empty.
const BUFFER_KEPT: usize = 4 << 10;

/// The listening socket and its connections.
pub(super) struct Server {
    listener: UnixListener,
    clients: Vec<Client>,
}

struct Client {
    socket: OwnedFd,
    inbound: Vec<u8>,
    outbound: Vec<u8>,
    /// It wants to hear once when the log's end is past this offset.
    wants_past: Option<u64>,
    /// A whole request waits for room in the input queue.
    stalled: bool,
    closed: bool,
}

impl Server {
    /// Makes the socket in the run's directory.
    pub(super) fn bind(dir: BorrowedFd<'_>) -> io::Result<Server> {
        let dir = rustix::io::fcntl_dupfd_cloexec(dir, 3)?;
        let path = socket_path(&dir);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Server { listener, clients: Vec::new() })
    }

    pub(super) fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// What to poll for new connections; negative when none is taken at the moment.
    pub(super) fn listener_fd(&self) -> RawFd {
        if self.clients.len() < CLIENTS_MAX { self.listener.as_raw_fd() } else { -1 }
    }

    /// What to poll for a client. A stalled one is not polled at all: if it has hung up, poll would
    /// say so again and again.
    pub(super) fn client_poll(&self, index: usize) -> (RawFd, libc::c_short) {
        let client = &self.clients[index];
        if !client.outbound.is_empty() {
            (client.socket.as_raw_fd(), libc::POLLOUT)
        } else if client.stalled {
            (-1, 0)
        } else {
            (client.socket.as_raw_fd(), libc::POLLIN)
        }
    }

    /// Takes all waiting connections and greets them.
    pub(super) fn accept(&mut self) {
        while self.clients.len() < CLIENTS_MAX {
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            let socket = OwnedFd::from(stream);
            // The directory keeps others out already; root is the only other that may come in.
            let own = rustix::process::geteuid();
            let is_ours = rustix::net::sockopt::socket_peercred(&socket)
                .is_ok_and(|peer| peer.uid == own || peer.uid.is_root());
            if !is_ours {
                continue;
            }
            self.clients.push(Client {
                socket,
                inbound: Vec::new(),
                outbound: Vec::new(),
                wants_past: None,
                stalled: false,
                closed: false,
            });
            self.reply(self.clients.len() - 1, Reply::Hello { version: VERSION });
        }
    }

    /// Reads from a client once, into `scratch` first.
    pub(super) fn receive(&mut self, index: usize, scratch: &mut [u8]) {
        let client = &mut self.clients[index];
        match rustix::net::recv(&client.socket, &mut *scratch, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => client.closed = true,
            Ok((_, n)) => client.inbound.extend_from_slice(&scratch[..n]),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(_) => client.closed = true,
        }
    }

    /// Takes the next whole request of a client. Input is only taken when there is room for it.
    pub(super) fn take_request(&mut self, index: usize, has_room: bool) -> Option<Request> {
        let client = &mut self.clients[index];
        client.stalled = false;
        // What is owed to a client comes first, or the debt could grow without bound.
        if !client.outbound.is_empty() {
            return None;
        }
        loop {
            let (request, length) = match next_request(&client.inbound, has_room) {
                Next::Request(request, length) => (request, length),
                Next::NoRoom => {
                    client.stalled = true;
                    return None;
                }
                Next::Incomplete => break,
                Next::Garbled => {
                    client.closed = true;
                    client.inbound.clear();
                    break;
                }
            };
            client.inbound.drain(..length);
            if let Some(Request::WaitOutput { past }) = request {
                client.wants_past = Some(past);
                continue;
            }
            if request.is_some() {
                return request;
            }
        }
        if client.inbound.is_empty() {
            client.inbound.shrink_to(BUFFER_KEPT);
        }
        None
    }

    /// Whether a client has a request that waits for room.
    pub(super) fn is_stalled(&self, index: usize) -> bool {
        self.clients[index].stalled
    }

    /// Says something to a client.
    pub(super) fn reply(&mut self, index: usize, reply: Reply) {
        self.clients[index].outbound.extend(reply.encode());
        self.flush(index);
    }

    /// Sends what a client is owed, as far as it takes it.
    pub(super) fn flush(&mut self, index: usize) {
        let client = &mut self.clients[index];
        while !client.outbound.is_empty() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match rustix::net::send(&client.socket, &client.outbound, flags) {
                Ok(n) => drop(client.outbound.drain(..n)),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return,
                Err(_) => {
                    client.closed = true;
                    client.outbound.clear();
                }
            }
        }
    }

    /// Tells everybody who asked that the log's end has moved past what they know.
    pub(super) fn notify(&mut self, end: u64) {
        for index in 0..self.clients.len() {
            if self.clients[index].wants_past.is_some_and(|past| end > past) {
                self.clients[index].wants_past = None;
                self.reply(index, Reply::Output { end });
            }
        }
    }

    /// Forgets the clients that have gone, except those whose last requests still wait for room.
    pub(super) fn sweep(&mut self) {
        self.clients.retain(|c| !c.closed || c.stalled);
    }
}

/// What stands first in a client's bytes.
enum Next {
    Incomplete,
    /// Whole, but an input for which there is no room; it is not even copied.
    NoRoom,
    /// Whole, with its length; None for a kind that this version does not know.
    Request(Option<Request>, usize),
    Garbled,
}

fn next_request(bytes: &[u8], has_room: bool) -> Next {
    match protocol::first_frame(bytes) {
        Ok(None) => Next::Incomplete,
        Ok(Some((kind, ..))) if protocol::is_input(kind) && !has_room => Next::NoRoom,
        Ok(Some((kind, payload, length))) => match Request::decode(kind, payload) {
            Ok(request) => Next::Request(request, length),
            Err(Garbled) => Next::Garbled,
        },
        Err(Garbled) => Next::Garbled,
    }
}
