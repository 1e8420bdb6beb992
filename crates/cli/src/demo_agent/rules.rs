//! What the demo agent does with a prompt: each line is one order.

use std::process::{Command, Stdio};
use std::time::Duration;

/// What comes of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The answer; it may be empty.
    Answer(String),
    /// It gave up.
    Failed(String),
}

/// Follows the lines of a prompt one by one.
pub(super) fn answer(prompt: &str) -> Said {
    let mut said: Vec<String> = Vec::new();
    for line in prompt.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(text) = line.strip_prefix("fail ") {
            return Said::Failed(text.trim().to_owned());
        }
        said.extend(follow(line));
    }
    Said::Answer(said.join("\n"))
}

fn follow(line: &str) -> Option<String> {
    if line == "silent" {
        return None;
    }
    if let Some(text) = line.strip_prefix("say ") {
        return Some(text.trim().to_owned());
    }
    if let Some(command) = line.strip_prefix("run:") {
        return Some(run_command(command.trim()));
    }
    if let Some(command) = line.strip_prefix("start:") {
        return Some(start(command.trim()));
    }
    if let Some((name, text)) = line.strip_prefix("ask ").and_then(|rest| rest.split_once(':')) {
        return Some(ask(name.trim(), text.trim()));
    }
    if let Some(seconds) = line.strip_prefix("sleep ").and_then(|text| text.trim().parse::<f64>().ok())
        && let Ok(time) = Duration::try_from_secs_f64(seconds)
    {
        std::thread::sleep(time);
        return Some(format!("slept {seconds} s"));
    }
    Some(format!("you said: {line}"))
}

fn run_command(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).output();
    match output {
        Ok(output) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stderr));
            let text = text.trim_end();
            match output.status.code() {
                Some(0) if !text.is_empty() => text.to_owned(),
                Some(code) => format!("{text}\n(exit {code})").trim_start().to_owned(),
                None => format!("{text}\n({})", output.status).trim_start().to_owned(),
            }
        }
        Err(error) => format!("the command could not be started: {error}"),
    }
}

/// Starts a background task as any agent would: by the command line, which knows from the environment
/// whose it is.
fn start(command: &str) -> String {
    match carillon(&["--json", "run", "--", "sh", "-c", command]) {
        Ok(task) => {
            let task: serde_json::Value = serde_json::from_str(&task).unwrap_or_default();
            format!("started {}", task.get("id").and_then(serde_json::Value::as_str).unwrap_or("?"))
        }
        Err(error) => format!("not started: {error}"),
    }
}

/// Asks another agent and says what it answered.
fn ask(name: &str, text: &str) -> String {
    carillon(&["ask", name, text]).unwrap_or_else(|error| format!("no answer: {error}"))
}

/// Runs our own binary; what it says on standard error is the error.
fn carillon(args: &[&str]) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_its_few_rules() {
        let said = |prompt: &str| match answer(prompt) {
            Said::Answer(text) => text,
            Said::Failed(text) => format!("failed: {text}"),
        };
        assert_eq!(said("say hello"), "hello");
        assert_eq!(said("what?"), "you said: what?");
        assert_eq!(said("run: echo a; echo b >&2"), "a\nb");
        assert_eq!(said("run: exit 3"), "(exit 3)");
        assert_eq!(said("say a\n\n  say b  \n"), "a\nb");
        assert_eq!(said("silent"), "");
        assert_eq!(said("sleep 0.001"), "slept 0.001 s");
        assert_eq!(said("sleep well"), "you said: sleep well");
        assert_eq!(said("say a\nfail no luck"), "failed: no luck");
    }
}
