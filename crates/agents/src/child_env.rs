//! The environment of a child: what is taken out of the one it begins with, and what is put in.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::Vars;

/// The PATH of a child when nothing is left of the one that it begins with.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The app sets this to `1` when it has set [`WEBKIT_WORKAROUND`] itself. Without it that one is the user's.
pub const WEBKIT_MARKER: &str = "CARILLON_SET_WEBKIT";

/// The work-around that the app sets for its own window on machines without a GPU.
pub const WEBKIT_WORKAROUND: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";

/// Before the name of a variable: what that one was before we set it for a program of ours.
pub const WAS: &str = "CARILLON_WAS_";

/// How a child is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// To a terminal, where somebody can answer questions.
    Terminal,
    /// To pipes, where a question would wait for ever.
    Pipes,
}

/// What begins with one of these is taken out.
const PREFIXES: [&str; 12] = [
    // Our own internals, and the marks of the run that we may be part of.
    "CARILLON_",
    // A git hook or alias that started us would send the child's git to another repository or index.
    "GIT_",
    // Markers of an outer agent.
    "CLAUDE_CODE_",
    "CODEX_",
    "GEMINI_CLI",
    "OPENCODE",
    // Another terminal's: a program would use abilities that a pane does not have.
    "TMUX_",
    "TERM_PROGRAM",
    "KITTY_",
    "ALACRITTY_",
    "WEZTERM_",
    // Handed to us by the service manager.
    "LISTEN_FD",
];

/// What has exactly one of these names is taken out.
const NAMES: [&str; 33] = [
    // Put in by the start-up program of an AppImage.
    "APPIMAGE",
    "APPDIR",
    "ARGV0",
    "OWD",
    // Markers of an outer agent.
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_EFFORT",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
    "AGENT",
    "GEMINI_SESSION_ID",
    // Another terminal's; the size above all, which a pane changes.
    "TMUX",
    "STY",
    "LINES",
    "COLUMNS",
    "TERMCAP",
    "WINDOWID",
    "VTE_VERSION",
    "KONSOLE_VERSION",
    "GNOME_TERMINAL_SCREEN",
    "GNOME_TERMINAL_SERVICE",
    // The directory and the last command of the shell that started us.
    "PWD",
    "OLDPWD",
    "_",
    // How our own window is driven and looked into.
    "TAURI_WEBVIEW_AUTOMATION",
    "WEBKIT_INSPECTOR_SERVER",
    // Handed to us by the desktop or the service manager, for us alone.
    "DESKTOP_STARTUP_ID",
    "XDG_ACTIVATION_TOKEN",
    "NOTIFY_SOCKET",
    "LISTEN_PID",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "JOURNAL_STREAM",
];

/// Choices of the user's whose names look like markers: where an agent keeps its account, which configuration
/// it reads, and whose models it uses. Without them it would ask for a log-in that the user has made.
const CHOSEN: [&str; 12] = [
    "CODEX_HOME",
    "CODEX_API_KEY",
    "GEMINI_CLI_HOME",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
];

/// Lists that are separated by spaces as well as by colons.
const SPACED_LISTS: [&str; 1] = ["LD_PRELOAD"];

/// Takes out what is not the user's: what an AppImage put in (where the app kept what was there before, that comes
/// back), markers of an outer agent and of another terminal, all `GIT_*`, our own names, and the WebKit work-around
/// when we have set it. Of two equal names the first one
/// stays, as for `getenv`; entries that no program could be given (a name that is empty or holds `=`, a zero
/// byte) go as well.
pub fn clean(vars: &[(OsString, OsString)]) -> Vars {
    let value_of =
        |name: &str| vars.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_os_str());
    let app_dir = value_of("APPDIR").and_then(mount_of_app);
    let webkit_is_ours = value_of(WEBKIT_MARKER).is_some_and(|value| value == "1");
    let mut seen = HashSet::new();
    let mut cleaned: Vars = vars
        .iter()
        .filter(|(name, value)| can_be_given(name, value) && seen.insert(name))
        .filter(|(name, value)| !is_taken_out(name, value, webkit_is_ours))
        .filter_map(|(name, value)| match app_dir {
            Some(app_dir) => Some((name.clone(), without_app_dir(name, value, app_dir)?)),
            None => Some((name.clone(), value.clone())),
        })
        .collect();
    for (name, value) in vars {
        let before = name.as_bytes().strip_prefix(WAS.as_bytes()).map(OsStr::from_bytes);
        if let Some(name) =
            before.filter(|name| can_be_given(name, value) && !is_taken_out(name, value, false))
        {
            set(&mut cleaned, name, value);
        }
    }
    cleaned
}

/// The whole environment of a child: `base` after [`clean`], a terminal's names, `temp` as its temp directory
/// under every name that is looked at, the `carillon` names as they are, and the profile's own on top. The
/// profile cannot change the `CARILLON_*` names: they are how processes are found again.
pub fn child_env(
    base: &[(OsString, OsString)],
    temp: &Path,
    carillon: &[(&str, &str)],
    profile_env: &[(String, String)],
    connection: Connection,
) -> Vars {
    let mut vars = clean(base);
    if !vars.iter().any(|(name, _)| name == "PATH") {
        set(&mut vars, "PATH".as_ref(), DEFAULT_PATH.as_ref());
    }
    set(&mut vars, "TERM".as_ref(), "xterm-256color".as_ref());
    set(&mut vars, "COLORTERM".as_ref(), "truecolor".as_ref());
    for name in ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR"] {
        set(&mut vars, name.as_ref(), temp.as_os_str());
    }
    if connection == Connection::Pipes {
        set(&mut vars, "GIT_TERMINAL_PROMPT".as_ref(), "0".as_ref());
    }
    for (name, value) in carillon {
        set(&mut vars, name.as_ref(), value.as_ref());
    }
    for (name, value) in profile_env {
        let (name, value): (&OsStr, &OsStr) = (name.as_ref(), value.as_ref());
        if can_be_given(name, value) && !name.as_bytes().starts_with(b"CARILLON_") {
            set(&mut vars, name, value);
        }
    }
    vars
}

fn set(vars: &mut Vars, name: &OsStr, value: &OsStr) {
    vars.retain(|(other, _)| other != name);
    vars.push((name.to_os_string(), value.to_os_string()));
}

/// Whether a program can be started with this entry.
fn can_be_given(name: &OsStr, value: &OsStr) -> bool {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    !name.is_empty() && !name.contains(&b'=') && !name.contains(&0) && !value.contains(&0)
}

fn is_taken_out(name: &OsStr, value: &OsStr, webkit_is_ours: bool) -> bool {
    if CHOSEN.iter().any(|chosen| name == *chosen) {
        return false;
    }
    NAMES.iter().any(|taken| name == *taken)
        || PREFIXES.iter().any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()))
        // Outer agents switch the pager off by this value; any other is the user's.
        || (name == "PAGER" && value == "cat")
        || (name == WEBKIT_WORKAROUND && webkit_is_ours)
}

/// The directory of the AppImage's mount without slashes at its end. Nothing when it names no directory that
/// could be one: with `/` every path would count as under it.
fn mount_of_app(app_dir: &OsStr) -> Option<&[u8]> {
    let mut path = app_dir.as_bytes();
    while let Some(shorter) = path.strip_suffix(b"/") {
        path = shorter;
    }
    (path.len() > 1 && path.starts_with(b"/")).then_some(path)
}

/// The value without its entries at or under the AppImage's mount; nothing when no entry is left. A single path
/// is a list of one. A value without such an entry stays as it is to the byte.
fn without_app_dir(name: &OsStr, value: &OsStr, app_dir: &[u8]) -> Option<OsString> {
    let is_spaced = SPACED_LISTS.iter().any(|list| name == *list);
    let separator = |byte: &u8| *byte == b':' || (is_spaced && *byte == b' ');
    let is_of_app = |entry: &&[u8]| {
        entry.strip_prefix(app_dir).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    let entries: Vec<&[u8]> = value.as_bytes().split(separator).collect();
    if !entries.iter().any(is_of_app) {
        return Some(value.to_os_string());
    }
    let rest: Vec<&[u8]> = entries.into_iter().filter(|entry| !is_of_app(entry)).collect();
    // Only empty entries left means that the separators belonged to what went.
    if rest.iter().all(|entry| entry.is_empty()) {
        return None;
    }
    Some(OsString::from_vec(rest.join(&b':')))
}
