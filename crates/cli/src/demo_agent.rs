//! `carillon demo-agent`: a small honest agent without a model, so that Carillon can be tried and
//! tested with no account. On a terminal it answers line by line; else standard input is one prompt
//! and standard output its final answer.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::process::{Command, ExitCode, Stdio};

const WELCOME: &str = "\x1b[1mdemo agent\x1b[0m, no model inside. Try:\r\n\
  \x1b[36msay TEXT\x1b[0m   says it\r\n\
  \x1b[36mrun: CMD\x1b[0m   runs a shell command here\r\n\
  \x1b[36mbye\x1b[0m        ends (so does Ctrl+D)\r\n\
anything else comes back as it is.\r\n";
const PROMPT: &str = "\x1b[33m›\x1b[0m ";

pub(crate) fn run() -> ExitCode {
    let done = if std::io::stdin().is_terminal() { on_terminal() } else { headless() };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "demo-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

fn on_terminal() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    out.write_all(WELCOME.as_bytes())?;
    loop {
        out.write_all(PROMPT.as_bytes())?;
        out.flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 || line.trim() == "bye" {
            return out.write_all(b"\r\nbye\r\n");
        }
        if !line.trim().is_empty() {
            let answer = answer(line.trim());
            writeln!(out, "{answer}")?;
        }
    }
}

fn headless() -> std::io::Result<()> {
    let mut prompt = String::new();
    std::io::stdin().lock().read_to_string(&mut prompt)?;
    let mut out = std::io::stdout();
    for line in prompt.lines().filter(|line| !line.trim().is_empty()) {
        writeln!(out, "{}", answer(line.trim()))?;
    }
    out.flush()
}

fn answer(line: &str) -> String {
    if let Some(text) = line.strip_prefix("say ") {
        return text.trim().to_owned();
    }
    if let Some(command) = line.strip_prefix("run:") {
        return run_command(command.trim());
    }
    format!("you said: {line}")
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

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn it_keeps_its_few_rules() {
        assert_eq!(answer("say hello"), "hello");
        assert_eq!(answer("what?"), "you said: what?");
        assert_eq!(answer("run: echo a; echo b >&2"), "a\nb");
        assert_eq!(answer("run: exit 3"), "(exit 3)");
    }
}
