//! A terminal with nothing around it: the least that a program in a terminal costs on this machine.

use std::io::{Read, Write};

use portable_pty::{CommandBuilder, PtyPair, PtySize, native_pty_system};

use crate::{Outcome, monotonic_ns};

const SIZE: PtySize = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
/// As much as the supervisor asks for at a time.
const READ_BYTES: usize = 64 * 1024;

fn open(program: &[&str]) -> Outcome<(PtyPair, Box<dyn portable_pty::Child + Send + Sync>)> {
    let (name, args) = program.split_first().ok_or("no program")?;
    let pair = native_pty_system().openpty(SIZE)?;
    let mut command = CommandBuilder::new(name);
    command.args(args);
    command.env("TERM", "xterm-256color");
    let child = pair.slave.spawn_command(command)?;
    Ok((pair, child))
}

/// Runs the program to its end; answers when it was asked for.
pub fn spawn(program: &[&str]) -> Outcome<u64> {
    let began = monotonic_ns();
    let (pair, mut child) = open(program)?;
    child.wait()?;
    drop(pair);
    Ok(began)
}

/// Presses Enter and reads to the end; answers the count of bytes.
pub fn read(program: &[&str]) -> Outcome<u64> {
    let (pair, mut child) = open(program)?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader()?;
    let mut writer = pair.master.take_writer()?;
    writer.write_all(b"\n")?;
    let mut buffer = vec![0; READ_BYTES];
    let mut count = 0;
    // The end of a terminal is an error on Linux (EIO).
    while let Ok(n @ 1..) = reader.read(&mut buffer) {
        count += n as u64;
    }
    child.wait()?;
    Ok(count)
}

/// A bare terminal that a key can be typed into.
pub struct Typing {
    reader: Box<dyn Read + Send>,
    writer: Box<dyn Write + Send>,
    _pair: PtyPair,
    _child: Box<dyn portable_pty::Child + Send + Sync>,
}

impl Typing {
    /// `program` echoes what it reads, after it has said anything at all.
    pub fn open(program: &[&str]) -> Outcome<Self> {
        let (pair, child) = open(program)?;
        let mut reader = pair.master.try_clone_reader()?;
        let writer = pair.master.take_writer()?;
        reader.read_exact(&mut [0])?;
        Ok(Self { reader, writer, _pair: pair, _child: child })
    }

    /// Types one key and waits for its echo; nanoseconds.
    pub fn key(&mut self) -> Outcome<u64> {
        let began = monotonic_ns();
        self.writer.write_all(b"x")?;
        self.reader.read_exact(&mut [0])?;
        Ok(monotonic_ns() - began)
    }
}
