//! The environment of the user's login shell: what a program that was started from the desktop does not have.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD};

use crate::bounded::{self, Pause};
use crate::{Vars, child_env, linux, passwd};

/// How long the probe may take at start-up.
pub const LIMIT: Duration = Duration::from_secs(5);

/// How much a shell may print during the probe, noise and environment together, in bytes.
const OUTPUT_MAX: usize = 8 * 1024 * 1024;

/// Variables that a shell sets for itself, and that mean nothing to the next process.
const OF_THE_SHELL: [&str; 4] = ["_", "SHLVL", "PWD", "OLDPWD"];

/// What keeps start-up files from asking, updating or starting a multiplexer, and tells them about the probe.
const HUSH: [(&str, &str); 4] = [
    ("CARILLON_PROBE", "1"),
    ("DISABLE_AUTO_UPDATE", "true"),
    ("ZSH_TMUX_AUTOSTART", "false"),
    ("ZSH_TMUX_AUTOSTARTED", "true"),
];

/// Where programs of the user's usually are, below the home directory. They are added to the PATH only when the
/// shell could not be asked.
const USUAL_DIRS: [&str; 12] = [
    ".local/bin",
    "bin",
    ".npm-global/bin",
    ".cargo/bin",
    ".bun/bin",
    ".deno/bin",
    ".opencode/bin",
    ".claude/local",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".local/share/pnpm",
];

/// What came out of asking the login shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The environment to start children from.
    pub vars: Vars,
    /// The shell that was asked.
    pub shell: PathBuf,
    /// Whether it answered.
    pub outcome: Outcome,
}

/// Whether the login shell answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The environment is the shell's.
    Probed,
    /// The environment is our own, completed as far as possible.
    FellBack {
        /// Why, as a sentence for the user.
        why: String,
    },
}

/// Asks the user's login shell for its environment, in at most `limit` ([`LIMIT`] at start-up). It begins with
/// `own`, the environment that we were started with, without what is only ours.
pub fn login_shell_env(own: &Vars, limit: Duration) -> Probe {
    let mut vars = child_env::clean(own);
    let account = passwd::account();
    let passwd_shell = account.as_ref().map(|account| account.shell.clone());
    // Started by a service or with a bare environment, even these may be missing, and start-up files need them.
    if let Some(account) = account {
        let known = [
            ("HOME", account.home.into_os_string()),
            ("USER", account.name.clone().into()),
            ("LOGNAME", account.name.into()),
        ];
        for (name, value) in known {
            if get(&vars, name).is_none_or(OsStr::is_empty) && !value.is_empty() {
                set(&mut vars, name, value);
            }
        }
    }
    probe(&vars, passwd_shell.as_deref(), limit)
}

/// Asks the login shell that `vars` and the user database name (`passwd_shell`), beginning with `vars`.
pub fn probe(vars: &Vars, passwd_shell: Option<&Path>, limit: Duration) -> Probe {
    let shell = choose_shell(get(vars, "SHELL"), passwd_shell);
    let mut begun = vars.clone();
    set(&mut begun, "SHELL", shell.clone().into_os_string());
    match ask(&shell, &begun, limit) {
        Ok(found) => Probe { vars: found, shell, outcome: Outcome::Probed },
        Err(Unanswered { why, reached }) => {
            let mut found = reached.unwrap_or(begun);
            add_usual_dirs(&mut found);
            Probe { vars: found, shell, outcome: Outcome::FellBack { why } }
        }
    }
}

/// The shell to ask: `shell_var` (the value of SHELL), unless it is unset, cannot be run or is a plain `sh`
/// while the user database names another one.
pub fn choose_shell(shell_var: Option<&OsStr>, passwd_shell: Option<&Path>) -> PathBuf {
    let usable = |shell: &&Path| {
        let refuses = matches!(shell_name(shell).as_str(), "nologin" | "false" | "true" | "");
        let may_run = rustix::fs::accessat(CWD, *shell, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
        shell.is_absolute() && !refuses && may_run
    };
    let of_variable = shell_var.map(Path::new).filter(usable);
    let of_database = passwd_shell.filter(usable);
    let chosen = match of_variable {
        Some(shell) if shell_name(shell) != "sh" => Some(shell),
        Some(_) | None => of_database.or(of_variable),
    };
    chosen.unwrap_or(Path::new("/bin/sh")).to_path_buf()
}

fn shell_name(shell: &Path) -> String {
    shell.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The shell gave no environment.
struct Unanswered {
    why: String,
    /// The environment that its start-up files had reached, where that can be told.
    reached: Option<Vars>,
}

fn ask(shell: &Path, vars: &Vars, limit: Duration) -> Result<Vars, Unanswered> {
    let unanswered = |why: String, reached| {
        let why = format!(
            "The login shell {} {why}. Programs that only its start-up files put on the PATH may not be found; \
             start from a terminal, or correct the start-up files.",
            shell.display()
        );
        Unanswered { why, reached }
    };
    let until = Instant::now() + limit;
    let marks = Marks::random();
    let mut command = shell_command(shell, vars, &marks);
    let mut running = bounded::start(&mut command, false)
        .map_err(|error| unanswered(format!("could not be started ({error})"), None))?;
    let pause = running
        .read(until, OUTPUT_MAX)
        .map_err(|error| unanswered(format!("could not be read from ({error})"), None))?;
    match pause {
        Pause::Ended => {}
        Pause::TimeUp => {
            let reached = linux::youngest_environment(running.session()).map(|found| tidy_up(found, vars));
            running.kill();
            return Err(unanswered(format!("did not finish its start-up files within {limit:?}"), reached));
        }
        Pause::TooMuch => {
            running.kill();
            return Err(unanswered("printed too much".to_owned(), None));
        }
    }
    let found = marks.find(&running.output).map(linux::parse_environment);
    let status = running.hang_up();
    match found {
        Some(found) if !found.is_empty() => Ok(tidy_up(found, vars)),
        Some(_) | None => {
            let how = status.map_or_else(|| "an unknown status".to_owned(), |status| status.to_string());
            Err(unanswered(format!("ended ({how}) without giving its environment"), None))
        }
    }
}

/// Takes out what the shell and the probe have set for themselves.
fn tidy_up(found: Vars, begun: &Vars) -> Vars {
    let is_ours = |name: &OsStr, value: &OsStr| {
        OF_THE_SHELL.iter().any(|own| name == *own)
            || HUSH
                .iter()
                .any(|(hush, set)| name == *hush && value == *set && get(begun, hush) != Some(value))
    };
    found.into_iter().filter(|(name, value)| !is_ours(name, value)).collect()
}

/// Two texts that no noise contains. Each stands in the script in two halves, so that a shell that prints the
/// commands it runs (`set -x`) does not print a whole one.
struct Marks {
    halves: [String; 2],
}

impl Marks {
    fn random() -> Marks {
        // Every hasher of the standard library begins with random numbers of the system.
        let half = || format!("{:016x}", RandomState::new().build_hasher().finish());
        Marks { halves: [half(), half()] }
    }

    /// Prints the environment between the marks, by a plain shell without aliases, functions or options.
    fn script(&self) -> String {
        let [a, b] = &self.halves;
        format!("exec /bin/sh -c 'printf \"%s%s\" {a} {b}; /usr/bin/env -0 && printf \"%s%s\" {b} {a}'")
    }

    fn find<'a>(&self, output: &'a [u8]) -> Option<&'a [u8]> {
        let [a, b] = &self.halves;
        let begin = format!("{a}{b}");
        let end = format!("{b}{a}");
        let after = position(output, begin.as_bytes())? + begin.len();
        let rest = output.get(after..)?;
        rest.get(..position(rest, end.as_bytes())?)
    }
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn shell_command(shell: &Path, vars: &Vars, marks: &Marks) -> Command {
    let name = shell_name(shell);
    let mut command = Command::new(shell);
    let mut script = marks.script();
    if name == "bash" && !login_files_read_bashrc(vars) {
        // What people see in a terminal is their .bashrc, which a login shell reads only if it is told to.
        script = format!("[ -r ~/.bashrc ] && . ~/.bashrc; {script}");
    }
    if matches!(name.as_str(), "csh" | "tcsh") {
        // These take -l only alone; a dash before their name says the same.
        command.arg0(format!("-{name}")).args(["-i", "-c"]);
    } else {
        command.args(["-l", "-i", "-c"]);
    }
    command.arg(script).env_clear().envs(vars.iter().map(|(name, value)| (name, value))).envs(HUSH);
    let home = get(vars, "HOME").map(Path::new).filter(|home| home.is_dir());
    command.current_dir(home.unwrap_or(Path::new("/")));
    command
}

/// Whether the file that a bash login shell reads (the first one that is there) reads .bashrc in turn.
fn login_files_read_bashrc(vars: &Vars) -> bool {
    let Some(home) = get(vars, "HOME").map(Path::new) else { return false };
    let text = [".bash_profile", ".bash_login", ".profile"]
        .iter()
        .find_map(|file| std::fs::read(home.join(file)).ok())
        .unwrap_or_default();
    text.split(|byte| *byte == b'\n')
        .any(|line| !line.trim_ascii_start().starts_with(b"#") && position(line, b"bashrc").is_some())
}

/// Adds the usual directories that are there to the end of the PATH.
fn add_usual_dirs(vars: &mut Vars) {
    let path = get(vars, "PATH").map(OsStr::to_os_string).filter(|path| !path.is_empty());
    let mut path = path.unwrap_or_else(|| child_env::DEFAULT_PATH.into());
    let home = get(vars, "HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let of_home = USUAL_DIRS.iter().filter_map(|dir| Some(home.as_ref()?.join(dir)));
    for dir in of_home.chain(["/usr/local/bin".into(), "/snap/bin".into()]) {
        let is_there = path.as_bytes().split(|byte| *byte == b':').any(|on| on == dir.as_os_str().as_bytes());
        if dir.is_dir() && !is_there {
            path.push(":");
            path.push(dir);
        }
    }
    set(vars, "PATH", path);
}

/// The value of a variable.
fn get<'a>(vars: &'a Vars, name: &str) -> Option<&'a OsStr> {
    vars.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_os_str())
}

fn set(vars: &mut Vars, name: &str, value: OsString) {
    vars.retain(|(other, _)| other != name);
    vars.push((name.into(), value));
}
