//! What only Linux has: GTK's dialogs, the X server's death, WebKitGTK's own signals, /proc.
//!
//! Everything that names GTK, WebKitGTK, X11 or /proc stands here, so that another system needs one file of its own. Functions that
//! touch GTK say so: they must be called on the main thread. What goes by the session bus stands in `bus`.

pub mod bus;
pub mod launch;

use gtk::gio;
use gtk::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use tauri::WebviewWindow;
use webkit2gtk::WebViewExt;

/// Whether the environment names a display at all. Cheap: nothing is connected to.
pub fn is_display_named() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Connects to the display. Main thread. Returns false when it cannot be reached.
pub fn start_toolkit() -> bool {
    gtk::init().is_ok()
}

/// Ends the process at once, without handlers that other threads of the web view could disturb.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

/// Whether the process was started with `nohup` or the like: then a hang-up must not end it.
pub fn is_hangup_ignored() -> bool {
    // SAFETY: both structures are plain data that the call fills in; a null new action only asks.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

static DISPLAY_DIED: OnceLock<fn()> = OnceLock::new();

/// Has `handler` called when the X server is gone; it must not return to X and must not touch the display.
///
/// GDK's own handler calls `_exit` at once: no event, no destructor and not even `atexit` runs. So ours replaces it, after GTK's start.
/// The function is looked up by name because GDK has loaded libX11 exactly when its X11 side is in use. A Wayland compositor's death
/// offers no such hook: there the supervisors and the next start do the work.
pub fn on_display_death(handler: fn()) {
    type Handler = unsafe extern "C" fn(*mut libc::c_void) -> libc::c_int;
    unsafe extern "C" fn died(_display: *mut libc::c_void) -> libc::c_int {
        if let Some(handler) = DISPLAY_DIED.get() {
            handler();
        }
        exit_now(1)
    }
    let _ = DISPLAY_DIED.set(handler);
    // SAFETY: the symbol, where it exists, is libX11's and has exactly this signature; the handler lives as long as the process.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"XSetIOErrorHandler".as_ptr());
        if !symbol.is_null() {
            let set: unsafe extern "C" fn(Option<Handler>) -> Option<Handler> = std::mem::transmute(symbol);
            set(Some(died));
        }
    }
}

/// Whether the desktop's own theme is dark. Main thread.
pub fn prefers_dark() -> bool {
    gtk::Settings::default().is_some_and(|settings| {
        settings.is_gtk_application_prefer_dark_theme()
            || settings.gtk_theme_name().is_some_and(|name| name.to_ascii_lowercase().ends_with("dark"))
    })
}

/// Where the user's configuration is.
pub fn config_folder() -> PathBuf {
    gtk::glib::user_config_dir()
}

/// Shows an error before there is a window, and returns when it was read. Main thread.
pub fn show_error(title: &str, text: &str) {
    let dialog = message(None, gtk::MessageType::Error, title, text);
    dialog.add_button("Close", gtk::ResponseType::Close);
    dialog.run();
    dialog.close();
}

/// Shows a message over the window and returns at once. Main thread.
pub fn tell(window: &WebviewWindow, title: &str, text: &str) {
    let dialog = message(window.gtk_window().ok().as_ref(), gtk::MessageType::Warning, title, text);
    dialog.add_button("Close", gtk::ResponseType::Close);
    dialog.connect_response(|dialog, _| dialog.close());
    dialog.show_all();
}

/// The answer to the question that [`ask_before_quitting`] puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuitAnswer {
    /// End the running agents.
    Stop,
    /// Leave them running without a window.
    Keep,
    /// Do not quit.
    Cancel,
}

/// Asks in a dialog of the system's own, for when the page cannot ask. Returns at once; `answered` hears the answer. Main thread.
pub fn ask_before_quitting(window: &WebviewWindow, text: &str, answered: impl Fn(QuitAnswer) + 'static) {
    let dialog =
        message(window.gtk_window().ok().as_ref(), gtk::MessageType::Question, "Quit Carillon?", text);
    dialog.add_button("Cancel", gtk::ResponseType::Cancel);
    dialog.add_button("Keep them running", gtk::ResponseType::No);
    dialog.add_button("Stop them and quit", gtk::ResponseType::Yes);
    dialog.set_default_response(gtk::ResponseType::Cancel);
    dialog.connect_response(move |dialog, response| {
        dialog.close();
        answered(match response {
            gtk::ResponseType::Yes => QuitAnswer::Stop,
            gtk::ResponseType::No => QuitAnswer::Keep,
            _ => QuitAnswer::Cancel,
        });
    });
    dialog.show_all();
}

fn message(
    parent: Option<&gtk::ApplicationWindow>,
    kind: gtk::MessageType,
    title: &str,
    text: &str,
) -> gtk::MessageDialog {
    let dialog =
        gtk::MessageDialog::new(parent, gtk::DialogFlags::MODAL, kind, gtk::ButtonsType::None, title);
    dialog.set_title("Carillon");
    dialog.set_secondary_text(Some(text));
    dialog
}

/// Lets the user pick a folder; `picked` hears it, or `None` when the user cancelled. Returns at once. Main thread.
pub fn pick_folder(window: &WebviewWindow, picked: impl FnOnce(Option<PathBuf>) + 'static) {
    let parent = window.gtk_window().ok();
    let chooser = gtk::FileChooserNative::new(
        Some("Open a git repository"),
        parent.as_ref(),
        gtk::FileChooserAction::SelectFolder,
        Some("Open"),
        Some("Cancel"),
    );
    let picked = std::cell::Cell::new(Some(picked));
    // The chooser is no widget that GTK keeps: this reference, dropped with the answer, is what keeps it on the screen.
    let kept = std::cell::Cell::new(Some(chooser.clone()));
    chooser.connect_response(move |chooser, response| {
        let path = (response == gtk::ResponseType::Accept).then(|| chooser.filename()).flatten();
        if let Some(picked) = picked.take() {
            picked(path);
        }
        drop(kept.take());
    });
    chooser.show();
}

/// Opens an address in the user's browser, whose environment has the variables in `changed` as they say: with a value, or not at all.
/// Main thread.
pub fn open_url(url: &str, changed: &[(&str, Option<OsString>)]) -> Result<(), String> {
    launch::outside(changed, |context| gio::AppInfo::launch_default_for_uri(url, Some(context)))
}

/// Has the window take the focus in the name of a later start, to which the desktop gave this id. Main thread.
pub fn take_startup_id(window: &WebviewWindow, id: &str) {
    if let Ok(window) = window.gtk_window() {
        window.set_startup_id(id);
    }
}

/// Takes the window off the screen before the process ends, without waiting for the event loop. Main thread.
pub fn hide_now(window: &WebviewWindow) {
    if let Ok(window) = window.gtk_window() {
        window.hide();
        if let Some(display) = gtk::gdk::Display::default() {
            display.flush();
        }
    }
}

/// Has `died` called whenever the page's process ended by itself. Tauri has such an event on macOS only. Main thread.
pub fn on_page_death(window: &WebviewWindow, died: impl Fn(&str) + Send + 'static) -> tauri::Result<()> {
    window.with_webview(move |webview| {
        webview.inner().connect_web_process_terminated(move |_, reason| died(&format!("{reason:?}")));
    })
}

/// Milliseconds since this process was started by exec, to 10 ms.
pub fn since_exec_ms() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    // The name, the second field, may hold spaces and brackets: count from the last bracket. The start is the 22nd field, in ticks.
    let started_ticks: f64 = stat.rsplit(')').next()?.split_whitespace().nth(19)?.parse().ok()?;
    let uptime_s: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    (ticks_per_s > 0.0).then(|| (uptime_s - started_ticks / ticks_per_s) * 1000.0)
}

/// Shows a notification of the desktop (freedesktop.org Notifications, version 1.2). Does not wait for an answer: a desktop without
/// such a service, or without a session bus, shows none.
pub fn notify(title: &str, body: &str) {
    use gtk::glib::{Variant, variant::ToVariant};
    let Some(bus) = bus::session() else { return };
    let hints = gtk::glib::VariantDict::new(None).end();
    let none: [&str; 0] = [];
    let message = Variant::tuple_from_iter([
        "Carillon".to_variant(),
        0u32.to_variant(),
        "".to_variant(),
        title.to_variant(),
        body.to_variant(),
        none.to_variant(),
        hints,
        (-1i32).to_variant(),
    ]);
    bus.call(
        Some("org.freedesktop.Notifications"),
        "/org/freedesktop/Notifications",
        "org.freedesktop.Notifications",
        "Notify",
        Some(&message),
        None,
        gio::DBusCallFlags::NONE,
        2_000,
        gio::Cancellable::NONE,
        |_| {},
    );
}
