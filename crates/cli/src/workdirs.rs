//! `carillon workdirs`.

use std::process::ExitCode;

use carillon_api::ApiError;
use carillon_core::plain;
use serde_json::{Value, json};

use crate::args::Workdirs;
use crate::breaks_off::BreaksOff;
use crate::connect::Connection;
use crate::outcome::{print, text};
use crate::table;

pub(crate) fn run(command: Workdirs, json: bool) -> Result<ExitCode, ApiError> {
    match command {
        Workdirs::New { name, project, base } => {
            let run = std::env::var("CARILLON_RUN").ok();
            let request = json!({
                "name": name,
                "project": project.map_or_else(here, Ok)?,
                "base": base,
                "from_run": run,
            });
            let workdir = Connection::open()?.call("workdir_create", request)?;
            Ok(print(&workdir, json, |w| format!("{}\n", text(w, "path"))))
        }
        Workdirs::List { project } => {
            let workdirs = Connection::open()?.ask("workdirs_list", json!({"project": project}))?;
            let columns = [
                ("ID", "id"),
                ("NAME", "name"),
                ("STATE", "state"),
                ("BRANCH", "branch"),
                ("AHEAD", "ahead"),
                ("BEHIND", "behind"),
                ("DIRTY", "dirty"),
                ("PATH", "path"),
            ];
            Ok(print(&workdirs, json, |list| {
                table::rows(list, &columns, "there is no workdir; `carillon workdirs new` makes one")
            }))
        }
        Workdirs::Diff { id } => {
            let diff = Connection::open()?.ask("workdir_diff", json!({"workdir": id}))?;
            if text(&diff, "text").is_empty() && !json {
                eprintln!("nothing differs from the commit that it began from");
            }
            if diff["truncated"] == true && !json {
                eprintln!("carillon: the difference is longer than what is shown");
            }
            Ok(print(&diff, json, |diff| lines(diff["text"].as_str().unwrap_or_default())))
        }
        Workdirs::Merge { id, squash, rebase, into, keep } => {
            let how = match (squash, rebase) {
                (true, _) => "squash",
                (_, true) => "rebase",
                (false, false) => "merge",
            };
            let request = json!({"workdir": id, "how": how, "into": into, "keep": keep});
            tell(&breaking_off(&id, "workdir_merge", request)?, json, "merged")
        }
        Workdirs::Remove { id, keep } => {
            let request = json!({"workdir": id, "keep": keep});
            tell(&breaking_off(&id, "workdir_remove", request)?, json, "removed")
        }
        Workdirs::Stop { id } => {
            let stopped = Connection::open()?.call("workdir_stop", json!({"workdir": id}))?;
            let words = |stopped: &Value| match stopped["reason"].as_str() {
                Some(reason) => format!("{reason}\n"),
                None => "it stops, and nothing was changed\n".to_owned(),
            };
            print(&stopped, json, words);
            Ok(if stopped["stopped"] == true { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Workdirs::Restore { id } => {
            let back = Connection::open()?.call("workdir_restore", json!({"workdir": id}))?;
            tell(&back, json, "restored")
        }
    }
}

/// Work of git's, which an interrupt stops in the engine as well.
fn breaking_off(id: &str, method: &str, request: Value) -> Result<Value, ApiError> {
    let mut engine = Connection::open()?;
    let _breaks_off = BreaksOff::on_interrupt(engine.socket(), "workdir_stop", json!({"workdir": id}));
    engine.call(method, request)
}

/// A text of several lines, without what would move the cursor.
fn lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", plain::plain(&line.replace('\t', "    ")))).collect()
}

/// What was done, and what the user should know of it.
fn tell(workdir: &Value, json: bool, done: &str) -> Result<ExitCode, ApiError> {
    if !json {
        for note in workdir["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            eprintln!("carillon: {note}");
        }
    }
    Ok(print(workdir, json, |w| sentence(w, done)))
}

/// What became of it. Only what is gone is said to be removed.
fn sentence(workdir: &Value, done: &str) -> String {
    let name = text(workdir, "name");
    let branch = match workdir["branch"].as_str() {
        Some(_) => format!(" and its branch {}", text(workdir, "branch")),
        None => String::new(),
    };
    let stays = format!("its files in {}{branch} stay", text(workdir, "path"));
    match (workdir["state"].as_str(), done) {
        (Some("tombstoned"), _) => {
            let back = match workdir["archive_ref"].as_str() {
                Some(_) => format!("; `carillon workdirs restore {name}` brings it back"),
                None => String::new(),
            };
            format!("{done} {name} (tombstoned){back}\n")
        }
        (Some("abandoned"), _) => format!("gave {name} up; {stays}\n"),
        // One that was merged before and is kept.
        (Some("merged"), "removed") => format!("{name} was merged; {stays}\n"),
        (_, "merged") => format!("merged {name}; {stays}\n"),
        (_, done) => format!("{done} {name} ({})\n", text(workdir, "state")),
    }
}

fn here() -> Result<String, ApiError> {
    let here = std::env::current_dir()
        .map_err(|e| ApiError::failed(format!("the present directory cannot be read: {e}")))?;
    Ok(here.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_gone_is_said_to_be_removed() {
        let told = |state: &str, archive: Option<&str>, done: &str| {
            let workdir = json!({
                "name": "one", "state": state, "path": "/w/one", "branch": "carillon/one", "archive_ref": archive,
            });
            sentence(&workdir, done)
        };
        let stays = "its files in /w/one and its branch carillon/one stay\n";
        assert_eq!(told("tombstoned", None, "removed"), "removed one (tombstoned)\n");
        assert_eq!(
            told("tombstoned", Some("refs/x"), "merged"),
            "merged one (tombstoned); `carillon workdirs restore one` brings it back\n"
        );
        assert_eq!(told("abandoned", None, "removed"), format!("gave one up; {stays}"));
        assert_eq!(told("merged", None, "removed"), format!("one was merged; {stays}"));
        assert_eq!(told("merged", None, "merged"), format!("merged one; {stays}"));
        assert_eq!(told("active", None, "merged"), format!("merged one; {stays}"));
        assert_eq!(told("active", None, "restored"), "restored one (active)\n");
    }
}
