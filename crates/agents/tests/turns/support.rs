//! What the tests of turns have in common.

use std::path::Path;

use carillon_agents::Adapter;
use carillon_agents::turn::{Exit, McpEntry, Outcome, Session, TurnEnd, TurnOrder, outcome};

/// Monday, 30 November 2026, 18:00 UTC.
pub const NOW: i64 = 1_796_061_600_000;
pub const HOUR: i64 = 3_600_000;
pub const UUID: &str = "70435f15-5fa0-4c49-84da-17f7c03abed9";

pub const OK: Exit = Exit { code: Some(0), signal: None };
pub const BAD: Exit = Exit { code: Some(1), signal: None };
pub const KILLED: Exit = Exit { code: None, signal: Some(9) };

/// What came of a turn that ended at [`NOW`].
pub fn ended(adapter: Adapter, exit: Exit, out: &str, errors: &str) -> Outcome {
    outcome(adapter, exit, out.as_bytes(), errors.as_bytes(), NOW)
}

pub fn answer(text: &str) -> TurnEnd {
    TurnEnd::Final { text: text.to_owned() }
}

pub fn failed(reason: &str) -> TurnEnd {
    TurnEnd::Failed { reason: reason.to_owned() }
}

/// An order with nothing but a prompt.
pub fn order(adapter: Adapter) -> TurnOrder<'static> {
    TurnOrder {
        adapter,
        program: "/opt/agent",
        args: &[],
        carillon: "/opt/carillon",
        role: None,
        prompt: "What is 2+2?",
        session: Session::New { id: UUID },
        mcp: None,
        files_dir: Path::new("/run/dir with space"),
    }
}

/// Our server, with a secret among its variables.
pub fn mcp<'a>(args: &'a [String], env: &'a [(String, String)]) -> McpEntry<'a> {
    McpEntry { command: "/opt/carillon", args, env }
}
