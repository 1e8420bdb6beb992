//! Any program: the prompt on its standard input, the answer on its standard output.

use crate::text;
use crate::turn::{Exit, Outcome, TurnEnd, TurnOrder, TurnPlan};

/// How many of the last lines of its errors name the cause of a failure, and how many characters of them.
const CAUSE_LINES: usize = 8;
const CAUSE_CHARS: usize = 2_000;

pub(crate) fn plan(order: &TurnOrder<'_>) -> TurnPlan {
    TurnPlan { argv: order.argv([""; 0]), stdin: order.prompt_with_role(), ..TurnPlan::default() }
}

pub(crate) fn outcome(exit: Exit, out: &[u8], errors: &[u8]) -> Outcome {
    let text = text::cleaned(out);
    let end = match exit {
        Exit { code: Some(0), .. } if text.is_empty() => TurnEnd::NoAnswer,
        Exit { code: Some(0), .. } => TurnEnd::Final { text },
        Exit { .. } => TurnEnd::Failed { reason: failure(exit, errors) },
    };
    Outcome { end, session: None, usage: None }
}

/// How a program failed: its status with the last lines of its errors.
pub(crate) fn failure(exit: Exit, errors: &[u8]) -> String {
    let status = match exit {
        Exit { signal: Some(signal), .. } => format!("killed by signal {signal}"),
        Exit { code: Some(0), .. } => "ended without a result".to_owned(),
        Exit { code: Some(code), .. } => format!("exited {code}"),
        Exit { code: None, signal: None } => "ended in an unknown way".to_owned(),
    };
    let words = text::last_words(errors, CAUSE_LINES, CAUSE_CHARS);
    if words.is_empty() { status } else { format!("{status}: {words}") }
}
