//! Starting with the user's session: one entry in the desktop's autostart folder (freedesktop.org, "Desktop Application Autostart
//! Specification"), there exactly while the setting is on. The entry itself is the setting. It belongs to one data directory: that of
//! the window in which it was turned on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::appimage::AppImage;
use crate::linux;

const NAME: &str = "dev.carillon.desktop.desktop";

/// Whether Carillon starts with the session.
pub fn is_on() -> bool {
    entry().is_file()
}

/// Makes it start with the session, or not any more.
///
/// # Errors
/// What the file system says.
pub fn set(on: bool) -> io::Result<()> {
    if on {
        return write(&entry(), &own_program()?);
    }
    match fs::remove_file(entry()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Brings an entry of this data directory up to date: an AppImage is moved, and replaced by one with another name.
///
/// # Errors
/// As [`set`].
pub fn refresh() -> io::Result<()> {
    let entry = entry();
    match fs::read_to_string(&entry) {
        Ok(there)
            if is_of(&there, chosen_home().as_deref())
                && there != text(&own_program()?, chosen_home().as_deref()) =>
        {
            write(&entry, &own_program()?)
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn entry() -> PathBuf {
    linux::config_folder().join("autostart").join(NAME)
}

/// What the user starts: the AppImage itself, never a path in its mount.
fn own_program() -> io::Result<PathBuf> {
    AppImage::of_this_process().map_or_else(std::env::current_exe, |appimage| Ok(appimage.file))
}

fn write(entry: &Path, program: &Path) -> io::Result<()> {
    if let Some(folder) = entry.parent() {
        fs::create_dir_all(folder)?;
    }
    let next = entry.with_extension("next");
    fs::write(&next, text(program, chosen_home().as_deref()))?;
    fs::rename(&next, entry)
}

/// The data directory, where it is not the usual one. A session does not know what was chosen in a shell.
fn chosen_home() -> Option<String> {
    let home = std::env::var_os("CARILLON_HOME").filter(|home| !home.is_empty())?;
    Some(home.to_string_lossy().into_owned())
}

/// Whether an entry starts Carillon with this data directory.
fn is_of(entry: &str, home: Option<&str>) -> bool {
    match home {
        Some(home) => entry.contains(&quoted(&format!("CARILLON_HOME={home}"))),
        None => !entry.contains("CARILLON_HOME="),
    }
}

fn text(program: &Path, home: Option<&str>) -> String {
    let program = quoted(&program.to_string_lossy());
    let exec = match home {
        Some(home) => format!("env {} {program}", quoted(&format!("CARILLON_HOME={home}"))),
        None => program,
    };
    format!(
        "[Desktop Entry]\nType=Application\nName=Carillon\nComment=Run several coding agents on your git repositories\nExec={exec}\nIcon=dev.carillon.desktop\nTerminal=false\n"
    )
}

/// One argument of an Exec line (freedesktop.org, "Desktop Entry Specification", "The Exec key"): in quotes, where four characters
/// have a backslash; then, as in every value, each backslash doubled. A percent sign is written twice.
fn quoted(argument: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in argument.chars() {
        match letter {
            '"' | '`' | '$' => quoted.extend(["\\\\", letter.encode_utf8(&mut [0; 4])]),
            '\\' => quoted.push_str("\\\\\\\\"),
            '%' => quoted.push_str("%%"),
            '\n' => quoted.push_str("\\n"),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_one_argument_whatever_its_path_holds() {
        assert_eq!(quoted("/home/u/My Apps/Carillon.AppImage"), "\"/home/u/My Apps/Carillon.AppImage\"");
        assert_eq!(quoted("/a%b"), "\"/a%%b\"");
        assert_eq!(quoted(r#"/a"b$c`d\e"#), r#""/a\\"b\\$c\\`d\\\\e""#);
    }

    #[test]
    fn an_entry_belongs_to_one_data_directory() {
        let (usual, chosen) = (text(Path::new("/a/b"), None), text(Path::new("/a/b"), Some("/my data")));
        assert!(is_of(&usual, None) && !is_of(&usual, Some("/my data")));
        assert!(is_of(&chosen, Some("/my data")) && !is_of(&chosen, None) && !is_of(&chosen, Some("/my")));
        assert!(chosen.contains("Exec=env \"CARILLON_HOME=/my data\" \"/a/b\"\n"), "{chosen}");
    }

    #[test]
    fn the_entry_is_what_a_desktop_reads() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["Carillon-0.1.0-x86_64.AppImage", "My Apps ü", "per%cent", "do$lar \"quo`te\\"] {
            let (entry, program) = (folder.path().join("autostart").join(NAME), folder.path().join(name));
            write(&entry, &program).expect("written");
            // GLib reads it as desktops do, and unquotes its line.
            let key = gtk::glib::KeyFile::new();
            key.load_from_file(&entry, gtk::glib::KeyFileFlags::NONE).expect("a key file");
            let line = key.string("Desktop Entry", "Exec").expect("Exec");
            let words = gtk::glib::shell_parse_argv(line.as_str()).expect("a command line");
            let expected = program.to_string_lossy().replace('%', "%%");
            assert_eq!(words.last(), Some(&std::ffi::OsString::from(expected)));
        }
    }
}
