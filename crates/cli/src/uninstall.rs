//! `carillon uninstall [--data]`: takes away what Carillon keeps, and says what it leaves and why.
//!
//! Without `--data` only what a start makes again goes. With it the ledger, the logs and the secrets go as well, and workdirs, their
//! branches and archives as far as they hold nothing of their own: a workdir with work that is nowhere else is in the way of all of it,
//! an archive with such work stays. Only names that Carillon gives are touched: a data directory that was chosen by hand may hold the
//! user's own files. It needs that no engine runs and no run is alive: their directories are in use.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use carillon_api::{ApiError, Code};
use carillon_core::plain::plain;
use carillon_engine::leaving::{Leaving, Stays};
use carillon_engine::{Config, Paths};
use carillon_supervisor::Observed;
use serde_json::{Value, json};

use crate::outcome::{print, text};

/// What a start makes again: the copy for AppImages, the web view's files, the window's size, version probes.
const MADE_AGAIN: [&str; 4] = ["bin", "webview", "window.json", "probe"];
/// What exists only here: one name, or the beginning of several.
const DATA: [&str; 8] =
    ["carillon.db", "carillon.sock", "lock", "runs", "secrets", "envs", "calls", "updates.json"];
/// What the name of a trash begins with.
const TRASH_PREFIX: &str = carillon_tidy::trash::TRASH_PREFIX;
/// The temp base of a data directory that was chosen by hand.
const OWN_TEMP: &str = "t";

/// What became of what.
#[derive(Default)]
struct Report {
    removed: Vec<(PathBuf, u64)>,
    kept: Vec<(PathBuf, String)>,
}

pub(crate) fn run(data: bool, json: bool) -> Result<ExitCode, ApiError> {
    let (home, home_is_chosen) = Config::default_home()
        .ok_or_else(|| ApiError::failed("you have no home directory; set HOME or CARILLON_HOME"))?;
    let mut report = Report::default();
    if home.is_dir() {
        let _alone = be_alone(&home)?;
        refuse_live_runs(&Paths::under(&home).runs)?;
        leave(&home, home_is_chosen, data, &mut report)?;
        empty_home(&home, data, &mut report);
    }
    remove_autostart(home_is_chosen.then_some(&home), &mut report);
    remove_links(&home, &mut report);
    // Temp directories of other data directories may stand in the same place: only what is empty is ours to take.
    if !home_is_chosen {
        for base in carillon_tidy::base::candidates(None) {
            remove_empty(&base, &mut report);
            // The place in the user's cache has a folder of its own.
            if let Some(above) = base.parent().filter(|above| above.ends_with("carillon")) {
                remove_empty(above, &mut report);
            }
        }
    }
    let answer = json!({
        "removed": report.removed.iter().map(|(path, bytes)| json!({"path": path, "bytes": bytes})).collect::<Vec<_>>(),
        "kept": report.kept.iter().map(|(path, reason)| json!({"path": path, "reason": reason})).collect::<Vec<_>>(),
    });
    Ok(print(&answer, json, in_words))
}

/// Holds the engine's lock, so that none can start meanwhile.
fn be_alone(home: &Path) -> Result<File, ApiError> {
    let folder = File::open(home)
        .map_err(|error| ApiError::failed(format!("{} cannot be opened: {error}", home.display())))?;
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| refused("Carillon is running", "quit it first"))?;
    Ok(folder)
}

fn refuse_live_runs(runs: &Path) -> Result<(), ApiError> {
    let is_live =
        |run: &Path| matches!(carillon_supervisor::observe(run), Ok(Observed::Alive { .. }) | Err(_));
    let live =
        std::fs::read_dir(runs).into_iter().flatten().flatten().filter(|run| is_live(&run.path())).count();
    if live == 0 {
        return Ok(());
    }
    let message = format!("{live} agents or tasks were kept running");
    Err(refused(&message, "start Carillon and quit with \"Stop them\", then try again"))
}

/// Workdirs, repositories, temp directories and processes.
fn leave(home: &Path, home_is_chosen: bool, data: bool, report: &mut Report) -> Result<(), ApiError> {
    let config = Config {
        home: home.to_owned(),
        home_is_chosen,
        carillon_binary: std::env::current_exe().unwrap_or_default(),
        from_terminal: true,
    };
    let leaving = Leaving::look(&config).map_err(|error| ApiError {
        code: Code::Failed,
        message: format!("{error}; nothing was removed"),
        hint: Some(error.hint()),
    })?;
    let in_the_way = if data { leaving.in_the_way() } else { Vec::new() };
    if !in_the_way.is_empty() {
        let all: Vec<String> =
            in_the_way.iter().map(|one| plain(&format!("{}: {}", one.place, one.why))).collect();
        return Err(refused(
            &format!("nothing was removed; there is work that is nowhere else:\n  {}", all.join("\n  ")),
            "start Carillon and merge or remove these workdirs; `carillon workdirs remove` archives first",
        ));
    }
    let taken = leaving.take(data);
    report.removed.extend(taken.removed.into_iter().map(|(place, bytes)| (PathBuf::from(place), bytes)));
    if data && home.join("workdirs").exists() {
        let all: Vec<String> =
            taken.kept.iter().map(|one| plain(&format!("{}: {}", one.place, one.why))).collect();
        return Err(refused(
            &format!("a workdir stays, and so does the ledger:\n  {}", all.join("\n  ")),
            "see to the reason and try again",
        ));
    }
    let stays = if data { Vec::new() } else { leaving.there() };
    for Stays { place, why } in taken.kept.into_iter().chain(stays) {
        keep(PathBuf::from(place), &why, report);
    }
    Ok(())
}

fn refused(message: &str, hint: &str) -> ApiError {
    ApiError { code: Code::Refused, message: message.to_owned(), hint: Some(hint.to_owned()) }
}

fn empty_home(home: &Path, data: bool, report: &mut Report) {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_data = DATA.iter().any(|ours| name == *ours || name.starts_with("carillon.db."))
            || name.starts_with("carillon.db-");
        if MADE_AGAIN.contains(&name.as_str()) || (data && is_data) {
            remove(&entry.path(), report);
        } else if name == OWN_TEMP || name.starts_with(TRASH_PREFIX) {
            // What was in it is told of by itself.
            remove_hollow(&entry.path(), report);
        } else if is_data {
            keep(entry.path(), "agents, tasks and their output; --data removes it", report);
        } else if name == "workdirs" && data {
            remove_empty(&entry.path(), report);
        } else if name == "workdirs" {
            keep(entry.path(), "workdirs; --data removes those that hold nothing of their own", report);
        } else if name == "archives" {
            keep(entry.path(), "ignored files of workdirs that were removed, such as .env", report);
        } else if name == "demo" {
            keep_or_remove_demo(&entry.path(), data, report);
        } else {
            keep(entry.path(), "Carillon does not know it", report);
        }
    }
    remove_empty(home, report);
}

/// The demo's repository is made by us, but somebody may have worked in it.
fn keep_or_remove_demo(demo: &Path, data: bool, report: &mut Report) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(name);
        }
        let output = command.arg("-C").arg(demo).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let is_untouched = git(&["status", "--porcelain", "--ignored"]).as_deref() == Some("")
        && git(&["rev-list", "--all", "--count"]).as_deref() == Some("1")
        && git(&["stash", "list"]).as_deref() == Some("");
    match (data, is_untouched) {
        (true, true) => remove(demo, report),
        (true, false) => {
            keep(demo.to_owned(), "a repository with work of its own; remove it by hand", report)
        }
        (false, _) => keep(demo.to_owned(), "the demo's repository; --data removes it", report),
    }
}

/// The entry that starts Carillon with the session, when it does so with this data directory.
fn remove_autostart(chosen_home: Option<&PathBuf>, report: &mut Report) {
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let Some(config) = config.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))
    else {
        return;
    };
    let entry = config.join("autostart/dev.carillon.desktop.desktop");
    let Ok(text) = std::fs::read_to_string(&entry) else { return };
    let is_ours = match chosen_home {
        Some(home) => text.contains(&format!("CARILLON_HOME={}\"", home.display())),
        None => !text.contains("CARILLON_HOME="),
    };
    if is_ours {
        remove(&entry, report);
    } else {
        keep(entry, "it starts Carillon with another data directory", report);
    }
}

/// A link in the user's own folder of programs that leads to our copy. One to an AppImage stays: that file stays, too.
fn remove_links(home: &Path, report: &mut Report) {
    let Some(user) = std::env::var_os("HOME").map(PathBuf::from) else { return };
    let link = user.join(".local/bin/carillon");
    match std::fs::read_link(&link) {
        Ok(to) if to.starts_with(home) => remove(&link, report),
        Ok(_) => keep(link, "it leads to a program that was not installed by Carillon itself", report),
        Err(_) => {}
    }
}

/// Removes a folder in which there are only folders.
fn remove_hollow(folder: &Path, report: &mut Report) {
    fn clear(folder: &Path) -> bool {
        let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
        // Each is tried, whatever became of the others. A link is no folder.
        let left = inside.filter(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            !(is_folder && clear(&entry.path()))
        });
        left.count() == 0 && std::fs::remove_dir(folder).is_ok()
    }
    // A directory that stays for a reason may be an empty one.
    let has_kept = report.kept.iter().any(|(path, _)| path.starts_with(folder));
    if !has_kept && clear(folder) {
        report.removed.push((folder.to_owned(), 0));
    } else {
        keep(folder.to_owned(), "something in it is in use or not ours to delete", report);
    }
}

fn remove_empty(folder: &Path, report: &mut Report) {
    if folder.is_dir() && std::fs::remove_dir(folder).is_ok() {
        report.removed.push((folder.to_owned(), 0));
    }
}

fn keep(path: PathBuf, reason: &str, report: &mut Report) {
    report.kept.push((path, reason.to_owned()));
}

fn remove(path: &Path, report: &mut Report) {
    let bytes = size_of(path);
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|of| of.is_dir());
    let removed = if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Ok(()) => report.removed.push((path.to_owned(), bytes)),
        Err(error) => keep(path.to_owned(), &format!("it cannot be removed: {error}"), report),
    }
}

/// What a tree takes on the disk, in bytes. Links are not followed.
fn size_of(path: &Path) -> u64 {
    let Ok(of) = std::fs::symlink_metadata(path) else { return 0 };
    let inside = if of.is_dir() {
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size_of(&entry.path())).sum()
    } else {
        0
    };
    of.blocks() * 512 + inside
}

fn in_words(answer: &Value) -> String {
    let list = |field: &str| answer.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut out = String::new();
    for one in list("removed") {
        out.push_str(&format!("removed  {}\n", text(&one, "path")));
    }
    for one in list("kept") {
        out.push_str(&format!("kept     {}: {}\n", text(&one, "path"), text(&one, "reason")));
    }
    out.push_str("The program itself (the AppImage, the package) is yours to remove.\n");
    out
}
