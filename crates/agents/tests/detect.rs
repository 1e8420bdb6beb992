//! Detecting agent CLIs with stub programs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use carillon_agents::detect::{Detected, detect, detect_within};
use carillon_agents::{Adapter, Vars};

/// For programs that never end; long enough that a good one can answer on a busy machine.
const SHORT: Duration = Duration::from_secs(3);

struct Programs {
    dir: tempfile::TempDir,
}

impl Programs {
    fn new() -> Programs {
        Programs { dir: tempfile::tempdir().expect("a temp directory") }
    }

    fn add(&self, name: &str, script: &str, mode: u32) {
        let path = self.dir.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("the mode");
    }

    fn vars(&self) -> Vars {
        let path = format!("/nowhere:{}:/usr/bin:/bin", self.dir.path().display());
        vec![
            ("PATH".into(), path.into()),
            ("HOME".into(), self.dir.path().into()),
            ("TEST_MARK".into(), self.dir.path().into()),
            ("CLAUDECODE".into(), "1".into()),
        ]
    }

    fn processes_left(&self) -> usize {
        let mark = format!("TEST_MARK={}\0", self.dir.path().display());
        let has_mark = |path: &Path| {
            std::fs::read(path.join("environ"))
                .is_ok_and(|environ| environ.windows(mark.len()).any(|window| window == mark.as_bytes()))
        };
        std::fs::read_dir("/proc").expect("/proc").flatten().filter(|entry| has_mark(&entry.path())).count()
    }
}

fn of(found: &[Detected], adapter: Adapter) -> &Detected {
    found.iter().find(|detected| detected.adapter == adapter).expect("it was found")
}

#[test]
fn each_cli_is_found_with_its_version() {
    let programs = Programs::new();
    programs.add("claude", "echo '2.1.332 (Claude Code)'", 0o755);
    programs.add("codex", "echo codex-cli 0.171.0; sleep 60 &", 0o755);
    programs.add("gemini", "echo 'Warning: 3 things, see 10.0.0.1'; cat; echo 0.61.0 >&2", 0o755);
    programs.add("opencode", "[ -z \"$CLAUDECODE\" ] && [ \"$1\" = --version ] && echo 1.18.33", 0o755);
    let found = detect(&programs.vars());
    let versions: Vec<(Adapter, Option<&str>, Option<&str>)> =
        found.iter().map(|it| (it.adapter, it.version.as_deref(), it.problem.as_deref())).collect();
    assert_eq!(
        versions,
        [
            (Adapter::Claude, Some("2.1.332"), None),
            (Adapter::Codex, Some("0.171.0"), None),
            (Adapter::Gemini, Some("0.61.0"), None),
            (Adapter::Opencode, Some("1.18.33"), None),
        ]
    );
    assert_eq!(of(&found, Adapter::Codex).program, programs.dir.path().join("codex"));
}

#[test]
fn what_is_not_installed_is_not_in_the_answer() {
    let programs = Programs::new();
    std::fs::create_dir(programs.dir.path().join("gemini")).expect("a directory");
    programs.add("codex", "echo 1.0.0", 0o755);
    let found = detect(&programs.vars());
    assert_eq!(found.iter().map(|it| it.adapter).collect::<Vec<_>>(), [Adapter::Codex]);
    assert_eq!(detect(&[]), Vec::new(), "no PATH, no programs");
}

#[test]
fn one_that_hangs_is_stopped_with_its_children_and_does_not_hold_up_the_others() {
    let programs = Programs::new();
    programs.add("claude", "trap '' TERM HUP INT; sleep 60 & sleep 60", 0o755);
    programs.add("codex", "echo 1.2.3; sleep 60", 0o755);
    programs.add("gemini", "while :; do echo noise; done", 0o755);
    programs.add("opencode", "echo 4.5.6", 0o755);
    let begun = Instant::now();
    let found = detect_within(&programs.vars(), SHORT);
    let took = begun.elapsed();
    assert!(took < SHORT + Duration::from_secs(3), "they run in parallel and within the bound: {took:?}");
    let problem = |adapter| of(&found, adapter).problem.clone().unwrap_or_default();
    assert!(problem(Adapter::Claude).contains("did not end within 3s"), "{found:?}");
    assert_eq!(of(&found, Adapter::Claude).version, None);
    assert_eq!(of(&found, Adapter::Codex).version.as_deref(), Some("1.2.3"), "it had told its version");
    assert!(problem(Adapter::Codex).contains("did not end"), "{found:?}");
    assert!(problem(Adapter::Gemini).contains("printed without end"), "{found:?}");
    assert_eq!(of(&found, Adapter::Opencode).version.as_deref(), Some("4.5.6"));
    assert_eq!(programs.processes_left(), 0, "processes were left");
}

#[test]
fn a_program_that_cannot_be_started_or_fails_is_listed_with_its_problem() {
    let programs = Programs::new();
    programs.add("claude", "echo 1.0.0", 0o644);
    programs.add("codex", "echo 'no config' >&2; exit 3", 0o755);
    std::fs::write(programs.dir.path().join("gemini"), "#!/no/such/node\n").expect("a file");
    std::fs::set_permissions(programs.dir.path().join("gemini"), PermissionsExt::from_mode(0o755))
        .expect("mode");
    programs.add("opencode", "echo hello", 0o755);
    let found = detect(&programs.vars());
    let problem = |adapter| of(&found, adapter).problem.clone().unwrap_or_default();
    assert!(problem(Adapter::Claude).contains("chmod +x"), "{found:?}");
    assert!(
        problem(Adapter::Codex).contains("exit status: 3") && problem(Adapter::Codex).contains("no config")
    );
    assert!(problem(Adapter::Gemini).contains("/no/such/node"), "{found:?}");
    assert!(problem(Adapter::Opencode).contains("printed no version"), "{found:?}");
    assert!(found.iter().all(|it| it.version.is_none()));
}
