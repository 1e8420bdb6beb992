//! The window's one door to the engine, and the few methods that only a desktop has.

use crate::updates::{self, Updates};
use crate::{autostart, exit, linux, open, window};
use carillon_api::{ApiError, App, Code};
use carillon_engine::AtExit;
use serde::Deserialize;
use serde_json::{Value, json};
use tauri::{AppHandle, Manager, State, Url};

pub fn error(code: Code, message: String, hint: &str) -> ApiError {
    ApiError { code, message, hint: Some(hint.to_owned()) }
}

/// Calls one method of the engine, or one of the desktop's own.
#[tauri::command(rename_all = "snake_case")]
pub async fn rpc(
    handle: AppHandle,
    app: State<'_, App>,
    method: String,
    params: Option<Value>,
) -> Result<Value, ApiError> {
    let params = params.unwrap_or_else(|| json!({}));
    match method.as_str() {
        "desktop_quit" => quit(&app, read(params)?).await,
        "desktop_pick_folder" => pick_folder(&handle).await,
        "desktop_open_url" => open_url(&handle, &read::<OpenUrl>(params)?.url).await,
        "desktop_open_directory" => open::directory(&handle, &app, read(params)?).await,
        "desktop_close" => close(&handle),
        "desktop_notify" => notify(&handle, read(params)?),
        "desktop_autostart" => Ok(json!({ "on": autostart::is_on() })),
        "desktop_set_autostart" => set_autostart(&read(params)?),
        "desktop_updates" => updates_told(&handle),
        "desktop_set_updates" => {
            handle.state::<Updates>().set(&read(params)?)?;
            updates_told(&handle)
        }
        "desktop_check_updates" => {
            updates::check(&handle).await?;
            updates_told(&handle)
        }
        "desktop_install_update" => {
            updates::install(&handle).await?;
            updates_told(&handle)
        }
        _ => app.rpc(&method, params).await,
    }
}

fn read<T: for<'de> Deserialize<'de>>(params: Value) -> Result<T, ApiError> {
    serde_json::from_value(params)
        .map_err(|error| ApiError::invalid(format!("the call's parameters are wrong: {error}")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Quit {
    choice: Choice,
    #[serde(default)]
    remember: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Stop,
    Keep,
}

/// The user answered the question at the close button.
async fn quit(app: &App, quit: Quit) -> Result<Value, ApiError> {
    let (word, choice) = match quit.choice {
        Choice::Stop => ("stop", AtExit::Stop),
        Choice::Keep => ("keep", AtExit::Keep),
    };
    if quit.remember {
        app.rpc("settings_set", json!({ "patch": { "at_exit": word } })).await?;
    }
    exit::leave(0, Some(choice));
    Ok(json!({}))
}

/// Lets the user pick a folder in a dialog of the system's own.
async fn pick_folder(handle: &AppHandle) -> Result<Value, ApiError> {
    let (send, picked) = tokio::sync::oneshot::channel();
    let on_main = handle.clone();
    handle
        .run_on_main_thread(move || {
            if let Some(window) = window::main_window(&on_main) {
                linux::pick_folder(&window, move |path| {
                    let _ = send.send(path);
                });
            }
        })
        .map_err(|error| ApiError::failed(format!("the folder dialog could not be opened: {error}")))?;
    // Nobody answers when the window is on its way out: then nothing was picked.
    let path = picked.await.unwrap_or(None);
    match path.map(|path| path.into_os_string().into_string()).transpose() {
        Ok(path) => Ok(json!({ "path": path })),
        Err(path) => Err(error(
            Code::Invalid,
            format!("the folder's path is not valid UTF-8: {}", path.display()),
            "rename the folder, or open it by a link with a plain name",
        )),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenUrl {
    url: String,
}

/// Opens a link of a terminal or a text in the user's browser. Only the web: a link must not be able to start anything else.
async fn open_url(handle: &AppHandle, text: &str) -> Result<Value, ApiError> {
    let url = web_address(text).ok_or_else(|| {
        let message = "Carillon opens only http and https addresses".to_owned();
        error(Code::Refused, message, "copy the address and open it by hand")
    })?;
    let (send, opened) = tokio::sync::oneshot::channel();
    handle
        .run_on_main_thread(move || {
            let _ = send.send(linux::open_url(url.as_str(), &open::own_variables()));
        })
        .map_err(|error| ApiError::failed(format!("the browser could not be opened: {error}")))?;
    match opened.await {
        Ok(Ok(())) => Ok(json!({})),
        Ok(Err(why)) => Err(error(
            Code::Failed,
            format!("the browser could not be opened: {why}"),
            "copy the address and open it by hand, or set a default browser",
        )),
        Err(_) => Err(ApiError::failed("Carillon is quitting")),
    }
}

/// Closes the window as its close button does: with the question, where there is one to put.
fn close(handle: &AppHandle) -> Result<Value, ApiError> {
    let closing = handle.clone();
    let closed = handle.run_on_main_thread(move || {
        if let Some(Err(error)) = window::main_window(&closing).map(|window| window.close()) {
            tracing::error!("The window could not be closed: {error}");
        }
    });
    closed.map_err(|error| ApiError::failed(format!("the window could not be closed: {error}")))?;
    Ok(json!({}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Autostart {
    on: bool,
}

/// Has Carillon start with the user's session, or not any more.
fn set_autostart(wanted: &Autostart) -> Result<Value, ApiError> {
    autostart::set(wanted.on).map_err(|why| {
        let message = format!("the desktop's autostart folder could not be changed: {why}");
        error(Code::Failed, message, "look whether you may write to ~/.config/autostart")
    })?;
    Ok(json!({ "on": autostart::is_on() }))
}

/// What is set and known about updates.
fn updates_told(handle: &AppHandle) -> Result<Value, ApiError> {
    serde_json::to_value(handle.state::<Updates>().told())
        .map_err(|error| ApiError::failed(format!("what is known of updates cannot be told: {error}")))
}

#[derive(Deserialize)]
struct Notify {
    title: String,
    body: String,
}

/// Tells the user beside the window. A desktop without notifications is no error: the window says it as well.
fn notify(handle: &AppHandle, notify: Notify) -> Result<Value, ApiError> {
    handle
        .run_on_main_thread(move || linux::notify(&notify.title, &notify.body))
        .map_err(|error| ApiError::failed(format!("the desktop could not be told: {error}")))?;
    Ok(json!({}))
}

fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_is_opened() {
        for good in ["https://example.org/a?b#c", "http://127.0.0.1:8080/", "HTTPS://EXAMPLE.ORG"] {
            assert!(web_address(good).is_some(), "{good}");
        }
        for bad in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "vscode://x",
            "example.org",
            "",
            "--help",
            "mailto:a@b.c",
        ] {
            assert!(web_address(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_quit_without_a_choice_is_refused() {
        assert!(read::<Quit>(json!({ "choice": "keep" })).is_ok_and(|quit| !quit.remember));
        assert!(
            read::<Quit>(json!({ "remember": true })).is_err_and(|failure| failure.code == Code::Invalid)
        );
        assert!(read::<Quit>(json!({ "choice": "kill" })).is_err());
    }
}
