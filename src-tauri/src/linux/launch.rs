//! Starting other programs of the desktop's: the browser, the file manager, the user's editor.

use std::ffi::OsString;
use std::path::Path;

use gtk::gio;
use gtk::gio::prelude::*;
use gtk::glib;

/// Has `launch` start a program, whose environment has the variables in `changed` as they say: with a value, or not at all. Main thread.
pub fn outside<T>(
    changed: &[(&str, Option<OsString>)],
    launch: impl FnOnce(&gio::AppLaunchContext) -> Result<T, glib::Error>,
) -> Result<T, String> {
    let context = gio::AppLaunchContext::new();
    for (name, value) in changed {
        match value {
            Some(value) => context.setenv(name, value),
            None => context.unsetenv(name),
        }
    }
    // A program that stood in our directory would keep an AppImage's mount busy. WebKit starts its helpers, which need that directory,
    // on this thread as well: so not now.
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    std::env::set_current_dir("/").map_err(|error| error.to_string())?;
    let launched = launch(&context).map_err(|error| error.to_string());
    std::env::set_current_dir(here).map_err(|error| error.to_string())?;
    launched
}

/// Opens a directory in the editor that `command` starts (a program, then its arguments), or without one in the program that the desktop
/// has for directories. Main thread.
pub fn directory(
    directory: &Path,
    command: Option<&[String]>,
    changed: &[(&str, Option<OsString>)],
) -> Result<(), String> {
    let file = gio::File::for_path(directory);
    let Some(command) = command else {
        return outside(changed, |context| gio::AppInfo::launch_default_for_uri(&file.uri(), Some(context)));
    };
    // A percent sign would be a place for a file in it.
    let mut line = OsString::new();
    for word in command {
        line.push(glib::shell_quote(word.replace('%', "%%")));
        line.push(" ");
    }
    outside(changed, |context| {
        let editor = gio::AppInfo::create_from_commandline(&line, None, gio::AppInfoCreateFlags::NONE)?;
        editor.launch(&[file], Some(context))
    })
}
