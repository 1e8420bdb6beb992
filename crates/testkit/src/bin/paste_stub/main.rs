//! A program with an input line in a terminal, as agents have one, with the habits that make typing
//! into it hard. Each prompt that is sent off stands in a file afterwards, one line of JSON each.
//!
//! `paste-stub FILE [WORD...]`, with these words:
//! - `marks`: it has pastes marked (mode 2004) and keeps line ends within them.
//! - `burst N`: so many bytes in one read are a paste, and an Enter among them is a line end.
//! - `slow BYTES MS`: it reads so many bytes at most, and pauses so long after each read.
//! - `late MS`: it shows what was pasted after so long, with something else before that, and takes an Enter that it
//!   finds right after it for a line end.
//! - `cooked`: it leaves the line to the terminal.
//! - `hooks`: it tells the engine when it is up and when a turn begins and ends.
//! - `ends-only`: of these it tells only when a turn ends.
//! - `misses-enter`: it takes the first Enter for a line end, as a busy one does.
//! - `tool MS`: each turn runs a child for so long; what comes meanwhile is noted as a disturbance.
//! - `stays`: it does not end a turn until somebody sends off the prompt `done`.
//! - `asks TEXT`: it prints this and waits for a key before it is up; the key is noted.
//! - `asks-in-turn TEXT`: the same in each turn.

mod line;
mod teller;

use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use line::{Line, Seen};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};
use teller::Teller;

/// Within this time after it has shown a paste, one that is `late` takes Enter for a part of it.
const PASTE_GUARD: Duration = Duration::from_millis(40);

/// How it behaves.
#[derive(Default)]
struct Habits {
    file: String,
    marks: bool,
    burst: Option<usize>,
    slow: Option<(usize, Duration)>,
    late: Option<Duration>,
    cooked: bool,
    hooks: bool,
    ends_only: bool,
    misses_enter: bool,
    tool: Option<Duration>,
    stays: bool,
    asks: Option<String>,
    asks_in_turn: Option<String>,
}

fn habits() -> Option<Habits> {
    let mut words = std::env::args().skip(1);
    let mut habits = Habits { file: words.next()?, ..Habits::default() };
    let ms = |text: String| text.parse().ok().map(Duration::from_millis);
    while let Some(word) = words.next() {
        match word.as_str() {
            "marks" => habits.marks = true,
            "burst" => habits.burst = Some(words.next()?.parse().ok()?),
            "slow" => habits.slow = Some((words.next()?.parse().ok()?, ms(words.next()?)?)),
            "late" => habits.late = Some(ms(words.next()?)?),
            "cooked" => habits.cooked = true,
            "hooks" => habits.hooks = true,
            "ends-only" => habits.ends_only = true,
            "misses-enter" => habits.misses_enter = true,
            "tool" => habits.tool = Some(ms(words.next()?)?),
            "stays" => habits.stays = true,
            "asks" => habits.asks = Some(words.next()?),
            "asks-in-turn" => habits.asks_in_turn = Some(words.next()?),
            _ => return None,
        }
    }
    Some(habits)
}

fn main() {
    let Some(habits) = habits() else {
        say("paste-stub: wrong words\r\n");
        std::process::exit(125);
    };
    if !habits.cooked {
        raw_mode();
    }
    let mut stub = Stub { teller: Teller::new(habits.hooks), line: Line::new(habits.marks), habits };
    if let Some(question) = stub.habits.asks.clone() {
        stub.ask(&question);
    }
    if stub.habits.marks {
        say("\x1b[?2004h");
    }
    say("ready\r\n> ");
    if !stub.habits.ends_only {
        stub.teller.tell("ready", Value::Null);
    }
    stub.run();
}

struct Stub {
    habits: Habits,
    line: Line,
    teller: Teller,
}

impl Stub {
    fn run(&mut self) {
        let mut pasted: Option<Instant> = None;
        while let Some(bytes) = self.read() {
            let is_after_paste = pasted.is_some_and(|pasted| pasted.elapsed() < PASTE_GUARD);
            let is_burst = is_after_paste || self.habits.burst.is_some_and(|least| bytes.len() >= least);
            if let Some(late) = self.habits.late.filter(|_| bytes.starts_with(b"\x1b[200~")) {
                say("*");
                std::thread::sleep(late);
                say(&String::from_utf8_lossy(&bytes).replace('\x1b', ""));
                pasted = Some(Instant::now());
            }
            for seen in self.line.take(&bytes, is_burst) {
                match seen {
                    Seen::Sent(text) if std::mem::take(&mut self.habits.misses_enter) => {
                        self.line.put_back(&text)
                    }
                    Seen::Sent(text) if self.habits.stays && text == "done" => self.end(&text),
                    Seen::Sent(text) => self.turn(&text),
                    Seen::Key(name) => self.note(&json!({"key": name})),
                }
            }
            // Something is shown of what was typed, as everywhere.
            say(".");
        }
    }

    fn read(&self) -> Option<Vec<u8>> {
        let (most, pause) = self.habits.slow.unwrap_or((64 * 1024, Duration::ZERO));
        let mut bytes = vec![0; most];
        let count = rustix::io::read(rustix::stdio::stdin(), &mut bytes).ok().filter(|count| *count > 0)?;
        bytes.truncate(count);
        std::thread::sleep(pause);
        Some(bytes)
    }

    fn note(&self, what: &Value) {
        let mut file =
            OpenOptions::new().append(true).create(true).open(&self.habits.file).expect("the file");
        file.write_all(format!("{what}\n").as_bytes()).expect("a line");
    }

    fn turn(&mut self, text: &str) {
        self.note(&json!({"prompt": text}));
        if !self.habits.ends_only {
            self.teller.tell("turn_began", Value::Null);
        }
        say("\r\nworking\r\n");
        if let Some(question) = self.habits.asks_in_turn.clone() {
            self.ask(&question);
        }
        if let Some(tool) = self.habits.tool {
            self.run_tool(tool);
        }
        if !self.habits.stays {
            self.end(text);
        }
    }

    fn end(&self, text: &str) {
        say("> ");
        let first: String = text.chars().take(20).collect();
        self.teller.tell("turn_ended", json!({"text": format!("answer to {first}")}));
    }

    /// A child works, and nobody should disturb it.
    fn run_tool(&self, time: Duration) {
        let seconds = format!("{}", time.as_secs_f64());
        let mut tool = Command::new("sleep").arg(seconds).spawn().expect("sleep");
        tool.wait().expect("its end");
        let stdin = rustix::stdio::stdin();
        let mut polled = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        let waiting = rustix::event::poll(&mut polled, Some(&Timespec::default())).unwrap_or(0);
        self.note(&json!({"tool": "done", "disturbed": waiting > 0}));
    }

    fn ask(&self, question: &str) {
        say(question);
        let mut key = [0; 64];
        let count = rustix::io::read(rustix::stdio::stdin(), &mut key).unwrap_or(0);
        self.note(&json!({"answered": String::from_utf8_lossy(&key[..count])}));
        say("\r\nthank you\r\n");
    }
}

fn raw_mode() {
    let stdin = rustix::stdio::stdin();
    if let Ok(mut modes) = rustix::termios::tcgetattr(stdin) {
        modes.make_raw();
        let _ = rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Now, &modes);
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    // A terminal that is gone needs no words.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
