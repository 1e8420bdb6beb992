//! The command line of the desktop app: few enough words to be read by hand.

use std::ffi::OsString;
use std::path::PathBuf;

/// What `carillon-desktop --help` prints.
pub const USAGE: &str = "\
Usage: carillon-desktop [--demo] [REPOSITORY]

Opens the Carillon window, and REPOSITORY (a git repository) in it when one is named.

  --demo       work in a made repository with two demo agents that need no account
  --version    print the version
  --help       print this text

CARILLON_HOME moves everything that Carillon keeps. `carillon serve` is the same engine without a window.";

/// What a start was asked to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Open the window.
    Open {
        /// Whether to open the made repository with the demo agents.
        demo: bool,
        /// The repository to open, as it was typed.
        repository: Option<PathBuf>,
    },
    /// Print the version and leave.
    Version,
    /// Print the usage and leave.
    Help,
}

/// Reads the arguments after the program's name. The error is a sentence for the person who typed them.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let mut demo = false;
    let mut repository = None;
    let mut only_paths = false;
    for argument in arguments {
        match argument.to_str() {
            Some("--") if !only_paths => only_paths = true,
            Some("--demo") if !only_paths => demo = true,
            Some("--version" | "-V") if !only_paths => return Ok(Request::Version),
            Some("--help" | "-h") if !only_paths => return Ok(Request::Help),
            Some(word) if !only_paths && word.starts_with('-') => {
                return Err(format!("Carillon does not know the option {word}."));
            }
            _ if argument.is_empty() => return Err("The repository's path is empty.".to_owned()),
            _ if repository.is_some() => {
                return Err("Carillon opens one repository at a time from the command line.".to_owned());
            }
            _ => repository = Some(PathBuf::from(argument)),
        }
    }
    Ok(Request::Open { demo, repository })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Request, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn reads_what_the_usage_promises() {
        assert_eq!(read(&[]), Ok(Request::Open { demo: false, repository: None }));
        assert_eq!(read(&["--demo"]), Ok(Request::Open { demo: true, repository: None }));
        assert_eq!(read(&["a b"]), Ok(Request::Open { demo: false, repository: Some("a b".into()) }));
        assert_eq!(
            read(&["--", "--demo"]),
            Ok(Request::Open { demo: false, repository: Some("--demo".into()) })
        );
        assert_eq!(read(&["--version"]), Ok(Request::Version));
        assert_eq!(read(&["-h"]), Ok(Request::Help));
    }

    #[test]
    fn refuses_what_it_does_not_know_by_name() {
        assert!(read(&["--dmeo"]).is_err_and(|sentence| sentence.contains("--dmeo")));
        assert!(read(&["one", "two"]).is_err());
        assert!(read(&[""]).is_err());
    }
}
