//! One headless turn of an agent CLI, for tests on the real ones: plan, start, outcome.
//!
//! - `agent-turn run`: takes an order as JSON on standard input, runs it and prints what came of it as JSON.
//! - `agent-turn outcome ADAPTER OUT ERRORS CODE NOW_MS`: reads an outcome again from files, as after a crash.
//! - `agent-turn agent-process ...`: what `carillon agent-process` is.
//! - `agent-turn terminal FILE`: takes an order from a file and becomes the CLI's own interface.
//! - `agent-turn hook EVENT [JSON]`: reads what a hook says and adds it to the file that TEST_HOOKS names.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use carillon_agents::Adapter;
use carillon_agents::child_env::{Connection, child_env};
use carillon_agents::hook::{self, HookSeen};
use carillon_agents::inner;
use carillon_agents::reader::Reader;
use carillon_agents::terminal::terminal_plan;
use carillon_agents::turn::{
    Exit, McpEntry, Outcome, Seen, Session, TurnEnd, TurnOrder, TurnPlan, Unsuitable, outcome, plan,
};
use serde_json::{Value, json};

fn main() {
    let mut args = std::env::args_os().skip(1);
    let word = args.next().unwrap_or_default();
    if word == inner::COMMAND {
        std::process::exit(inner::main(args));
    }
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let done = match (word.to_str(), args.as_slice()) {
        (Some("run"), []) => run(),
        (Some("terminal"), [file]) => terminal(Path::new(file)),
        (Some("hook"), [event, more @ ..]) => hooked(event, more.first()),
        (Some("outcome"), [adapter, out, errors, code, now_ms]) => again(adapter, out, errors, code, now_ms),
        _ => {
            Err("usage: agent-turn run | terminal FILE | hook EVENT | outcome ADAPTER OUT ERRORS CODE NOW_MS"
                .into())
        }
    };
    if let Err(e) = done {
        eprintln!("agent-turn: {e}");
        std::process::exit(1);
    }
}

/// What the test says, as it stands in its JSON.
struct Order {
    all: Value,
    args: Vec<String>,
    mcp_args: Vec<String>,
    mcp_env: Vec<(String, String)>,
    profile_env: Vec<(String, String)>,
}

impl Order {
    fn read(mut from: impl Read) -> Result<Order, Box<dyn Error>> {
        let mut text = String::new();
        from.read_to_string(&mut text)?;
        let all: Value = serde_json::from_str(&text)?;
        Ok(Order {
            args: serde_json::from_value(all["args"].clone())?,
            mcp_args: serde_json::from_value(all.pointer("/mcp/args").cloned().unwrap_or(json!([])))?,
            mcp_env: pairs(all.pointer("/mcp/env"))?,
            profile_env: pairs(all.get("profile_env"))?,
            all,
        })
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.all.pointer(pointer).and_then(Value::as_str)
    }

    fn need(&self, pointer: &str) -> Result<&str, String> {
        self.text(pointer).ok_or_else(|| format!("the order has no {pointer}"))
    }

    fn plan(
        &self,
        of: fn(&TurnOrder<'_>) -> Result<TurnPlan, Unsuitable>,
    ) -> Result<TurnPlan, Box<dyn Error>> {
        let carillon = std::env::current_exe()?;
        let session = match self.text("/resume") {
            Some(id) => Session::Resume { id },
            None => Session::New { id: self.need("/new")? },
        };
        let mcp = self.text("/mcp/command").map(|command| McpEntry {
            command,
            args: &self.mcp_args,
            env: &self.mcp_env,
        });
        let plan = of(&TurnOrder {
            adapter: self.need("/adapter")?.parse()?,
            program: self.need("/program")?,
            args: &self.args,
            carillon: &carillon.to_string_lossy(),
            role: self.text("/role"),
            prompt: self.need("/prompt")?,
            session,
            mcp,
            files_dir: Path::new(self.need("/files_dir")?),
        })?;
        for (path, text) in &plan.files {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text.as_bytes())?;
        }
        Ok(plan)
    }

    /// The command with the environment that it would have from an engine.
    fn command(&self, plan: &TurnPlan, connection: Connection) -> Result<Command, Box<dyn Error>> {
        let base: Vec<_> = std::env::vars_os().collect();
        let ours = [("CARILLON_RUN", self.need("/run")?)];
        let temp = Path::new(self.need("/temp")?);
        let mut env = child_env(&base, temp, &ours, &self.profile_env, connection);
        carillon_agents::turn::put_into(&mut env, plan.env.clone())?;
        let [program, args @ ..] = plan.argv.as_slice() else {
            return Err("the plan names no program".into());
        };
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(env).current_dir(self.need("/cwd")?);
        Ok(command)
    }
}

fn pairs(value: Option<&Value>) -> Result<Vec<(String, String)>, serde_json::Error> {
    let map: BTreeMap<String, String> = serde_json::from_value(value.cloned().unwrap_or(json!({})))?;
    Ok(map.into_iter().collect())
}

fn run() -> Result<(), Box<dyn Error>> {
    let order = Order::read(std::io::stdin())?;
    let adapter: Adapter = order.need("/adapter")?.parse()?;
    let plan = order.plan(plan)?;
    let dir = PathBuf::from(order.need("/files_dir")?);
    let (out, errors) = (dir.join("out"), dir.join("errors"));
    let status = start(&order, &plan, &out, &errors)?;
    let exit = Exit { code: status.code(), signal: status.signal() };
    let now_ms = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let (out, errors) = (std::fs::read(out)?, std::fs::read(errors)?);
    let found = outcome(adapter, exit, &out, &errors, now_ms);
    let mut reader = Reader::new(adapter);
    // Pieces of an odd size, as they come from a pipe.
    let seen: Vec<Value> = out.chunks(997).flat_map(|piece| reader.feed(piece)).map(seen_json).collect();
    let report = json!({
        "argv": plan.argv,
        "planned_session": plan.session,
        "files": plan.files.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>(),
        "code": exit.code,
        "signal": exit.signal,
        "now_ms": now_ms,
        "outcome": outcome_json(&found),
        "seen": seen,
    });
    println!("{report}");
    Ok(())
}

fn start(order: &Order, plan: &TurnPlan, out: &Path, errors: &Path) -> Result<ExitStatus, Box<dyn Error>> {
    let mut command = order.command(plan, Connection::Pipes)?;
    command.stdin(Stdio::piped()).stdout(File::create(out)?).stderr(File::create(errors)?);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends without reading its prompt is one of the cases.
        let _ = stdin.write_all(plan.stdin.as_bytes());
    }
    Ok(child.wait()?)
}

/// Becomes the interface; it comes back only when that cannot be started.
fn terminal(file: &Path) -> Result<(), Box<dyn Error>> {
    let order = Order::read(File::open(file)?)?;
    let plan = order.plan(terminal_plan)?;
    Err(order.command(&plan, Connection::Terminal)?.exec().into())
}

fn hooked(event: &str, json: Option<&String>) -> Result<(), Box<dyn Error>> {
    let mut text = Vec::new();
    match json {
        Some(json) => text.extend_from_slice(json.as_bytes()),
        None => std::io::stdin().read_to_end(&mut text).map(|_| ())?,
    }
    let adapter: Adapter = std::env::var("TEST_ADAPTER")?.parse()?;
    let now_ms = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let mut said: Value = serde_json::from_slice(&text).unwrap_or_default();
    hook::add_what_shows(event, &mut said, std::os::unix::process::parent_id());
    let call = hook::hear(adapter, event, &serde_json::to_vec(&said)?, now_ms);
    let line = json!({ "event": event, "session": call.session, "seen": call.seen.map(hook_json), "raw": String::from_utf8_lossy(&text) });
    let mut log = OpenOptions::new().append(true).create(true).open(std::env::var("TEST_HOOKS")?)?;
    // In one write: several hooks may do this at the same time.
    Ok(log.write_all(format!("{line}\n").as_bytes())?)
}

fn hook_json(seen: HookSeen) -> Value {
    match seen {
        HookSeen::TurnEnded { text, background_tasks } => {
            json!({ "kind": "turn_ended", "text": text, "background_tasks": background_tasks })
        }
        HookSeen::NeedsAttention { what } => json!({ "kind": "needs_attention", "what": what }),
        HookSeen::PromptSubmitted => json!({ "kind": "prompt_submitted" }),
        HookSeen::SessionStarted { id } => json!({ "kind": "session_started", "id": id }),
        HookSeen::Limited { reason, resets_at_ms, .. } => {
            json!({ "kind": "limited", "reason": reason, "resets_at_ms": resets_at_ms })
        }
        HookSeen::Failed { reason } => json!({ "kind": "failed", "reason": reason }),
    }
}

fn again(adapter: &str, out: &str, errors: &str, code: &str, now_ms: &str) -> Result<(), Box<dyn Error>> {
    let exit = Exit { code: code.parse().ok(), signal: None };
    let found =
        outcome(adapter.parse()?, exit, &std::fs::read(out)?, &std::fs::read(errors)?, now_ms.parse()?);
    println!("{}", outcome_json(&found));
    Ok(())
}

fn outcome_json(found: &Outcome) -> Value {
    let end = match &found.end {
        TurnEnd::Final { text } => json!({ "kind": "final", "text": text }),
        TurnEnd::NoAnswer => json!({ "kind": "no_answer" }),
        TurnEnd::Failed { reason } => json!({ "kind": "failed", "reason": reason }),
        TurnEnd::Limited { reason, windows, resets_at_ms } => {
            json!({ "kind": "limited", "reason": reason, "windows": windows, "resets_at_ms": resets_at_ms })
        }
        TurnEnd::UnknownSession { reason } => json!({ "kind": "unknown_session", "reason": reason }),
    };
    let usage = found.usage.map(|usage| {
        json!({
            "input_tokens": usage.input_tokens,
            "cached_tokens": usage.cached_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cost_usd": usage.cost_usd,
            "of_session": usage.of_session,
        })
    });
    json!({ "end": end, "session": found.session, "usage": usage })
}

fn seen_json(seen: Seen) -> Value {
    match seen {
        Seen::Text(text) => json!({ "text": text }),
        Seen::Thinking(text) => json!({ "thinking": text }),
        Seen::Tool { name, detail } => json!({ "tool": name, "detail": detail }),
        Seen::Note(text) => json!({ "note": text }),
    }
}
