//! Terminal mode: the CLI's own interface with the agent's session, MCP server and role, and with hooks that tell of
//! its turns. The hooks belong to the run: they stand in files, arguments or variables of its own.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::turn::{Session, TurnOrder, TurnPlan, Unsuitable, is_sound_session};
use crate::{Adapter, claude, codex, gemini, opencode, plain};

/// The command of the `carillon` binary that hooks call: `carillon hook EVENT`. What the CLI says stands on standard
/// input, or is the last argument with Codex.
pub const HOOK_COMMAND: &str = "hook";

/// What Claude Code tells of.
const CLAUDE_EVENTS: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "PermissionRequest", "Notification"];

/// What Gemini CLI tells of.
const GEMINI_EVENTS: [&str; 4] = ["SessionStart", "BeforeAgent", "AfterAgent", "Notification"];

/// What OpenCode tells by a plug-in.
const OPENCODE_PLUGIN: &str = include_str!("opencode_terminal.mjs");

/// How the CLI's own interface is started. The prompt of the order is not looked at: who uses a terminal types.
///
/// # Errors
/// When the CLI has no interface of its own, or could not be told what the order says.
pub fn terminal_plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    is_sound_session(order)?;
    match order.adapter {
        Adapter::Claude => claude_plan(order),
        Adapter::Codex => codex_plan(order),
        Adapter::Gemini => gemini_plan(order),
        Adapter::Opencode => opencode_plan(order),
        Adapter::Acp => Err(Unsuitable::NoTerminal { adapter: order.adapter }),
        Adapter::Plain => Ok(TurnPlan { stdin: String::new(), ..plain::plan(order) }),
    }
}

fn claude_plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let mut plan = claude::interface(order)?;
    let hook =
        |event: &str| json!([{ "hooks": [{ "type": "command", "command": shell_command(order, event) }] }]);
    let hooks: Map<String, Value> =
        CLAUDE_EVENTS.iter().map(|event| ((*event).to_owned(), hook(event))).collect();
    let file = order.file("claude-settings.json")?;
    plan.files.push((PathBuf::from(&file), json!({ "hooks": hooks }).to_string()));
    plan.argv.extend(["--settings".to_owned(), file]);
    Ok(plan)
}

fn codex_plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let session = codex::resumed(order)?;
    let mut more = codex::settings(order);
    // Its hooks would have to be trusted in a dialog first; this program is told without one.
    let notify: Vec<String> =
        [order.carillon, HOOK_COMMAND, "notify"].into_iter().map(codex::quoted).collect();
    more.extend(["-c".to_owned(), format!("notify=[{}]", notify.join(","))]);
    if let Some(id) = &session {
        more.extend(["resume".to_owned(), id.clone()]);
    }
    let env = codex::environment(order);
    Ok(TurnPlan { argv: order.argv(more), env, session, ..TurnPlan::default() })
}

fn gemini_plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let hook = |event: &str| {
        let command = shell_command(order, event);
        json!([{ "matcher": "*", "hooks": [{ "type": "command", "name": "carillon", "command": command }] }])
    };
    let hooks: Map<String, Value> =
        GEMINI_EVENTS.iter().map(|event| ((*event).to_owned(), hook(event))).collect();
    gemini::interface(order, json!({ "hooksConfig": { "enabled": true }, "hooks": hooks }))
}

fn opencode_plan(order: &TurnOrder<'_>) -> Result<TurnPlan, Unsuitable> {
    let command = json!([order.carillon, HOOK_COMMAND]);
    let plugin = format!("const HOOK = {command};\n{OPENCODE_PLUGIN}");
    let mut plan = opencode::interface(order, "opencode-terminal.mjs", &plugin, Map::new())?;
    if let Session::Resume { id } = order.session {
        plan.argv.extend(["-s".to_owned(), id.to_owned()]);
        plan.session = Some(id.to_owned());
    }
    Ok(plan)
}

/// The command of a hook, for a shell.
fn shell_command(order: &TurnOrder<'_>, event: &str) -> String {
    format!("{} {HOOK_COMMAND} {event}", shell_quoted(order.carillon))
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(shell_quoted("/opt/it's here/carillon"), r"'/opt/it'\''s here/carillon'");
    }
}
