//! The login shell probe on real shells: misbehaving start-up files, bounds, and the choice of the shell.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use carillon_agents::shell_env::{Outcome, Probe, choose_shell, probe};
use carillon_agents::{Vars, find};

/// Long enough for a shell on a busy machine.
const PATIENT: Duration = Duration::from_secs(30);
/// For start-up files that never end. Long enough for a shell to reach the point where it hangs.
const SHORT: Duration = Duration::from_secs(3);

/// A home directory with an agent in `tools`, which is on the PATH only by the start-up file.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new(rc_file: &str, rc: &str) -> Home {
        let home = Home { dir: tempfile::tempdir().expect("a temp directory") };
        home.write(rc_file, rc);
        let tools = home.dir.path().join("tools");
        std::fs::create_dir(&tools).expect("a directory");
        std::fs::write(tools.join("my-agent"), "#!/bin/sh\n").expect("a file");
        std::fs::set_permissions(tools.join("my-agent"), PermissionsExt::from_mode(0o755)).expect("the mode");
        home
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).expect("a file");
    }

    /// What a program has that was started by `env -i HOME USER PATH=/usr/bin:/bin`, and a mark to find all
    /// processes of the probe by.
    fn vars(&self) -> Vars {
        let home = self.dir.path().as_os_str().to_os_string();
        vec![
            ("HOME".into(), home.clone()),
            ("USER".into(), "user".into()),
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("TEST_MARK".into(), home),
        ]
    }

    fn probe(&self, limit: Duration) -> Probe {
        probe(&self.vars(), Some(Path::new("/bin/bash")), limit)
    }

    fn finds_agent(&self, probe: &Probe) -> bool {
        find::resolve_program("my-agent", value(probe, "PATH"), Path::new("/"))
            .is_ok_and(|found| found == self.dir.path().join("tools/my-agent"))
    }

    /// The processes of the probe that are still there.
    fn left_over(&self) -> Vec<PathBuf> {
        let mark = [b"TEST_MARK=", self.dir.path().as_os_str().as_bytes()].concat();
        let has_mark = |path: &PathBuf| {
            std::fs::read(path.join("environ"))
                .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark))
        };
        let entries = std::fs::read_dir("/proc").expect("/proc");
        entries.flatten().map(|entry| entry.path()).filter(has_mark).collect()
    }
}

fn value<'a>(probe: &'a Probe, name: &str) -> &'a OsStr {
    let found = probe.vars.iter().find(|(other, _)| other == name);
    found.map_or(OsStr::new(""), |(_, value)| value)
}

fn why(probe: &Probe) -> &str {
    match &probe.outcome {
        Outcome::Probed => "",
        Outcome::FellBack { why } => why,
    }
}

const SETS_PATH: &str = "export PATH=\"$PATH:$HOME/tools\"\n";

#[test]
fn a_path_that_only_bashrc_sets_is_found() {
    let home = Home::new(".bashrc", SETS_PATH);
    let probe = home.probe(PATIENT);
    assert_eq!(probe.outcome, Outcome::Probed);
    assert!(home.finds_agent(&probe), "{:?}", value(&probe, "PATH"));
    assert_eq!(probe.shell, Path::new("/bin/bash"));
    assert_eq!(value(&probe, "SHELL"), "/bin/bash", "children must see the shell that was asked");
}

#[test]
fn a_profile_that_reads_bashrc_does_so_once() {
    let home = Home::new(".bashrc", "export COUNT=\"x$COUNT\"\n");
    home.write(".profile", "[ -n \"$BASH_VERSION\" ] && . \"$HOME/.bashrc\"\n");
    assert_eq!(value(&home.probe(PATIENT), "COUNT"), "x");
    home.write(".profile", "# this one does not read .bashrc\nexport FROM_PROFILE=1\n");
    let probe = home.probe(PATIENT);
    assert_eq!((value(&probe, "COUNT"), value(&probe, "FROM_PROFILE")), (OsStr::new("x"), OsStr::new("1")));
}

#[test]
fn noise_of_any_kind_enters_no_value() {
    let noise = "echo hello; echo WRONG=1; printf 'A=1\\0WRONG=2\\0'; head -c 100000 /dev/zero\n\
                 alias printf='echo no'; alias env='echo WRONG=3'; exec() { echo WRONG=4; builtin exec \"$@\"; }\n\
                 exec 2>&1; set -x; trap 'echo WRONG=5' DEBUG EXIT\n";
    let home = Home::new(".bashrc", &format!("{noise}{SETS_PATH}"));
    let probe = home.probe(PATIENT);
    assert_eq!(probe.outcome, Outcome::Probed);
    assert!(home.finds_agent(&probe), "{:?}", probe.vars);
    let names: Vec<&OsString> = probe.vars.iter().map(|(name, _)| name).collect();
    assert!(!names.iter().any(|name| *name == "WRONG" || *name == "A"), "{names:?}");
    assert!(names.iter().all(|name| name.as_bytes().iter().all(u8::is_ascii_graphic)), "{names:?}");
}

#[test]
fn values_with_newlines_equal_signs_and_foreign_bytes_come_through() {
    let home = Home::new(".bashrc", "export MANY=$'a\\nB=c\\n\\nd=' BYTES=$'\\xff\\xfe' EMPTY=\n");
    let probe = home.probe(PATIENT);
    assert_eq!(value(&probe, "MANY"), "a\nB=c\n\nd=");
    assert_eq!(value(&probe, "BYTES").as_bytes(), b"\xff\xfe");
    assert!(probe.vars.contains(&("EMPTY".into(), "".into())));
    assert!(!probe.vars.iter().any(|(name, _)| name == "B"));
}

#[test]
fn nothing_of_the_probe_itself_is_handed_on() {
    let home = Home::new(".bashrc", "export SEEN=$CARILLON_PROBE\n");
    let probe = home.probe(PATIENT);
    assert_eq!(value(&probe, "SEEN"), "1", "start-up files can tell the probe");
    for name in
        ["CARILLON_PROBE", "ZSH_TMUX_AUTOSTARTED", "DISABLE_AUTO_UPDATE", "_", "PWD", "OLDPWD", "SHLVL"]
    {
        assert!(!probe.vars.iter().any(|(other, _)| other == name), "{name} was handed on");
    }
}

#[test]
fn a_start_up_file_that_reads_standard_input_finds_its_end() {
    let home =
        Home::new(".bashrc", &format!("read answer; cat; read -p 'name? ' name </dev/tty\n{SETS_PATH}"));
    let probe = home.probe(PATIENT);
    assert_eq!(probe.outcome, Outcome::Probed);
    assert!(home.finds_agent(&probe));
}

#[test]
fn a_start_up_file_that_sleeps_is_cut_off_with_all_its_processes() {
    let rc = format!("{SETS_PATH}(trap '' HUP TERM INT; sleep 60) & set -m; sleep 60 & set +m; sleep 60\n");
    let home = Home::new(".bashrc", &rc);
    let begun = Instant::now();
    let probe = home.probe(SHORT);
    let took = begun.elapsed();
    assert!(why(&probe).contains("did not finish its start-up files within 3s"), "{:?}", probe.outcome);
    assert!(took < SHORT + Duration::from_secs(2), "the bound was not respected: {took:?}");
    assert_eq!(home.left_over(), Vec::<PathBuf>::new(), "processes of the probe were left");
    assert!(
        home.finds_agent(&probe),
        "what the file had set until then is used: {:?}",
        value(&probe, "PATH")
    );
    assert!(!probe.vars.iter().any(|(name, _)| name == "CARILLON_PROBE"));
}

#[test]
fn a_start_up_file_that_hangs_before_it_sets_anything_leaves_our_own_environment() {
    let home = Home::new(".bashrc", "while :; do :; done\n");
    std::fs::create_dir_all(home.dir.path().join(".local/bin")).expect("a directory");
    let probe = home.probe(SHORT);
    assert!(matches!(probe.outcome, Outcome::FellBack { .. }));
    let path = format!("/usr/bin:/bin:{}/.local/bin", home.dir.path().display());
    assert!(
        value(&probe, "PATH").to_string_lossy().starts_with(&path),
        "the usual places are added: {:?}",
        value(&probe, "PATH")
    );
    assert_eq!(value(&probe, "USER"), "user");
    assert_eq!(home.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn a_shell_that_ends_or_floods_falls_back_with_the_reason() {
    let ends = Home::new(".bashrc", "exit 7\n").probe(PATIENT);
    assert!(why(&ends).contains("exit status: 7"), "{:?}", ends.outcome);
    let home = Home::new(".bashrc", "yes\n");
    let floods = home.probe(PATIENT);
    assert!(why(&floods).contains("printed too much"), "{:?}", floods.outcome);
    assert_eq!(home.left_over(), Vec::<PathBuf>::new());
    assert_eq!(value(&floods, "PATH").as_bytes().get(..13), Some(&b"/usr/bin:/bin"[..]));
}

#[test]
fn background_jobs_of_a_start_up_file_are_neither_waited_for_nor_left() {
    let home = Home::new(".bashrc", &format!("sleep 60 &\n{SETS_PATH}"));
    let begun = Instant::now();
    let probe = home.probe(PATIENT);
    assert_eq!(probe.outcome, Outcome::Probed);
    assert!(begun.elapsed() < PATIENT, "the job holds the output open and must not be waited for");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !home.left_over().is_empty() {
        assert!(Instant::now() < deadline, "a job outlived its shell, as it would not in a terminal");
        std::thread::yield_now();
    }
}

#[test]
fn other_shells_are_asked_in_their_way() {
    let home = Home::new(".profile", SETS_PATH);
    for shell in ["/bin/dash", "/bin/sh", "/usr/bin/zsh", "/usr/bin/ksh", "/usr/bin/tcsh", "/usr/bin/fish"] {
        if !Path::new(shell).exists() {
            println!("{shell} is not installed: this part was not run");
            continue;
        }
        let probe = probe(&home.vars(), Some(Path::new(shell)), PATIENT);
        assert_eq!(probe.outcome, Outcome::Probed, "{shell}");
        assert_eq!(value(&probe, "USER"), "user", "{shell}");
        if matches!(shell, "/bin/dash" | "/bin/sh") {
            assert!(home.finds_agent(&probe), "{shell} did not read .profile");
        }
    }
}

#[test]
fn the_shell_of_the_user_database_counts_where_the_variable_says_nothing() {
    let bash = Some(Path::new("/bin/bash"));
    let choose = |variable: Option<&str>, passwd| choose_shell(variable.map(OsStr::new), passwd);
    assert_eq!(choose(None, bash), Path::new("/bin/bash"), "unset");
    assert_eq!(choose(Some(""), bash), Path::new("/bin/bash"), "empty");
    assert_eq!(choose(Some("/bin/sh"), bash), Path::new("/bin/bash"), "plain sh");
    assert_eq!(choose(Some("/no/such/zsh"), bash), Path::new("/bin/bash"), "not there");
    assert_eq!(choose(Some("bash"), Some(Path::new("/bin/dash"))), Path::new("/bin/dash"), "not a path");
    assert_eq!(choose(Some("/bin/dash"), bash), Path::new("/bin/dash"), "a choice of the user's");
    assert_eq!(choose(Some("/bin/sh"), Some(Path::new("/usr/sbin/nologin"))), Path::new("/bin/sh"));
    assert_eq!(
        choose(None, Some(Path::new("/usr/sbin/nologin"))),
        Path::new("/bin/sh"),
        "no login shell at all"
    );
    assert_eq!(choose(Some("/bin/sh"), None), Path::new("/bin/sh"));
}

#[test]
fn a_shell_that_cannot_be_started_falls_back() {
    let home = Home::new(".bashrc", "");
    let fake = home.dir.path().join("fake-shell");
    home.write("fake-shell", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&fake, PermissionsExt::from_mode(0o755)).expect("the mode");
    let probe = probe(&home.vars(), Some(&fake), PATIENT);
    assert!(why(&probe).contains("could not be started"), "{:?}", probe.outcome);
    assert!(why(&probe).contains("start from a terminal"), "a way out: {:?}", probe.outcome);
}
