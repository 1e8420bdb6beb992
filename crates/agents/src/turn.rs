//! One headless turn: how it is started, what it shows meanwhile, and how it ended.
//!
//! A turn is one process. The prompt stands on its standard input, its standard output is the CLI's own structured
//! events, and its end is the end of the turn: nothing of the CLI runs any more, so the last answer is the final one.
//! [`outcome`] reads the whole output, so the same output gives the same outcome after a crash.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Adapter, Vars, acp, claude, codex, gemini, opencode, plain};

/// The name under which our MCP server is known to every CLI.
pub const MCP_NAME: &str = "carillon";

/// What a headless turn is made of.
#[derive(Debug, Clone)]
pub struct TurnOrder<'a> {
    /// Which CLI.
    pub adapter: Adapter,
    /// Its program, as an absolute path.
    pub program: &'a str,
    /// The profile's own arguments. They come before ours.
    pub args: &'a [String],
    /// The `carillon` binary: some CLIs are spoken to by a small process of ours, and hooks call it.
    pub carillon: &'a str,
    /// Who the agent is, in words for its model.
    pub role: Option<&'a str>,
    /// What it is asked.
    pub prompt: &'a str,
    /// Which conversation.
    pub session: Session<'a>,
    /// The MCP server that the agent gets, by standard input and output.
    pub mcp: Option<McpEntry<'a>>,
    /// The run's own directory, as an absolute path. Files that are made for the run stand there, and go with it.
    pub files_dir: &'a Path,
}

/// The conversation that a turn belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session<'a> {
    /// A new one.
    New {
        /// The UUID that we have chosen for it. CLIs that choose one themselves do not look at it.
        id: &'a str,
    },
    /// One that an earlier turn has begun.
    Resume {
        /// Its id, as an earlier [`Outcome::session`] gave it.
        id: &'a str,
    },
}

/// An MCP server that the CLI starts, by the name [`MCP_NAME`].
#[derive(Debug, Clone, Copy)]
pub struct McpEntry<'a> {
    /// Its program, as an absolute path.
    pub command: &'a str,
    /// Its arguments. They are seen by everybody on the machine.
    pub args: &'a [String],
    /// Its variables. They stand in files of mode 0600 and in environments, never in arguments.
    pub env: &'a [(String, String)],
}

/// How a turn is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnPlan {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// What is added to the child's environment, on top of all else.
    pub env: Vars,
    /// What stands on its standard input, to its end.
    pub stdin: String,
    /// Files to write with mode 0600 before the start.
    pub files: Vec<(PathBuf, String)>,
    /// The conversation's id, where it is known beforehand.
    pub session: Option<String>,
}

/// Why an order cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    /// A session's id could be taken for an option, or names nothing.
    #[error("{id:?} is no session id that {adapter} could be given")]
    SessionId {
        /// The CLI.
        adapter: Adapter,
        /// The id.
        id: String,
    },
    /// A path has to stand in a text, and is none.
    #[error("{adapter} cannot be told the path {path:?}, which is not UTF-8")]
    Path {
        /// The CLI.
        adapter: Adapter,
        /// The path.
        path: PathBuf,
    },
    /// A variable that both the profile and we need holds something that cannot be joined with ours.
    #[error("the profile's variable {name} cannot be read: {problem}")]
    Variable {
        /// Its name.
        name: String,
        /// What is wrong with its value, without the value.
        problem: String,
    },
    /// The CLI has no interface of its own.
    #[error("{adapter} has no interface for a terminal")]
    NoTerminal {
        /// The CLI.
        adapter: Adapter,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub end: TurnEnd,
    /// The conversation's id, where the CLI has told it.
    pub session: Option<String>,
    /// What it cost, where the CLI has told it.
    pub usage: Option<Usage>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// With an answer.
    Final {
        /// The answer: never empty, without control sequences.
        text: String,
    },
    /// Well, but without a word.
    NoAnswer,
    /// Badly.
    Failed {
        /// Why, in words for the user.
        reason: String,
    },
    /// The account's limit is reached. Nothing is wrong with the prompt; it can be given again later.
    Limited {
        /// What the CLI said.
        reason: String,
        /// The windows of the limit that are used up, in the CLI's own words; empty when it named none.
        windows: Vec<String>,
        /// When the latest of them opens again, in Unix milliseconds; nothing when the CLI did not say.
        resets_at_ms: Option<i64>,
    },
    /// The CLI does not know the conversation (any more).
    UnknownSession {
        /// What the CLI said.
        reason: String,
    },
}

/// What a turn cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Tokens that the model read, from caches too.
    pub input_tokens: u64,
    /// Those of them that came from a cache, where the CLI tells that.
    pub cached_tokens: Option<u64>,
    /// Tokens that it wrote. Its thinking is among them but for Gemini CLI, which does not tell it apart.
    pub output_tokens: u64,
    /// Those of them that it thought with, where the CLI tells that.
    pub reasoning_tokens: Option<u64>,
    /// The price in US dollars, as far as the CLI knows it.
    pub cost_usd: Option<f64>,
    /// The numbers count the whole conversation so far, not this turn alone: what its earlier turns have given is to
    /// be taken off.
    pub of_session: bool,
}

/// Something to show while a turn runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The agent says something. It need not be the final answer.
    Text(String),
    /// It thinks aloud.
    Thinking(String),
    /// It uses a tool.
    Tool {
        /// The tool's name, as the CLI writes it.
        name: String,
        /// What with, in one line.
        detail: String,
    },
    /// The CLI itself has something to say: a retry, a warning, a limit that comes near.
    Note(String),
}

/// Puts what a plan adds into the environment of a child. It replaces what stands there under the same name, but for
/// OpenCode's settings, which are joined with the profile's own.
///
/// # Errors
/// When those of the profile cannot be read.
pub fn put_into(env: &mut Vars, more: Vars) -> Result<(), Unsuitable> {
    for (name, mut value) in more {
        if let Some((_, theirs)) = env.iter().find(|(known, _)| *known == name)
            && name == opencode::SETTINGS
        {
            value = opencode::joined(theirs, &value)?;
        }
        env.retain(|(known, _)| *known != name);
        env.push((name, value));
    }
    Ok(())
}

/// How the turn is started. It looks at nothing but the order.
///
/// # Errors
/// When the CLI could not be told what the order says.
pub fn plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    is_sound_session(order)?;
    match order.adapter {
        Adapter::Claude => claude::plan(order),
        Adapter::Codex => codex::plan(order),
        Adapter::Gemini => gemini::plan(order),
        Adapter::Opencode => opencode::plan(order),
        Adapter::Acp => acp::plan(order),
        Adapter::Plain => Ok(plain::plan(order)),
    }
}

/// What came of a turn that has ended, from all that it wrote to standard output (`out`) and standard error (`errors`).
/// `now_ms` is when it ended, in Unix milliseconds: some CLIs name a reset by the time of day alone.
pub fn outcome(adapter: Adapter, exit: Exit, out: &[u8], errors: &[u8], now_ms: i64) -> Outcome {
    match adapter {
        Adapter::Claude => claude::outcome(exit, out, errors, now_ms),
        Adapter::Codex => codex::outcome(exit, out, errors, now_ms),
        Adapter::Gemini => gemini::outcome(exit, out, errors, now_ms),
        Adapter::Opencode => opencode::outcome(exit, out, errors, now_ms),
        Adapter::Acp => acp::outcome(exit, out, errors, now_ms),
        Adapter::Plain => plain::outcome(exit, out, errors),
    }
}

/// Whether the session's id can be an argument, and names a session where one has to be there.
pub(crate) fn is_sound_session(order: &TurnOrder<'_>) -> Result<(), Unsuitable> {
    let (Session::New { id } | Session::Resume { id }) = order.session;
    let is_word = !id.starts_with('-') && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    let is_missing = id.is_empty() && matches!(order.session, Session::Resume { .. });
    if !is_word || is_missing {
        return Err(Unsuitable::SessionId { adapter: order.adapter, id: id.to_owned() });
    }
    Ok(())
}

impl TurnOrder<'_> {
    /// The program, the profile's own arguments, and `more`.
    pub(crate) fn argv(&self, more: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
        let own = std::iter::once(self.program.to_owned()).chain(self.args.iter().cloned());
        own.chain(more.into_iter().map(Into::into)).collect()
    }

    /// The path of one of the run's own files, as a text.
    pub(crate) fn file(&self, name: &str) -> Result<String, Unsuitable> {
        let path = self.files_dir.join(name);
        let text = path.to_str().map(str::to_owned);
        text.ok_or(Unsuitable::Path { adapter: self.adapter, path })
    }

    /// The prompt with the role before it, for CLIs that have no better place for it. A conversation that goes on has
    /// heard it already.
    pub(crate) fn prompt_with_role(&self) -> String {
        match (self.role, self.session) {
            (Some(role), Session::New { .. }) => format!("{role}\n\n{}", self.prompt),
            _ => self.prompt.to_owned(),
        }
    }
}

/// An entry of an environment.
pub(crate) fn var(name: &str, value: impl Into<OsString>) -> (OsString, OsString) {
    (name.into(), value.into())
}
