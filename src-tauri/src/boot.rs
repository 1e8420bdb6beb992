//! From the command line to an open engine: where the `carillon` binary is, what a second start does, what a failed one says.

use crate::appimage::{self, AppImage};
use crate::installed::Installed;
use crate::{linux, window};
use carillon_api::{ApiError, App, Client, Config, OpenError};
use carillon_engine::Paths;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The name of the engine's binary, which stands beside ours.
const CARILLON: &str = "carillon";

/// What the start makes of the environment and the command line. The error is a sentence for the user.
pub fn configure(demo: bool, appimage: Option<&AppImage>) -> Result<(Config, Option<Installed>), String> {
    // Started from a terminal, our own environment is the user's; started from a menu, the login shell is asked for it.
    let from_terminal = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    let config =
        Config::from_environment(carillon_binary()?, from_terminal).ok_or_else(|| NO_HOME.to_owned())?;
    let installed = appimage.map(|_| install(&config.home, &config.carillon_binary)).transpose()?;
    let carillon_binary = installed.as_ref().map_or(config.carillon_binary, Installed::link);
    let on_raise: Option<Arc<dyn Fn() + Send + Sync>> = Some(Arc::new(|| window::raise("socket", None)));
    Ok((Config { demo, on_raise, carillon_binary, ..config }, installed))
}

const NO_HOME: &str = "There is no home directory to keep data in. Set HOME or CARILLON_HOME.";

fn install(home: &Path, binary: &Path) -> Result<Installed, String> {
    Installed::put(home, binary).map_err(|error| {
        let home = home.display();
        format!("The data directory {home} cannot be used: the program `carillon` could not be copied into it ({error}). Make room or give yourself the right to write there, or name another directory with CARILLON_HOME.")
    })
}

/// Becomes the command line. Comes back only with what is wrong.
///
/// An engine starts supervisors, which outlive it, so it runs from the copy in the data directory. Everything else runs where it is and
/// writes nothing of its own accord.
pub fn become_command_line(arguments: &[OsString]) -> String {
    let become_it = || -> Result<std::convert::Infallible, String> {
        let own = carillon_binary()?;
        let is_engine = arguments.iter().find(|word| !is_option(word)).is_some_and(|word| word == "serve");
        let binary = if is_engine {
            let config = Config::from_environment(own, true).ok_or(NO_HOME)?;
            install(&config.home, &config.carillon_binary)?.copy()
        } else {
            own
        };
        let mut program = std::process::Command::new(&binary);
        program.args(arguments);
        for (name, before) in appimage::own_variables() {
            match before {
                Some(before) => program.env(name, before),
                None => program.env_remove(name),
            };
        }
        Err(format!("{} cannot be started: {}.", binary.display(), program.exec()))
    };
    let Err(sentence) = become_it();
    sentence
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// Begins to open the engine on a thread of its own, so that the toolkit starts meanwhile.
///
/// When Carillon runs already, its window was raised: `repository` is handed to it and this process ends.
pub fn begin(
    config: Config,
    installed: Option<Installed>,
    repository: Option<PathBuf>,
) -> std::io::Result<JoinHandle<Result<App, String>>> {
    std::thread::Builder::new().name("boot".to_owned()).spawn(move || {
        let paths = Paths::under(&config.home);
        let name = linux::bus::name_of(&config.home, config.home_is_chosen);
        let app = App::open_or_raise(config, || linux::bus::raise(&name)).map_err(|error| match error {
            OpenError::AlreadyRunning { raised: true, .. } => second_start(&paths, repository.as_deref()),
            other => say(&other.to_string(), Some(&other.hint())),
        })?;
        if let Some(Err(error)) = installed.map(|installed| installed.settle()) {
            tracing::warn!("The copy of `carillon` in the data directory is not as it should be: {error}");
        }
        Ok(app)
    })
}

/// Nothing is open in this process, so there is nothing to close: it ends here.
fn second_start(paths: &Paths, repository: Option<&Path>) -> ! {
    println!("Carillon is running already; its window was brought to the front.");
    let handed_over = repository.map_or(Ok(()), |repository| {
        let path = absolute(repository)?;
        let add = |mut client: Client| client.call("project_add", json!({ "path": path }));
        Client::connect(&paths.socket).and_then(add).map(drop).map_err(|error| say_error(&error))
    });
    match handed_over {
        Ok(()) => linux::exit_now(0),
        Err(sentence) => {
            eprintln!("{sentence}");
            linux::exit_now(1)
        }
    }
}

/// The `carillon` binary beside our own.
fn carillon_binary() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("The path of Carillon's own program could not be read: {error}."))?;
    let binary = own.with_file_name(CARILLON);
    if binary.is_file() {
        return Ok(binary);
    }
    Err(format!(
        "The program {} is missing. It belongs beside {}; build it with `cargo build -p carillon-cli`, or install Carillon again.",
        binary.display(),
        own.display()
    ))
}

/// What happened and the way out, as sentences: errors are phrases that begin in lower case.
fn say(message: &str, hint: Option<&str>) -> String {
    let sentence = |phrase: &str| {
        let phrase = phrase.trim();
        let mut letters = phrase.chars();
        let first: String = letters.next().map(char::to_uppercase).into_iter().flatten().collect();
        let end = if phrase.ends_with(['.', '!', '?']) { "" } else { "." };
        format!("{first}{}{end}", letters.as_str())
    };
    match hint.map(str::trim).filter(|hint| !hint.is_empty()) {
        Some(hint) => format!("{}\n{}", sentence(message), sentence(hint)),
        None => sentence(message),
    }
}

fn say_error(error: &ApiError) -> String {
    say(&error.message, error.hint.as_deref())
}

/// A path of the command line as the engine wants it.
fn absolute(path: &Path) -> Result<String, String> {
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}.", path.display()))?;
    path.into_os_string()
        .into_string()
        .map_err(|path| format!("The path {} is not valid UTF-8.", path.display()))
}

/// Opens a repository that was named on the command line, and answers its project's id. The error is a sentence for the user.
pub fn open_repository(app: &App, repository: &Path) -> Result<Option<String>, String> {
    let path = absolute(repository)?;
    let project = tauri::async_runtime::block_on(app.rpc("project_add", json!({ "path": path })))
        .map_err(|error| say_error(&error))?;
    Ok(project["id"].as_str().map(str::to_owned))
}

/// The user's theme: "system", "light" or "dark".
pub fn theme(app: &App) -> String {
    let settings = tauri::async_runtime::block_on(app.rpc("settings_get", json!({})));
    settings
        .ok()
        .and_then(|settings| settings["theme"].as_str().map(str::to_owned))
        .unwrap_or_else(|| "system".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_becomes_sentences_with_the_way_out() {
        assert_eq!(say("the disk is full", Some("free some space")), "The disk is full.\nFree some space.");
        assert_eq!(say("`x` is gone.", None), "`x` is gone.");
        assert_eq!(say("ärger", Some(" ")), "Ärger.");
    }
}
