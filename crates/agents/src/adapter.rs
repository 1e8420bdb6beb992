//! The kinds of agents that we know how to start.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which agent CLI a profile starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Adapter {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    Opencode,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    /// Any program: the prompt on its standard input, the answer on its standard output.
    Plain,
}

/// The name of an adapter that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no adapter {name:?}; it must be one of claude, codex, gemini, opencode, acp, plain")]
pub struct UnknownAdapter {
    /// The name as it was given.
    pub name: String,
}

impl Adapter {
    /// All adapters.
    pub const ALL: [Adapter; 6] =
        [Adapter::Claude, Adapter::Codex, Adapter::Gemini, Adapter::Opencode, Adapter::Acp, Adapter::Plain];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Adapter::Claude => "claude",
            Adapter::Codex => "codex",
            Adapter::Gemini => "gemini",
            Adapter::Opencode => "opencode",
            Adapter::Acp => "acp",
            Adapter::Plain => "plain",
        }
    }

    /// The name of the program that this CLI is installed as, where it has one.
    pub fn usual_program(self) -> Option<&'static str> {
        match self {
            Adapter::Claude | Adapter::Codex | Adapter::Gemini | Adapter::Opencode => Some(self.name()),
            Adapter::Acp | Adapter::Plain => None,
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Adapter {
    type Err = UnknownAdapter;

    fn from_str(name: &str) -> Result<Adapter, UnknownAdapter> {
        let known = Adapter::ALL.into_iter().find(|adapter| adapter.name() == name);
        known.ok_or_else(|| UnknownAdapter { name: name.to_owned() })
    }
}

/// The argument vector that starts the agent's own interface in a terminal: the program with the profile's
/// arguments, as they are.
pub fn terminal_argv(adapter: Adapter, program: &str, args: &[String]) -> Vec<String> {
    match adapter {
        Adapter::Claude
        | Adapter::Codex
        | Adapter::Gemini
        | Adapter::Opencode
        | Adapter::Acp
        | Adapter::Plain => std::iter::once(program.to_owned()).chain(args.iter().cloned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_is_written_and_read_by_the_same_lower_case_name() {
        for adapter in Adapter::ALL {
            let name = adapter.to_string();
            assert_eq!(name, name.to_lowercase());
            assert_eq!(name.parse(), Ok(adapter));
        }
        let unknown = "Claude".parse::<Adapter>().expect_err("names are lower-case");
        assert!(unknown.to_string().contains("\"Claude\"") && unknown.to_string().contains("opencode"));
    }

    #[test]
    fn the_program_and_its_arguments_are_started_as_they_are() {
        let args = ["-x".to_owned(), "a b".to_owned()];
        assert_eq!(terminal_argv(Adapter::Claude, "/opt/claude", &args), ["/opt/claude", "-x", "a b"]);
    }
}
