//! `carillon demo-agent`: a small honest agent without a model, so that Carillon can be tried and
//! tested with no account. On a terminal it answers prompt by prompt and tells the engine of its
//! turns; else standard input is one prompt and standard output its final answer.

mod editor;
mod rules;
mod turns;

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

use editor::{Editor, Typed};
use rules::Said;

const WELCOME: &str = "\x1b[1mdemo agent\x1b[0m, no model inside. Try:\n\
  \x1b[36msay TEXT\x1b[0m         says it\n\
  \x1b[36mrun: CMD\x1b[0m         runs a shell command here\n\
  \x1b[36mstart: CMD\x1b[0m       starts one in the background\n\
  \x1b[36mask NAME: TEXT\x1b[0m   asks another agent\n\
  \x1b[36mbye\x1b[0m              ends (so does Ctrl+D)\n\
anything else comes back as it is.\n";
const PROMPT: &str = "\x1b[33m›\x1b[0m ";
/// Has the terminal mark what is pasted (xterm's control sequences, mode 2004).
const MARK_PASTES: &str = "\x1b[?2004h";
const NO_MARKS: &str = "\x1b[?2004l";

pub(crate) fn run() -> ExitCode {
    let done = if std::io::stdin().is_terminal() { on_terminal() } else { headless() };
    match done {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "demo-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

fn on_terminal() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout();
    let mut editor = Editor::open()?;
    let turns = turns::Teller::from_environment();
    write!(out, "{MARK_PASTES}{WELCOME}{PROMPT}")?;
    out.flush()?;
    turns.ready();
    let code = loop {
        match editor.read(&mut out)? {
            Typed::Prompt(prompt) if prompt.trim() == "bye" => break ExitCode::SUCCESS,
            Typed::End => break ExitCode::SUCCESS,
            Typed::Prompt(prompt) if prompt.trim().is_empty() => {}
            Typed::Prompt(prompt) => {
                turns.began();
                match rules::answer(&prompt) {
                    Said::Answer(answer) => {
                        if !answer.is_empty() {
                            writeln!(out, "{answer}")?;
                        }
                        out.flush()?;
                        turns.ended(&answer);
                    }
                    Said::Failed(text) => {
                        writeln!(std::io::stderr(), "{text}")?;
                        break ExitCode::FAILURE;
                    }
                }
            }
        }
        write!(out, "{PROMPT}")?;
        out.flush()?;
    };
    write!(out, "{NO_MARKS}\nbye\n")?;
    out.flush()?;
    Ok(code)
}

fn headless() -> std::io::Result<ExitCode> {
    let mut prompt = String::new();
    std::io::stdin().lock().read_to_string(&mut prompt)?;
    match rules::answer(&prompt) {
        Said::Answer(answer) => {
            let mut out = std::io::stdout();
            if !answer.is_empty() {
                writeln!(out, "{answer}")?;
            }
            out.flush()?;
            Ok(ExitCode::SUCCESS)
        }
        Said::Failed(text) => {
            writeln!(std::io::stderr(), "{text}")?;
            Ok(ExitCode::FAILURE)
        }
    }
}
