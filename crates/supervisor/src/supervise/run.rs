//! The loop of a supervisor: output to the log, requests, signals and deadlines, until all is over.

use super::child::Child;
use super::ending::Ending;
use super::input::InputQueue;
use super::reaper::Reaper;
use super::resize::{self, Resizer};
use super::server::Server;
use super::stream::Stream;
use super::{Logs, unix_ms};
use crate::journal;
use crate::linux::cgroup::Cgroup;
use crate::linux::poll;
use crate::linux::signals::Signals;
use crate::protocol::{Reply, Request};
use crate::spec::{Cause, ExitRecord, Io, ProcessNote, RunSpec};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Output is read in portions of at most so many bytes, between which everything else has its turn.
const PORTION: usize = 64 << 10;

/// A process that was left alone may write for ever; the last look at the output ends after this.
const LAST_LOOK_MAX: Duration = Duration::from_secs(1);

/// Where a run stands.
enum Phase {
    /// The program lives.
    Running,
    /// It ended by itself; the rest of its output is waited for.
    Draining {
        until: Instant,
    },
    /// The tree is being ended.
    Ending(Box<Ending>),
    /// The tree is gone; what it wrote last is read.
    Settling {
        until: Instant,
    },
    Over,
}

/// One run, from its program's start to its end.
pub(super) struct Run<'a> {
    spec: &'a RunSpec,
    dir: BorrowedFd<'a>,
    signals: &'a Signals,
    server: Server,
    output: Stream,
    /// Only a turn's errors are kept apart.
    errors: Option<Stream>,
    reaper: Reaper,
    phase: Phase,
    started_ms: i64,
    started: Instant,
    /// Why the run ends; None as long as nobody but the program itself has decided anything.
    cause: Option<Cause>,
    terminal: Option<OwnedFd>,
    cgroup: Option<Cgroup>,
    output_held: bool,
    ended: Vec<ProcessNote>,
    left: Vec<ProcessNote>,
    input: InputQueue,
    resizer: Resizer,
    buffer: Box<[u8]>,
    polled: Vec<libc::pollfd>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        spec: &'a RunSpec,
        started_ms: i64,
        dir: BorrowedFd<'a>,
        signals: &'a Signals,
        server: Server,
        logs: Logs,
        child: Child,
    ) -> Run<'a> {
        Run {
            spec,
            dir,
            signals,
            server,
            output: Stream::new(child.output, logs.output),
            errors: child.errors.zip(logs.errors).map(|(source, log)| Stream::new(source, log)),
            reaper: Reaper::new(child.pid),
            phase: Phase::Running,
            started_ms,
            started: Instant::now(),
            cause: None,
            terminal: child.terminal,
            cgroup: child.cgroup,
            output_held: false,
            ended: Vec::new(),
            left: Vec::new(),
            input: InputQueue::default(),
            resizer: Resizer::default(),
            buffer: vec![0; PORTION].into_boxed_slice(),
            polled: Vec::new(),
        }
    }

    /// Runs the loop to its end.
    pub(super) fn supervise(mut self) -> (ExitRecord, Logs) {
        while !matches!(self.phase, Phase::Over) {
            self.wait();
            if self.is_ready(SIGNALS) {
                self.hear();
            }
            let mut portion = if self.is_ready(OUTPUT) { self.pump() } else { 0 };
            if self.is_ready(ERRORS)
                && let Some(errors) = &mut self.errors
            {
                portion += errors.pump(&mut self.buffer);
            }
            self.serve();
            self.tick(Instant::now(), portion == 0);
        }
        self.record()
    }

    /// Waits until there is something to do.
    fn wait(&mut self) {
        let now = Instant::now();
        let entry = |fd, events| libc::pollfd { fd, events, revents: 0 };
        self.polled.clear();
        self.polled.push(entry(self.signals.as_raw_fd(), libc::POLLIN));
        let mut events = libc::POLLIN;
        if !self.input.is_empty() {
            events |= libc::POLLOUT;
        }
        self.polled.push(entry(self.output.poll_fd(), events));
        self.polled.push(entry(self.errors.as_ref().map_or(-1, Stream::poll_fd), libc::POLLIN));
        self.polled.push(entry(self.server.listener_fd(), libc::POLLIN));
        for index in 0..self.server.client_count() {
            let (fd, events) = self.server.client_poll(index);
            self.polled.push(entry(fd, events));
        }
        let timeout_ms = self.due(now).map_or(-1, |due| {
            // Rounded up, so that a deadline has passed when the wait for it is over.
            let left = due.saturating_duration_since(now);
            i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
        });
        if poll(&mut self.polled, timeout_ms).is_err() {
            // Only a lack of memory can get here; the next round tries again.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The next deadline.
    fn due(&self, now: Instant) -> Option<Instant> {
        let phase = match &self.phase {
            Phase::Running => self.time_out(),
            Phase::Draining { .. } | Phase::Settling { .. } if !self.is_written_to() => Some(now),
            Phase::Draining { until } | Phase::Settling { until } => Some(*until),
            Phase::Ending(ending) => Some(ending.due()),
            Phase::Over => Some(now),
        };
        [phase, self.resizer.due(now)].into_iter().flatten().min()
    }

    fn time_out(&self) -> Option<Instant> {
        let timeout = Duration::from_millis(self.spec.timeout_ms?);
        self.started.checked_add(timeout)
    }

    /// Whether output or errors are not at their end yet.
    fn is_written_to(&self) -> bool {
        self.output.is_open() || self.errors.as_ref().is_some_and(Stream::is_open)
    }

    fn is_ready(&self, index: usize) -> bool {
        self.polled.get(index).is_some_and(|p| p.revents != 0)
    }

    /// Takes the signals that have arrived.
    fn hear(&mut self) {
        let heard = self.signals.take();
        if heard.child {
            self.reaper.reap();
            if let Phase::Ending(ending) = &mut self.phase {
                ending.hurry(Instant::now());
            }
        }
        if heard.terminate {
            self.stop(Cause::SystemStop);
        }
    }

    /// Moves a portion of output into the log and says how long it was.
    fn pump(&mut self) -> usize {
        if let Some(output) = self.output.source()
            && !self.input.is_empty()
        {
            self.input.write_to(output);
        }
        let filled = self.output.pump(&mut self.buffer);
        if !self.output.is_open() {
            self.input.clear();
        }
        if filled > 0 {
            self.server.notify(self.output.log.readable_end());
            if self.output.log.is_whole() && self.output.log.is_past_cap() {
                self.refuse_more_output();
            }
        }
        filled
    }

    /// An answer of which a part is missing is none, also when the program has ended by itself
    /// meanwhile. Unless something else had decided on the end before, that is what ended it.
    fn refuse_more_output(&mut self) {
        self.cause.get_or_insert(Cause::OutputTooLarge);
        if matches!(self.phase, Phase::Running | Phase::Draining { .. }) {
            self.end_tree(Instant::now());
        }
    }

    /// Has a turn with every client.
    fn serve(&mut self) {
        for index in 0..self.server.client_count() {
            let revents = self.polled.get(CLIENTS + index).map_or(0, |p| p.revents);
            if revents & libc::POLLOUT != 0 {
                self.server.flush(index);
            }
            if revents & (libc::POLLIN | libc::POLLHUP | libc::POLLERR) != 0 {
                self.server.receive(index, &mut self.buffer);
            }
            if revents != 0 || self.server.is_stalled(index) {
                while let Some(request) = self.server.take_request(index, self.input.has_room()) {
                    self.answer(index, request);
                }
                self.server.notify(self.output.log.readable_end());
            }
        }
        self.server.sweep();
        // Last, because it shifts nothing that was polled.
        if self.is_ready(LISTENER) {
            self.server.accept();
        }
    }

    fn answer(&mut self, index: usize, request: Request) {
        match request {
            Request::Input { id, bytes } => self.take_input(index, id, &bytes),
            Request::Resize { cols, rows } if self.takes_input() => self.resizer.want(cols, rows),
            // After the end there is no terminal to resize.
            Request::Resize { .. } => {}
            Request::Stop { by } => self.stop(Cause::Stopped { by }),
            // The server keeps these to itself.
            Request::WaitOutput { .. } => {}
        }
    }

    /// Whether there is a program with a terminal.
    fn takes_input(&self) -> bool {
        matches!(self.spec.io, Io::Pty { .. }) && self.reaper.end().is_none() && self.output.is_open()
    }

    fn take_input(&mut self, index: usize, id: Option<u128>, bytes: &[u8]) {
        let Some(id) = id else {
            if self.takes_input() {
                self.input.push(bytes);
            }
            return;
        };
        // A journal that cannot be read or written makes a repeat possible, which is worse than a
        // refusal that the engine sees.
        let reply = match journal::contains(self.dir, id) {
            Ok(true) => Reply::Accepted { id },
            Ok(false) if self.takes_input() && journal::append(self.dir, id).is_ok() => {
                self.input.push(bytes);
                // The terminal gets it before the engine hears of it. So whoever looks at the terminal
                // after that, and finds nothing there to be read, knows that the program has read it.
                if let Some(terminal) = self.output.source() {
                    self.input.write_to(terminal);
                }
                Reply::Accepted { id }
            }
            _ => Reply::Refused { id },
        };
        self.server.reply(index, reply);
    }

    /// Somebody wants the run to end. What has decided first stays the cause.
    fn stop(&mut self, cause: Cause) {
        // The program may have ended before this came, though its signal is still on the way.
        self.reaper.reap();
        let now = Instant::now();
        match self.phase {
            Phase::Running if self.reaper.end().is_none() => {
                self.cause.get_or_insert(cause);
                self.end_tree(now);
            }
            // It has ended by itself, so this only shortens the wait for its output.
            Phase::Running | Phase::Draining { .. } => self.phase = Phase::Draining { until: now },
            Phase::Ending(_) | Phase::Settling { .. } | Phase::Over => {}
        }
    }

    fn end_tree(&mut self, now: Instant) {
        let ending = Ending::begin(&self.spec.keep, self.spec.grace, now);
        self.phase = Phase::Ending(Box::new(ending));
    }

    /// Does what is due at this time. `quiet`: no output was there to be read.
    fn tick(&mut self, now: Instant, quiet: bool) {
        if let Some(size) = self.resizer.take(now)
            && let Some(output) = self.output.source()
            && self.takes_input()
        {
            resize::apply(output, size);
        }
        if self.reaper.end().is_some() && self.terminal.is_some() {
            // From here on the end of the output is everybody else's to hold back.
            self.terminal = None;
            self.input.clear();
        }
        let drain = Duration::from_millis(self.spec.grace.drain_ms);
        let is_written_to = self.is_written_to();
        match &mut self.phase {
            Phase::Running if self.reaper.end().is_some() => {
                self.phase = Phase::Draining { until: now + drain };
            }
            Phase::Running => {
                if self.time_out().is_some_and(|at| now >= at) {
                    self.stop(Cause::TimedOut);
                }
            }
            Phase::Draining { until } => {
                if !is_written_to || now >= *until {
                    self.output_held = is_written_to;
                    self.end_tree(now);
                }
            }
            Phase::Ending(ending) => {
                ending.tick(now, &mut self.reaper, self.cgroup.as_ref());
                if ending.is_over() {
                    // Whoever held the output past the drain has been waited for already.
                    let until = if self.output_held { now } else { now + drain };
                    self.end_of_tree(until);
                }
            }
            Phase::Settling { until } => {
                let late = now.checked_duration_since(*until);
                let is_over = late.is_some_and(|late| quiet || late > LAST_LOOK_MAX);
                if !is_written_to || is_over {
                    self.output_held |= is_written_to;
                    self.phase = Phase::Over;
                }
            }
            Phase::Over => {}
        }
    }

    fn end_of_tree(&mut self, until: Instant) {
        let phase = std::mem::replace(&mut self.phase, Phase::Settling { until });
        if let Phase::Ending(ending) = phase {
            (self.ended, self.left) = ending.into_notes();
        }
    }

    fn record(self) -> (ExitRecord, Logs) {
        let end = self.reaper.end();
        let duration = end.map_or_else(Instant::now, |e| e.at) - self.started;
        let record = ExitRecord {
            run: self.spec.run.clone(),
            cause: self.cause.unwrap_or(Cause::Ended),
            exit_code: end.and_then(|e| e.status.exit_status()),
            signal: end.and_then(|e| e.status.terminating_signal()),
            started_ms: self.started_ms,
            ended_ms: end.map_or_else(unix_ms, |e| e.at_ms),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            log_bytes: 0,
            log_truncated: false,
            output_held: self.output_held,
            errors_bytes: 0,
            errors_truncated: false,
            ended: self.ended,
            left: self.left,
        };
        (record, Logs { output: self.output.log, errors: self.errors.map(|e| e.log) })
    }
}

/// Places in the list that is polled.
const SIGNALS: usize = 0;
const OUTPUT: usize = 1;
const ERRORS: usize = 2;
const LISTENER: usize = 3;
const CLIENTS: usize = 4;
