//! The supervisor as a program of its own for tests, and two programs around it that a test may kill.
//!
//! - `test-supervise supervise RUN_DIR --lease-fds N`: what `carillon supervise` is.
//! - `test-supervise launch RUNS_ROOT SPEC_FILE`: makes a run directory, launches the run with its own
//!   environment, prints `launched` and waits to be killed.
//! - `test-supervise attach RUN_DIR`: follows a run's output until it ends, printing each offset.

use carillon_supervisor::{Control, Event, LogReader, Read, RunSpec, create, launch};
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

fn main() {
    let mut args = std::env::args_os().skip(1);
    let word = args.next().unwrap_or_default();
    if word == "supervise" {
        std::process::exit(carillon_supervisor::supervise::main(args));
    }
    let args: Vec<OsString> = args.collect();
    let done = match (word.to_str(), args.as_slice()) {
        (Some("launch"), [root, spec]) => launch_run(Path::new(root), Path::new(spec)),
        (Some("attach"), [run_dir]) => attach(Path::new(run_dir)),
        _ => Err("usage: test-supervise supervise|launch|attach ...".into()),
    };
    if let Err(e) = done {
        eprintln!("test-supervise: {e}");
        std::process::exit(1);
    }
}

fn say(line: &str) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn launch_run(root: &Path, spec: &Path) -> Result<(), Box<dyn Error>> {
    let spec: RunSpec = serde_json::from_slice(&std::fs::read(spec)?)?;
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let leased = create(root, &spec.run)?;
    let launched = launch(&std::env::current_exe()?, leased, &spec, &env, vec![])?;
    say("launched")?;
    Ok(launched.reap()?)
}

fn attach(run_dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut control = Control::connect(run_dir, Duration::from_secs(10))?;
    let mut reader = LogReader::open(run_dir)?;
    let mut offset = 0;
    let mut buf = vec![0; 64 << 10];
    say("attached")?;
    loop {
        match reader.read_at(offset, &mut buf)? {
            Read::Bytes(n) => offset += n as u64,
            Read::Gap { to, .. } => offset = to,
            Read::End => {
                say(&format!("offset {offset}"))?;
                control.wait_output(offset);
                if control.next()? == Event::Closed {
                    return Ok(());
                }
            }
        }
    }
}
