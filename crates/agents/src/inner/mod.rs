//! Small processes of ours between a run's supervisor and an agent CLI: `carillon agent-process KIND ...`.
//!
//! `acp` speaks the Agent Client Protocol to an agent for one turn. `gemini` prepares a home for Gemini CLI and becomes
//! that program.

mod acp;
mod gemini;

pub(crate) use gemini::without_comments;

use std::ffi::OsString;
use std::path::PathBuf;

/// The command of the `carillon` binary that leads here.
pub const COMMAND: &str = "agent-process";

/// Runs one of these processes with the words after [`COMMAND`], and answers the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> i32 {
    let args: Vec<OsString> = args.into_iter().collect();
    let ended = match args.as_slice() {
        [kind, file] if kind == "acp" => acp::main(&PathBuf::from(file)),
        [kind, home, file, dashes, program, args @ ..] if kind == "gemini" && dashes == "--" => {
            Err(gemini::main(&PathBuf::from(home), &PathBuf::from(file), program, args))
        }
        _ => Err("usage: carillon agent-process acp FILE | gemini HOME FILE -- PROGRAM [ARG]...".to_owned()),
    };
    ended.unwrap_or_else(|problem| {
        eprintln!("carillon: {problem}");
        1
    })
}

/// The arguments that start such a process.
pub(crate) fn argv(carillon: &str, kind: &str, more: impl IntoIterator<Item = String>) -> Vec<String> {
    [carillon, COMMAND, kind].into_iter().map(str::to_owned).chain(more).collect()
}
