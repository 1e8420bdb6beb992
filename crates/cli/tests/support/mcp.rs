//! `carillon mcp` with its two pipes in the hands of a test.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{CARILLON, PATIENCE, wait};

/// A server and everything that it has said and nobody has read yet.
pub struct Mcp {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    aside: Vec<Value>,
    next_id: u64,
}

impl Mcp {
    /// Starts a server and shakes hands in this revision of the protocol.
    pub fn start(socket: &Path, args: &[&str]) -> Self {
        let mut mcp = Self::silent(socket, args);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = mcp.request("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        mcp.notify("notifications/initialized", json!({}));
        mcp
    }

    /// Starts a server and says nothing.
    pub fn silent(socket: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(CARILLON);
        command.env_clear().arg("mcp").arg("--socket").arg(socket).args(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("carillon mcp");
        let (said, lines) = channel();
        let out = child.stdout.take().expect("its output");
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, aside: Vec::new(), next_id: 1 }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Another hand on the input, for somebody who writes a whole line at once.
    pub fn another_input(&self) -> std::fs::File {
        use std::os::fd::AsFd;
        let input = self.input.as_ref().expect("an open input");
        input.as_fd().try_clone_to_owned().expect("a copy").into()
    }

    pub fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an open input");
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).expect("it reads");
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    /// The id that the next request will have.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Begins a call of a tool that wants to hear of its progress; the token is the id.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let token = self.next_id;
        self.send(
            "tools/call",
            json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}}),
        )
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send("tools/call", json!({"name": tool, "arguments": arguments}));
        self.answer(id)
    }

    /// The response to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        self.expect(&format!("the answer to {id}"), |message| message["id"] == id)
    }

    /// A note of progress on a call.
    pub fn progress(&mut self, id: u64) -> Value {
        let is_note = |message: &Value| {
            message["method"] == "notifications/progress" && message["params"]["progressToken"] == id
        };
        self.expect(&format!("a note on {id}"), is_note)["params"].clone()
    }

    /// The first message of a kind; the others stay for later.
    pub fn expect(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&is_it) {
            return self.aside.remove(at);
        }
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{what}: {e}"));
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("{what}: {e}: {line:?}"));
            if is_it(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// Everything that comes within a while.
    pub fn rest(&mut self, within: Duration) -> Vec<Value> {
        while let Ok(line) = self.lines.recv_timeout(within) {
            self.aside.push(serde_json::from_str(&line).expect("a message"));
        }
        std::mem::take(&mut self.aside)
    }

    /// Closes the input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Closes the input and waits for the end.
    pub fn end(mut self) -> ExitStatus {
        self.input = None;
        wait(&mut self.child)
    }

    /// Waits for the end.
    pub fn ended(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    /// Memory that the server has in use, in bytes: a field of /proc/PID/status, like `VmRSS`.
    pub fn memory(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("its status");
        let line = status.lines().find(|line| line.starts_with(field)).expect("the field");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The structured content of a tool's result, which stands in its text as well.
pub fn content(answer: &Value) -> Value {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"));
    let text: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {answer}"));
    assert_eq!(result["structuredContent"], text, "the same twice");
    text
}

/// The text of a tool's error.
pub fn error(answer: &Value) -> String {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {answer}"))
        .to_owned()
}
