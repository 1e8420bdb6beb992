//! A program that misbehaves on command.
//!
//! Its arguments are a script: words that are done one after the other, each followed by its own
//! arguments, as in `fake-agent ignore-term print hello leave-daemon exit 3`. Without `exit` or
//! something that never returns it exits with 0. Wrong words exit with 125.
//!
//! It does not use Rust's usual start-up code, which ignores SIGPIPE: what it says about its signals
//! is what it inherited.

#![no_main]

mod output;
mod processes;
mod terminal;

use std::ffi::OsString;
use std::time::Duration;

/// Entry point with the C calling convention; the arguments are read through the standard library.
#[unsafe(no_mangle)]
pub extern "C" fn main(_argc: libc::c_int, _argv: *const *const libc::c_char) -> libc::c_int {
    let mut script = Script(std::env::args_os().skip(1).collect::<Vec<_>>().into_iter());
    while let Some(word) = script.0.next() {
        step(&word.to_string_lossy(), &mut script);
    }
    0
}

/// The words that are still to be done.
struct Script(std::vec::IntoIter<OsString>);

impl Script {
    fn text(&mut self) -> String {
        match self.0.next() {
            Some(word) => word.to_string_lossy().into_owned(),
            None => wrong("a word is missing"),
        }
    }

    fn number(&mut self) -> usize {
        let text = self.text();
        text.parse().unwrap_or_else(|_| wrong(&format!("{text} is not a number")))
    }
}

fn wrong(why: &str) -> ! {
    output::print(&format!("fake-agent: {why}"));
    std::process::exit(125)
}

fn step(word: &str, script: &mut Script) {
    match word {
        // Output.
        "print" => output::print(&script.text()),
        "raw" => output::raw(&script.text()),
        "flood" => output::flood(script.number(), true),
        "flood-line" => output::flood(script.number(), false),
        "flood-forever" => output::flood_forever(),
        "env" => output::env(),
        "write-temp" => output::write_temp(),
        "touch" => drop(std::fs::File::create(script.text())),
        // Time.
        "pause" => std::thread::sleep(Duration::from_millis(script.number() as u64)),
        "wait-file" => wait_for_file(&script.text()),
        "hang" => hang(),
        // Ends.
        "exit" => std::process::exit(i32::try_from(script.number()).unwrap_or(125)),
        "kill-self" => processes::kill_self(script.number()),
        "segfault" => processes::segfault(),
        // Signals.
        "ignore-term" => processes::ignore(libc::SIGTERM),
        "ignore-hup" => processes::ignore(libc::SIGHUP),
        "print-sig" => processes::print_signals(),
        // Other processes.
        "leave-daemon" => processes::leave_daemon(None),
        "leave-named-daemon" => processes::leave_daemon(Some(&script.text())),
        "leave-double-forked" => processes::leave_double_forked(),
        "leave-sleeper" => processes::leave_sleeper(),
        "leave-output-holder" => processes::leave_output_holder(),
        "leave-named-child" => processes::leave_named_child(&script.text()),
        "leave-spinner" => processes::leave_spinner(),
        "leave-hopper" => processes::leave_hopper(),
        "leave-stopped-child" => processes::leave_stopped_child(),
        "leave-late-writer" => {
            let (file, after_ms) = (script.text(), script.number());
            processes::leave_late_writer(&file, after_ms as u64);
        }
        "fork-storm" => processes::fork_storm(script.number()),
        "print-ids" => processes::print_ids(),
        "print-fds" => processes::print_descriptors(),
        // Terminal and input.
        "spin-on-eof" => processes::spin_on_eof(),
        "print-tty" => terminal::print_tty(),
        "echo" => terminal::echo(),
        "count-winch" => terminal::count_winch(),
        "raw-mode" => terminal::raw_mode(),
        "slow-read" => terminal::slow_read(script.number()),
        other => wrong(&format!("the word {other} is unknown")),
    }
}

/// Waits until somebody makes a file; the test decides when the script goes on.
fn wait_for_file(file: &str) {
    while !std::path::Path::new(file).exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn hang() -> ! {
    loop {
        // SAFETY: waits for a signal, touches nothing.
        unsafe { libc::pause() };
    }
}
