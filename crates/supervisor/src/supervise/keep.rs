//! Shared daemons of the user's that a program happened to start, and that are left alone.

use crate::linux::process::{self, Process};

/// The names on the keep list.
#[derive(Debug)]
pub(super) struct KeepList(Vec<String>);

impl KeepList {
    pub(super) fn new(names: &[String]) -> KeepList {
        KeepList(names.iter().filter(|n| !n.is_empty()).cloned().collect())
    }

    /// Of a tree in which every parent stands before its children, the processes to leave alone:
    /// daemons on the list, and everything below them. A process is a daemon when it has left the
    /// session of the run's program; the same program in the foreground is ended like any other.
    pub(super) fn kept(&self, tree: &[Process], run_session: u32) -> Vec<Process> {
        let mut kept: Vec<Process> = Vec::new();
        if self.0.is_empty() {
            return kept;
        }
        for process in tree {
            let below = kept.iter().any(|k| k.pid == process.parent);
            if below || (process.session != run_session && self.names(process.pid)) {
                kept.push(*process);
            }
        }
        kept
    }

    fn names(&self, pid: u32) -> bool {
        let arguments = process::arguments(pid);
        let titles = titles(&process::name(pid), &arguments);
        let class = java_daemon(&arguments);
        self.0.iter().any(|name| {
            titles.contains(name) || class.is_some_and(|c| c.split('.').any(|part| part == name.as_str()))
        })
    }
}

/// What a process may be called: its short name, its program, and either without what daemons like
/// to append ("tmux: server", "bazel(project)").
fn titles(name: &str, arguments: &[String]) -> Vec<String> {
    let program = arguments
        .first()
        .and_then(|a| a.split_whitespace().next())
        .and_then(|a| a.rsplit('/').next())
        .unwrap_or_default();
    let mut titles = Vec::new();
    for title in [name, program] {
        titles.push(title.to_owned());
        titles.extend(title.split([':', '(', ' ']).next().map(str::to_owned));
    }
    titles
}

/// The main class of a Java program, if it calls itself a daemon: Java hides every program behind the
/// same name.
fn java_daemon(arguments: &[String]) -> Option<&str> {
    let (program, rest) = arguments.split_first()?;
    if program.rsplit('/').next() != Some("java") {
        return None;
    }
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-cp" | "-classpath" | "--class-path" | "-p" | "--module-path" => {
                rest.next();
            }
            option if option.starts_with('-') => {}
            class => return class.contains("Daemon").then_some(class),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn daemons_are_known_under_the_names_they_give_themselves() {
        let has = |name, line, wanted: &str| titles(name, &words(line)).iter().any(|t| t == wanted);
        assert!(has("gpg-agent", "/usr/bin/gpg-agent --daemon", "gpg-agent"));
        assert!(has("tmux: server", "tmux new -d", "tmux"));
        assert!(has("java", "bazel(carillon) -Xmx1g", "bazel"));
        assert!(!has("sleep", "sleep tmux", "tmux"));
        assert!(!has("", "", "tmux"));
    }

    #[test]
    fn a_java_daemon_is_told_from_a_java_client() {
        let daemon =
            words("/jvm/bin/java -Xmx1g -cp x.jar org.gradle.launcher.daemon.bootstrap.GradleDaemon 8");
        assert!(java_daemon(&daemon).is_some_and(|c| c.split('.').any(|p| p == "gradle")));
        let client = words("java -classpath x.jar org.gradle.wrapper.GradleWrapperMain build");
        assert_eq!(java_daemon(&client), None);
        assert_eq!(java_daemon(&words("sh org.gradle.Daemon")), None);
    }
}
