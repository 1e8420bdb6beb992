//! A home for one run of Gemini CLI, which differs from the user's in the settings alone.
//!
//! Everything in the user's `.gemini` is linked, so that sessions, log-in and memory are the user's. The settings are
//! a copy with what the run adds. The user's own file is never written, and the home goes with the run.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::child_env;

/// The variable that moves the home of the CLI's own files.
const HOME: &str = "GEMINI_CLI_HOME";

/// The file of the home that holds the role. The CLI reads it beside its usual ones.
const ROLE_FILE: &str = "CARILLON.md";

/// The file that it reads by itself, unless the user's settings name others.
const USUAL_CONTEXT_FILE: &str = "GEMINI.md";

/// What lives in directories: a run that is the first one must not keep them to itself.
const SHARED_DIRS: [&str; 2] = ["tmp", "history"];

/// Makes the home and becomes the program. It comes back only with the reason why it could not.
pub(super) fn main(home: &Path, additions: &Path, program: &OsStr, args: &[OsString]) -> String {
    let before = std::env::var_os(HOME).filter(|home| !home.is_empty());
    let Some(users) = before.clone().or_else(|| std::env::var_os("HOME")).map(PathBuf::from) else {
        return "HOME is not set, so there are no settings of Gemini CLI to begin with".to_owned();
    };
    if let Err(problem) = make(&users, home, additions) {
        return problem;
    }
    let mut command = Command::new(program);
    command.args(args).env(HOME, home);
    // A background task that the agent starts outlives the run, and so must not be sent to the run's home.
    command.env(format!("{}{HOME}", child_env::WAS), before.unwrap_or_default());
    format!("{} could not be started: {}", Path::new(program).display(), command.exec())
}

fn make(users: &Path, home: &Path, additions: &Path) -> Result<(), String> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| format!("{path}: {error}")
    };
    let (theirs, ours) = (users.join(".gemini"), home.join(".gemini"));
    for name in SHARED_DIRS {
        let dir = theirs.join(name);
        fs::create_dir_all(&dir).map_err(failed(&dir))?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&ours).map_err(failed(&ours))?;
    link_all(&theirs, &ours, "settings.json").map_err(failed(&theirs))?;
    // Beside `.gemini` it looks for these.
    for name in [".env", ".agents"] {
        let (target, link) = (users.join(name), home.join(name));
        if target.exists() {
            link_one(&target, &link).map_err(failed(&link))?;
        }
    }
    let text = fs::read_to_string(additions).map_err(failed(additions))?;
    let additions: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", additions.display()))?;
    let file = theirs.join("settings.json");
    let settings = match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&without_comments(&text))
            .map_err(|error| format!("{}: {error}", file.display()))?,
        Err(error) if error.kind() == ErrorKind::NotFound => Value::Object(Map::new()),
        Err(error) => return Err(failed(&file)(error)),
    };
    let role = additions.get("role").and_then(Value::as_str);
    if let Some(role) = role {
        let file = ours.join(ROLE_FILE);
        write(&file, role).map_err(failed(&file))?;
    }
    let settings = with_additions(settings, &additions["settings"], role.is_some());
    let file = ours.join("settings.json");
    write(&file, &settings.to_string()).map_err(failed(&file))
}

fn link_all(theirs: &Path, ours: &Path, but: &str) -> io::Result<()> {
    for entry in fs::read_dir(theirs)? {
        let entry = entry?;
        if entry.file_name() != but {
            link_one(&entry.path(), &ours.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// A link that is there already is from an earlier try of the same run.
fn link_one(target: &Path, link: &Path) -> io::Result<()> {
    match symlink(target, link) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// They may hold keys, so nobody else may read them.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// The user's settings with what the run adds: objects are joined, lists are made longer, all else is replaced.
fn with_additions(mut settings: Value, additions: &Value, has_role: bool) -> Value {
    join(&mut settings, additions);
    // A list of the servers that may be used is the user's choice among the user's; ours is not on it.
    if let Some(Value::Array(allowed)) = settings.pointer_mut("/mcp/allowed") {
        allowed.push(json!(crate::turn::MCP_NAME));
    }
    if has_role {
        let names = match settings.pointer("/context/fileName") {
            Some(Value::String(name)) => vec![json!(name)],
            Some(Value::Array(names)) => names.clone(),
            _ => vec![json!(USUAL_CONTEXT_FILE)],
        };
        let names: Vec<Value> = names.into_iter().chain([json!(ROLE_FILE)]).collect();
        join(&mut settings, &json!({ "context": { "fileName": null } }));
        if let Some(place) = settings.pointer_mut("/context/fileName") {
            *place = Value::Array(names);
        }
    }
    settings
}

fn join(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                join(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(more)) => into.extend(more.iter().cloned()),
        (into, more) => more.clone_into(into),
    }
}

/// Some CLIs take settings with comments. They go; what stands in texts stays.
pub(crate) fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(_)) if in_text => {
                kept.push(c);
                kept.extend(chars.next());
            }
            ('"', _) => {
                in_text = !in_text;
                kept.push(c);
            }
            ('/', Some('/')) if !in_text => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) if !in_text => {
                chars.next();
                let mut before = ' ';
                for c in chars.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                kept.push(' ');
            }
            _ => kept.push(c),
        }
    }
    kept
}
