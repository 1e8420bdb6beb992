//! One turn with an agent that speaks the Agent Client Protocol (version 1, JSON-RPC in lines).
//!
//! The prompt comes on standard input. Everything that matters comes out again on standard output as one JSON object
//! on a line, as the agent wrote it, so that the outcome can be read from the log at any time. Seven messages of the
//! protocol are enough for a turn, and what a newer agent adds must pass through unread.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use carillon_core::limits::EVENT_LINE_MAX_BYTES;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounded::poll_until;
use crate::lines::{event, text};
use crate::turn::MCP_NAME;

/// How long an agent may take to go by itself once nobody speaks to it any more, and then once more after TERM.
const PATIENCE: Duration = Duration::from_secs(2);

/// JSON-RPC: there is no such method.
const NO_METHOD: i64 = -32_601;

/// What the turn is made of, from its file.
#[derive(Deserialize)]
struct Turn {
    program: String,
    args: Vec<String>,
    resume: Option<String>,
    mcp_servers: Vec<Value>,
}

/// Why a turn ended without a result.
enum Stop {
    /// The agent answered with an error.
    Refused { during: String, error: Value },
    /// It could not be spoken to.
    Broken(String),
}

/// Runs the turn and answers the exit code.
pub(super) fn main(file: &Path) -> Result<i32, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let order = std::fs::read(file).map_err(|error| failed(&error))?;
    let turn: Turn = serde_json::from_slice(&order).map_err(|error| failed(&error))?;
    let mut prompt = String::new();
    io::stdin().read_to_string(&mut prompt).map_err(|error| format!("standard input: {error}"))?;
    let cwd = std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?;
    let mut agent = Agent::start(&turn.program, &turn.args)?;
    let result = converse(&mut agent, &turn, &cwd.to_string_lossy(), &prompt);
    let status = agent.end();
    match result {
        Ok(result) => {
            print(&json!({ "type": "end", "result": result }))?;
            Ok(0)
        }
        Err(Stop::Refused { during, error }) => {
            let (code, message) = (error.get("code"), error.get("message"));
            print(
                &json!({ "type": "error", "during": during, "code": code, "message": message, "data": error.get("data") }),
            )?;
            Ok(1)
        }
        Err(Stop::Broken(problem)) => {
            let how = status.map_or_else(String::new, |status| format!(" ({})", in_words(status)));
            Err(format!("{problem}{how}"))
        }
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

fn converse(agent: &mut Agent, turn: &Turn, cwd: &str, prompt: &str) -> Result<Value, Stop> {
    let ours = json!({
        "protocolVersion": 1,
        "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
        "clientInfo": { "name": "carillon", "title": "Carillon", "version": env!("CARGO_PKG_VERSION") },
    });
    let abilities = agent.call("initialize", ours)?;
    print(&json!({ "type": "agent", "info": abilities.get("agentInfo") })).map_err(Stop::Broken)?;
    let mut place = json!({ "cwd": cwd, "mcpServers": turn.mcp_servers });
    let session = match &turn.resume {
        None => text(&agent.call("session/new", place)?, "/sessionId").to_owned(),
        Some(id) => {
            place["sessionId"] = json!(id);
            let method = way_back(&abilities).ok_or_else(|| Stop::Refused {
                during: "session/load".to_owned(),
                error: json!({ "message": "this agent cannot go on with an earlier conversation" }),
            })?;
            agent.call(method, place)?;
            id.clone()
        }
    };
    print(&json!({ "type": "session", "id": session })).map_err(Stop::Broken)?;
    // What came before was the replay of earlier turns.
    agent.prints_updates = true;
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": prompt }] });
    agent.call("session/prompt", prompt)
}

/// How the agent goes on with a conversation: without a replay where it can.
fn way_back(abilities: &Value) -> Option<&'static str> {
    let can_resume = abilities.pointer("/agentCapabilities/sessionCapabilities/resume");
    if can_resume.is_some_and(|can| !can.is_null() && *can != Value::Bool(false)) {
        return Some("session/resume");
    }
    let can_load = abilities.pointer("/agentCapabilities/loadSession") == Some(&Value::Bool(true));
    can_load.then_some("session/load")
}

/// The agent's process.
struct Agent {
    child: Child,
    /// Lines to its standard input; a thread of its own writes them, so that two full pipes never wait for each other.
    to: Option<Sender<String>>,
    from: BufReader<ChildStdout>,
    calls: u64,
    prints_updates: bool,
    /// The uses of tools that it has told of.
    tools: HashSet<String>,
}

impl Agent {
    fn start(program: &str, args: &[String]) -> Result<Agent, String> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| format!("{program} could not be started: {error}"))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{program} has no pipes"));
        };
        let (to, lines) = channel::<String>();
        // It ends when the sender is gone or the agent no longer reads, and closes the agent's input.
        std::thread::spawn(move || lines.iter().try_for_each(|line| stdin.write_all(line.as_bytes())));
        Ok(Agent {
            child,
            to: Some(to),
            from: BufReader::new(stdout),
            calls: 0,
            prints_updates: false,
            tools: HashSet::new(),
        })
    }

    /// Calls a method and serves the agent until the answer is there.
    fn call(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let line = self
                .line()
                .map_err(|error| Stop::Broken(format!("the agent cannot be read from: {error}")))?;
            let Some(line) = line else {
                return Err(Stop::Broken(format!("the agent ended during {method}")));
            };
            let Some(mut message) = event(&line) else { continue };
            if message.get("method").is_some() {
                self.serve(&message)?;
            } else if message.get("id").and_then(Value::as_u64) == Some(id) {
                return match message.get_mut("error").map(Value::take) {
                    Some(error) => Err(Stop::Refused { during: method.to_owned(), error }),
                    None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
                };
            }
        }
    }

    /// Something that the agent says or asks by itself.
    fn serve(&mut self, message: &Value) -> Result<(), Stop> {
        let method = text(message, "/method");
        if method == "session/update" {
            return self.update(message.pointer("/params/update").unwrap_or(&Value::Null));
        }
        let Some(id) = message.get("id") else { return Ok(()) };
        if method != "session/request_permission" {
            let error = json!({ "code": NO_METHOD, "message": format!("{method} is not there") });
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            return Ok(());
        }
        let call = message.pointer("/params/toolCall").filter(|call| call.is_object());
        let call = &call.cloned().unwrap_or_else(|| json!({}));
        if !self.tools.contains(text(call, "/toolCallId")) {
            // Some agents tell of a use of a tool by asking for it, and in no other way.
            let mut told = call.clone();
            told["sessionUpdate"] = json!("tool_call");
            self.update(&told)?;
        }
        let allowed = is_our_tool(call);
        let outcome = choice(message, allowed);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } }));
        print(&json!({ "type": "permission", "title": call.get("title"), "allowed": allowed }))
            .map_err(Stop::Broken)
    }

    fn update(&mut self, update: &Value) -> Result<(), Stop> {
        if !self.prints_updates {
            return Ok(());
        }
        if text(update, "/sessionUpdate") == "tool_call" {
            self.tools.insert(text(update, "/toolCallId").to_owned());
        }
        print(&json!({ "type": "update", "update": update })).map_err(Stop::Broken)
    }

    fn send(&self, message: &Value) {
        if let Some(to) = &self.to {
            // An agent that is gone is noticed where it is read from.
            let _ = to.send(format!("{message}\n"));
        }
    }

    /// The next line; nothing at the end. A line over the bound is passed over.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let bound = u64::try_from(EVENT_LINE_MAX_BYTES).unwrap_or(u64::MAX);
        let mut is_begin = true;
        loop {
            let mut piece = Vec::new();
            if self.from.by_ref().take(bound).read_until(b'\n', &mut piece)? == 0 {
                return Ok(None);
            }
            let is_end = piece.last() == Some(&b'\n');
            if is_begin && is_end {
                return Ok(Some(piece));
            }
            is_begin = is_end;
        }
    }

    /// Says good-bye, and makes sure of it. Its descendants are the supervisor's business.
    fn end(mut self) -> Option<ExitStatus> {
        self.to = None;
        let pid = Pid::from_child(&self.child);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let Some(signal) = signal {
                let _ = rustix::process::pidfd_send_signal(&pidfd, signal);
            }
            let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
            if poll_until(&mut fds, Instant::now() + PATIENCE).is_ok_and(|count| count > 0) {
                return self.child.wait().ok();
            }
        }
        None
    }
}

/// Whether the agent asks about a tool of our own server. The title must be such a tool's name and nothing else, in
/// one of the ways in which agents write it: a command of the model's that merely mentions it is not enough.
fn is_our_tool(call: &Value) -> bool {
    let title = text(call, "/title");
    let names = [
        title.strip_prefix(&format!("mcp__{MCP_NAME}__")),
        title.strip_prefix(&format!("mcp_{MCP_NAME}_")),
        title.strip_prefix(&format!("{MCP_NAME}_")),
        title.strip_suffix(&format!(" ({MCP_NAME} MCP Server)")),
    ];
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    names.into_iter().flatten().any(is_name)
        && !matches!(text(call, "/kind"), "execute" | "edit" | "delete" | "move")
}

/// The answer to a request for permission: the mildest option of the kind, or the end of the turn where there is none.
fn choice(message: &Value, allowed: bool) -> Value {
    let wanted = if allowed { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
    let options = message.pointer("/params/options").and_then(Value::as_array);
    let option = wanted
        .iter()
        .find_map(|kind| options.into_iter().flatten().find(|option| text(option, "/kind") == *kind));
    match option {
        Some(option) => json!({ "outcome": "selected", "optionId": option.get("optionId") }),
        None => json!({ "outcome": "cancelled" }),
    }
}

fn print(event: &Value) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{event}").and_then(|()| out.flush()).map_err(|error| format!("standard output: {error}"))
}
