//! What an AppImage can be asked for by its first argument. The names are those that all AppImages of type 2 know
//! (AppImageSpec, "type 2"; `--appimage-help` of AppImageKit's own runtime).

use std::ffi::{OsStr, OsString};

use crate::error::Error;

/// What `--appimage-help` prints.
pub const HELP: &str = "\
This is an AppImage: one file that runs without being installed. Its own options, as the first argument:

  --appimage-extract [PATTERN]    unpack it, or what matches PATTERN, into squashfs-root
  --appimage-extract-and-run      unpack it for this run instead of mounting it
  --appimage-mount                mount it, print where, and wait to be ended
  --appimage-offset               print where its image begins, in bytes
  --appimage-signature            print its embedded signature (it has none)
  --appimage-updateinformation    print its embedded update information (it has none)
  --appimage-version              print the version of this start-up program
  --appimage-help                 print this text

Everything else goes to the program inside. Variables: APPIMAGE_EXTRACT_AND_RUN=1 does what the option does,
TMPDIR says where to mount or unpack, NO_CLEANUP=1 keeps what was unpacked for a run.";

/// What this AppImage was asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Start the program inside with these arguments.
    Run(Vec<OsString>),
    /// The same, extracted.
    ExtractAndRun(Vec<OsString>),
    /// Unpack what matches, or everything.
    Extract(Option<OsString>),
    /// Mount and wait.
    Mount,
    /// Print where the image begins.
    Offset,
    /// Print the version.
    Version,
    /// Print the embedded signature.
    Signature,
    /// Print the embedded update information.
    UpdateInformation,
    /// Print the options.
    Help,
}

/// Reads the arguments after the program's name. `extract_and_run` is the value of `APPIMAGE_EXTRACT_AND_RUN`.
///
/// # Errors
/// [`Error::UnknownOption`] when the first argument begins like one of ours and is none: a typing mistake must not start the program.
pub fn read(mut args: Vec<OsString>, extract_and_run: Option<&OsStr>) -> Result<Request, Error> {
    let option = args.first().map(|first| first.to_string_lossy().into_owned());
    let Some(option) = option.filter(|first| first.starts_with("--appimage-")) else {
        let is_extracted = extract_and_run.is_some_and(|value| !value.is_empty() && value != "0");
        return Ok(if is_extracted { Request::ExtractAndRun(args) } else { Request::Run(args) });
    };
    args.remove(0);
    Ok(match option.as_str() {
        "--appimage-extract" => Request::Extract(args.into_iter().next()),
        "--appimage-extract-and-run" => Request::ExtractAndRun(args),
        "--appimage-mount" => Request::Mount,
        "--appimage-offset" => Request::Offset,
        "--appimage-version" => Request::Version,
        "--appimage-signature" => Request::Signature,
        "--appimage-updateinformation" | "--appimage-updateinfo" => Request::UpdateInformation,
        "--appimage-help" => Request::Help,
        _ => return Err(Error::UnknownOption(option)),
    })
}
