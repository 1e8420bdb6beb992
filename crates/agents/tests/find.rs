//! Finding programs on a real file system.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use carillon_agents::find::{FindError, resolve_program};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::tempdir().expect("a temp directory") }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn file(&self, path: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("the mode");
        path
    }

    fn path_of(&self, dirs: &[&str]) -> OsString {
        std::env::join_paths(dirs.iter().map(|dir| self.at(dir))).expect("a PATH")
    }

    fn resolve(&self, program: &str, path_var: &OsStr) -> Result<PathBuf, FindError> {
        resolve_program(program, path_var, self.dir.path())
    }
}

#[test]
fn the_first_executable_on_the_path_counts() {
    let place = Place::new();
    place.file("a/tool", "", 0o644);
    let second = place.file("b/tool", "#!/bin/sh\n", 0o755);
    place.file("c/tool", "#!/bin/sh\n", 0o755);
    assert_eq!(place.resolve("tool", &place.path_of(&["missing", "a", "b", "c"])).expect("found"), second);
}

#[test]
fn empty_and_relative_entries_and_relative_paths_are_meant_from_the_directory() {
    let place = Place::new();
    let here = place.file("here", "#!/bin/sh\n", 0o755);
    let sub = place.file("sub/tool", "#!/bin/sh\n", 0o755);
    assert_eq!(place.resolve("here", OsStr::new("/nowhere:")).expect("an empty entry"), here);
    assert_eq!(place.resolve("tool", OsStr::new("sub")).expect("a relative entry"), sub);
    assert_eq!(place.resolve("sub/tool", OsStr::new("")).expect("a relative path"), sub);
    let absolute = sub.to_str().expect("a text");
    assert_eq!(place.resolve(absolute, OsStr::new("")).expect("an absolute path"), sub);
}

#[test]
fn a_link_to_a_program_is_a_program_and_a_dangling_one_is_not_there() {
    let place = Place::new();
    place.file("real", "#!/bin/sh\n", 0o755);
    symlink(place.at("real"), place.at("link")).expect("a link");
    symlink(place.at("nothing"), place.at("dangling")).expect("a link");
    assert_eq!(place.resolve("./link", OsStr::new("")).expect("found"), place.at("./link"));
    assert!(matches!(place.resolve("./dangling", OsStr::new("")), Err(FindError::NotFound { .. })));
}

/// Each text names the program, the reason and a way out.
fn assert_says(error: FindError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[test]
fn each_error_names_the_program_the_reason_and_a_way_out() {
    let place = Place::new();
    let plain = place.file("bin/plain", "text", 0o644);
    let plain = plain.to_str().expect("a text");
    std::fs::create_dir(place.at("bin/folder")).expect("a directory");
    place.file("bin/script", "#! /no/such/node --flag\n", 0o755);
    let path_var = place.path_of(&["bin"]);
    let fail = |program: &str| place.resolve(program, &path_var).expect_err("it cannot be started");

    assert!(matches!(fail("nothing"), FindError::NotOnPath { .. }));
    assert_says(fail("nothing"), &["nothing", path_var.to_str().expect("a text"), "install it"]);
    assert!(matches!(fail("bin/nothing"), FindError::NotFound { .. }));
    assert_says(fail("bin/nothing"), &["bin/nothing was not found", "check the path"]);
    assert!(matches!(fail("bin/plain/x"), FindError::NotFound { .. }), "a file where a directory is needed");
    assert!(matches!(fail("plain"), FindError::NotExecutable { .. }));
    assert_says(fail("plain"), &["plain cannot be started", &format!("chmod +x '{plain}'")]);
    assert!(matches!(fail("folder"), FindError::IsDirectory { .. }));
    assert_says(fail("./bin/folder"), &["is a directory", "give the path"]);
    assert!(matches!(fail("script"), FindError::NoInterpreter { .. }));
    assert_says(fail("script"), &["script cannot be started", "/no/such/node", "install that"]);
    assert!(matches!(fail(""), FindError::Empty));
    assert!(matches!(fail("/dev/null"), FindError::NotExecutable { .. }), "a device is no program");
}

#[test]
fn a_directory_of_the_same_name_does_not_hide_a_program_further_on() {
    let place = Place::new();
    std::fs::create_dir_all(place.at("a/tool")).expect("directories");
    let tool = place.file("b/tool", "", 0o755);
    assert_eq!(place.resolve("tool", &place.path_of(&["a", "b"])).expect("found"), tool);
}

#[test]
fn the_usual_interpreters_are_there() {
    let place = Place::new();
    for line in ["#!/bin/sh", "#!  /usr/bin/env node", "#!relative", "no script", ""] {
        place.file("tool", &format!("{line}\n"), 0o755);
        assert!(place.resolve("./tool", OsStr::new("")).is_ok(), "{line:?}");
    }
    assert!(resolve_program("sh", OsStr::new("/usr/bin:/bin"), Path::new("/")).is_ok());
}
