//! Opening a directory where the user works on files: in their editor, or else in the desktop's file manager.

use crate::rpc::error;
use crate::{appimage, linux, renderer, updates};
use carillon_api::wire::UserPrograms;
use carillon_api::{ApiError, App, Code};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tauri::AppHandle;

/// Editors that open a window of their own, by the names of their programs. Any other may need a terminal, so it is not started here:
/// the page gives those that it knows a pane.
const WITH_A_WINDOW: [&str; 35] = [
    "atom",
    "bluefish",
    "clion",
    "code",
    "code-insiders",
    "codium",
    "cursor",
    "fleet",
    "geany",
    "gedit",
    "gnome-builder",
    "gnome-text-editor",
    "goland",
    "gvim",
    "idea",
    "kate",
    "kdevelop",
    "kwrite",
    "lapce",
    "mousepad",
    "neovide",
    "nova",
    "phpstorm",
    "pluma",
    "pycharm",
    "rider",
    "rubymine",
    "rustrover",
    "subl",
    "vscodium",
    "webstorm",
    "windsurf",
    "xed",
    "zed",
    "zeditor",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    path: PathBuf,
    /// In the desktop's program for directories, also where the user has an editor.
    #[serde(default)]
    in_file_manager: bool,
}

/// What we have set for ourselves, and what stood there before: programs of the user's do not see it.
pub fn own_variables() -> Vec<(&'static str, Option<OsString>)> {
    let webkits = renderer::own_variables().iter().map(|name| (*name, None));
    let updaters = updates::own_variables().into_iter().map(|name| (name, None));
    webkits.chain(updaters).chain(appimage::own_variables()).collect()
}

/// Opens a directory. Answers which program was asked to: `with` is null when it is the one that the desktop has for directories.
pub async fn directory(
    handle: &AppHandle,
    app: &App,
    Directory { path, in_file_manager }: Directory,
) -> Result<Value, ApiError> {
    if !path.is_absolute() || !path.is_dir() {
        let message = format!("there is no directory {}", path.display());
        return Err(error(Code::NotFound, message, "look whether it was removed"));
    }
    let programs: UserPrograms =
        serde_json::from_value(app.rpc("user_programs", json!({})).await?).map_err(|error| {
            ApiError::failed(format!("the user's programs are told in a form that is not known: {error}"))
        })?;
    let editor = programs.editor.filter(|command| !in_file_manager && has_window(command));
    let name = editor.as_deref().and_then(name_of);
    let (send, opened) = tokio::sync::oneshot::channel();
    handle
        .run_on_main_thread(move || {
            let _ = send.send(linux::launch::directory(&path, editor.as_deref(), &own_variables()));
        })
        .map_err(|error| ApiError::failed(format!("it could not be opened: {error}")))?;
    match opened.await {
        Ok(Ok(())) => Ok(json!({ "with": name })),
        Ok(Err(why)) => Err(error(
            Code::Failed,
            format!("it could not be opened: {why}"),
            "set VISUAL to an editor with a window, or a program for folders in the desktop's settings; or copy the path",
        )),
        Err(_) => Err(ApiError::failed("Carillon is quitting")),
    }
}

/// The name of a command's program, without its directory and the ending that some installers give it.
fn name_of(command: &[String]) -> Option<String> {
    let name = Path::new(command.first()?).file_name()?.to_str()?;
    Some(name.strip_suffix(".sh").unwrap_or(name).to_owned())
}

fn has_window(command: &[String]) -> bool {
    name_of(command).is_some_and(|name| WITH_A_WINDOW.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_editors_that_are_known_to_open_a_window_are_started() {
        let command = |line: &str| line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
        for good in
            ["/usr/bin/code --wait", "/opt/idea/bin/idea.sh", "/usr/local/bin/subl -n -w", "/usr/bin/gedit"]
        {
            assert!(has_window(&command(good)), "{good}");
        }
        for bad in ["/usr/bin/vim", "/usr/bin/emacs", "/bin/sh -c code", "/usr/bin/nano"] {
            assert!(!has_window(&command(bad)), "{bad}");
        }
        assert!(!has_window(&[]));
    }

    #[test]
    fn the_known_editors_stand_in_their_order() {
        assert!(WITH_A_WINDOW.is_sorted());
    }
}
