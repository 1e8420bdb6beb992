//! The environment of a child: what goes, what stays to the byte, and what is put in.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use carillon_agents::Vars;
use carillon_agents::child_env::{Connection, child_env, clean};

fn vars(list: &[(&str, &str)]) -> Vars {
    list.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn value<'a>(vars: &'a Vars, name: &str) -> Option<&'a str> {
    vars.iter().find(|(other, _)| other == name).map(|(_, value)| value.to_str().expect("a text"))
}

fn names(vars: &Vars) -> Vec<&str> {
    vars.iter().map(|(name, _)| name.to_str().expect("a text")).collect()
}

#[test]
fn what_was_set_for_a_program_of_ours_is_as_it_was_before() {
    let after = clean(&vars(&[
        ("APPDIR", "/tmp/.mount_Carillon-AbC"),
        ("GTK_PATH", "/tmp/.mount_Carillon-AbC/usr/lib/gtk-3.0"),
        ("CARILLON_WAS_GTK_PATH", "/opt/gtk:/home/u/gtk"),
        ("CARILLON_WAS_GIT_DIR", "/somewhere/.git"),
        ("CARILLON_WAS_", "nameless"),
        ("HOME", "/home/u"),
    ]));
    assert_eq!(value(&after, "GTK_PATH"), Some("/opt/gtk:/home/u/gtk"));
    assert_eq!(names(&after), ["HOME", "GTK_PATH"]);
}

#[test]
fn list_entries_of_the_app_image_go_on_a_path_boundary() {
    let before = vars(&[
        ("APPDIR", "/tmp/.mount_CarAbC"),
        ("PATH", "/tmp/.mount_CarAbC/usr/bin:/usr/bin:/tmp/.mount_CarAbC:/tmp/.mount_CarAbCD/bin:/bin"),
        ("LD_LIBRARY_PATH", "/tmp/.mount_CarAbC/usr/lib"),
        ("XDG_DATA_DIRS", "/tmp/.mount_CarAbC/usr/share:/usr/share:"),
        ("GTK_PATH", "/tmp/.mount_CarAbC/usr/lib/gtk:"),
        ("LD_PRELOAD", "/tmp/.mount_CarAbC/a.so /usr/lib/b.so:/tmp/.mount_CarAbC/c.so"),
        ("ANY_OTHER_LIST", "a:/tmp/.mount_CarAbC/x::b"),
    ]);
    let after = clean(&before);
    assert_eq!(value(&after, "PATH"), Some("/usr/bin:/tmp/.mount_CarAbCD/bin:/bin"));
    assert_eq!(value(&after, "LD_LIBRARY_PATH"), None, "a list without entries is no variable");
    assert_eq!(value(&after, "XDG_DATA_DIRS"), Some("/usr/share:"));
    assert_eq!(value(&after, "GTK_PATH"), None);
    assert_eq!(value(&after, "LD_PRELOAD"), Some("/usr/lib/b.so"));
    assert_eq!(value(&after, "ANY_OTHER_LIST"), Some("a::b"));
}

#[test]
fn scalars_under_the_mount_go_and_all_others_stay() {
    let before = vars(&[
        ("APPDIR", "/tmp/.mount_X/"),
        ("APPIMAGE", "/home/u/Carillon.AppImage"),
        ("ARGV0", "./Carillon.AppImage"),
        ("OWD", "/home/u"),
        ("GSETTINGS_SCHEMA_DIR", "/tmp/.mount_X/usr/share/glib-2.0/schemas"),
        ("PYTHONHOME", "/tmp/.mount_X"),
        ("NEIGHBOUR", "/tmp/.mount_Xother/lib"),
        ("MENTIONS", "see /tmp/.mount_X/usr"),
        ("LANG", "de_DE.UTF-8"),
    ]);
    assert_eq!(names(&clean(&before)), ["NEIGHBOUR", "MENTIONS", "LANG"]);
}

#[test]
fn an_app_dir_that_is_no_mount_takes_nothing_with_it() {
    for app_dir in ["/", "//", "", "relative"] {
        let after = clean(&vars(&[("APPDIR", app_dir), ("PATH", "/usr/bin:/bin"), ("HOME", "/home/u")]));
        assert_eq!(value(&after, "PATH"), Some("/usr/bin:/bin"), "APPDIR={app_dir:?}");
        assert_eq!(names(&after), ["PATH", "HOME"], "APPDIR={app_dir:?}");
    }
}

#[test]
fn markers_of_an_outer_agent_and_of_another_terminal_go() {
    let taken = [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_PID",
        "CLAUDE_EFFORT",
        "CLAUDE_PROJECT_DIR",
        "AI_AGENT",
        "AGENT",
        "CODEX_SANDBOX",
        "CODEX_THREAD_ID",
        "GEMINI_CLI",
        "GEMINI_CLI_NO_RELAUNCH",
        "GEMINI_SESSION_ID",
        "OPENCODE",
        "OPENCODE_PID",
        "OPENCODE_SERVER_PASSWORD",
        "TMUX",
        "TMUX_PANE",
        "STY",
        "LINES",
        "COLUMNS",
        "TERM_PROGRAM",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PAGER",
        "GIT_CONFIG_COUNT",
        "GIT_AUTHOR_DATE",
        "CARILLON_RUN",
        "CARILLON_SOCKET",
        "CARILLON_HOME",
        "CARILLON_SECRET",
        "CARILLON_BOOT_ID",
        "PWD",
        "OLDPWD",
    ];
    let before: Vars = taken.iter().map(|name| (name.into(), "1".into())).collect();
    assert_eq!(names(&clean(&before)), Vec::<&str>::new());
}

#[test]
fn what_the_user_chose_stays() {
    let kept = vars(&[
        ("CODEX_HOME", "/home/u/.codex-work"),
        ("CLAUDE_CONFIG_DIR", "/home/u/.claude-work"),
        ("CLAUDE_CODE_USE_BEDROCK", "1"),
        ("ANTHROPIC_API_KEY", "k"),
        ("OPENCODE_CONFIG", "/home/u/oc.json"),
        ("PAGER", "less -R"),
        ("GITHUB_TOKEN", "t"),
        ("AGENTS", "x"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("EDITOR", "vi"),
    ]);
    assert_eq!(clean(&kept), kept);
    assert_eq!(clean(&vars(&[("PAGER", "cat")])), Vars::new());
}

#[test]
fn the_webkit_work_around_goes_only_when_we_have_set_it() {
    let name = "WEBKIT_DISABLE_DMABUF_RENDERER";
    let ours = vars(&[(name, "1"), ("CARILLON_SET_WEBKIT", "1"), ("WEBKIT_FORCE_SANDBOX", "0")]);
    assert_eq!(clean(&ours), vars(&[("WEBKIT_FORCE_SANDBOX", "0")]));
    let theirs = vars(&[(name, "1")]);
    assert_eq!(clean(&theirs), theirs);
    assert_eq!(clean(&vars(&[(name, "0"), ("CARILLON_SET_WEBKIT", "0")])), vars(&[(name, "0")]));
}

#[test]
fn values_stay_to_the_byte_and_impossible_entries_go() {
    let bytes = OsString::from_vec(b"\xff\n=:".to_vec());
    let before: Vars = vec![
        ("BYTES".into(), bytes.clone()),
        ("BYTES".into(), "second".into()),
        ("".into(), "x".into()),
        ("A=B".into(), "x".into()),
        ("ZERO".into(), OsString::from_vec(b"a\0b".to_vec())),
        ("EMPTY".into(), "".into()),
    ];
    assert_eq!(clean(&before), vec![("BYTES".into(), bytes), ("EMPTY".into(), "".into())]);
}

#[test]
fn a_child_gets_its_terminal_its_temp_and_its_names() {
    let base = vars(&[("PATH", "/bin"), ("TERM", "dumb"), ("TMPDIR", "/tmp"), ("CARILLON_RUN", "outer")]);
    let run = [("CARILLON_RUN", "inner"), ("CARILLON_AGENT", "ann")];
    let child = child_env(&base, Path::new("/base/ab12cd/xyz"), &run, &[], Connection::Terminal);
    for name in ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR"] {
        assert_eq!(value(&child, name), Some("/base/ab12cd/xyz"), "{name}");
    }
    assert_eq!(value(&child, "TERM"), Some("xterm-256color"));
    assert_eq!(value(&child, "COLORTERM"), Some("truecolor"));
    assert_eq!(value(&child, "CARILLON_RUN"), Some("inner"));
    assert_eq!(value(&child, "CARILLON_AGENT"), Some("ann"));
    assert_eq!(value(&child, "GIT_TERMINAL_PROMPT"), None, "in a terminal somebody can answer");
    let mut distinct = names(&child);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), child.len(), "a name stands there twice: {child:?}");

    let piped = child_env(&base, Path::new("/t"), &run, &[], Connection::Pipes);
    assert_eq!(value(&piped, "GIT_TERMINAL_PROMPT"), Some("0"));
}

#[test]
fn the_profile_has_the_last_word_but_not_over_our_marker() {
    let profile = [
        ("TERM", "vt100"),
        ("CODEX_HOME", "/accounts/two"),
        ("GIT_AUTHOR_NAME", "Agent"),
        ("CARILLON_RUN", "forged"),
        ("BAD=NAME", "x"),
        ("ZERO", "a\0b"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let base = vars(&[("CODEX_HOME", "/home/u/.codex")]);
    let child = child_env(&base, Path::new("/t"), &[("CARILLON_RUN", "real")], &profile, Connection::Pipes);
    assert_eq!(value(&child, "TERM"), Some("vt100"));
    assert_eq!(value(&child, "CODEX_HOME"), Some("/accounts/two"));
    assert_eq!(value(&child, "GIT_AUTHOR_NAME"), Some("Agent"));
    assert_eq!(value(&child, "CARILLON_RUN"), Some("real"));
    assert!(!names(&child).iter().any(|name| *name == "BAD=NAME" || *name == "ZERO"), "{child:?}");
}

#[test]
fn a_child_always_has_a_path() {
    for base in [vars(&[]), vars(&[("APPDIR", "/m"), ("PATH", "/m/usr/bin")])] {
        let child = child_env(&base, Path::new("/t"), &[], &[], Connection::Pipes);
        assert_eq!(value(&child, "PATH"), Some("/usr/local/bin:/usr/bin:/bin"));
    }
}

#[test]
fn a_real_child_sees_exactly_that_environment() {
    let base = vars(&[("PATH", "/usr/bin:/bin"), ("MANY", "a\nb"), ("CLAUDECODE", "1")]);
    let child = child_env(&base, Path::new("/t"), &[("CARILLON_RUN", "r")], &[], Connection::Pipes);
    let output = std::process::Command::new("/usr/bin/env")
        .arg("-0")
        .env_clear()
        .envs(child.iter().map(|(name, value)| (name, value)))
        .output()
        .expect("env runs");
    let mut seen: Vec<&[u8]> =
        output.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).collect();
    let entry = |(name, value): &(OsString, OsString)| {
        [name.as_os_str(), OsStr::new("="), value].map(OsStr::as_bytes).concat()
    };
    let mut expected: Vec<Vec<u8>> = child.iter().map(entry).collect();
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected);
}
