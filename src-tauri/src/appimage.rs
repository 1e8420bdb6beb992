//! Running from an AppImage: where it is, and what the toolkit must be told so that it finds what the image carries.
//!
//! There is no start-up script: its variables would reach every child. Here they are set for this process alone, after the environment
//! that children begin with was read (`carillon_engine::own_env`).

use carillon_engine::own_env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The toolkit's variables with their paths in the image. Each is set only where the image has it: the thin one has none, since there
/// the system's own libraries know their places. The names are those of GLib, GTK 3 and GdkPixbuf ("Running GTK+ Applications").
const PLACES: [(&str, &str); 6] = [
    ("GSETTINGS_SCHEMA_DIR", "usr/share/glib-2.0/schemas"),
    ("GIO_MODULE_DIR", "usr/lib/gio/modules"),
    ("GTK_PATH", "usr/lib/gtk-3.0"),
    ("GTK_EXE_PREFIX", "usr"),
    ("GTK_IM_MODULE_FILE", "usr/lib/gtk-3.0/immodules.cache"),
    ("GDK_PIXBUF_MODULE_FILE", "usr/lib/gdk-pixbuf-2.0/loaders.cache"),
];
/// What tells that the image carries the toolkit.
const IS_FULL: &str = "usr/lib/webkit2gtk-4.1";
/// What the start-up program tells.
const TOLD: [&str; 4] = ["APPDIR", "APPIMAGE", "ARGV0", "OWD"];

/// The AppImage that this process runs from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppImage {
    /// Where it is mounted or extracted.
    pub folder: PathBuf,
    /// The file itself.
    pub file: PathBuf,
    /// The word that it was started with; a link to it may have another name.
    pub started_as: OsString,
}

impl AppImage {
    /// The AppImage of this process, when there is one. A terminal in somebody else's AppImage has such variables, too: only a program
    /// that stands in the image is of it.
    pub fn of_this_process() -> Option<AppImage> {
        let value = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let own = std::env::current_exe().ok()?;
        of(value("APPDIR"), value("APPIMAGE"), value("ARGV0"), &own)
    }

    /// Whether it was started by a link named `carillon`: then the command line is meant.
    pub fn is_command_line(&self) -> bool {
        Path::new(&self.started_as).file_name() == Some(OsStr::new("carillon"))
    }

    /// Whether it carries the toolkit.
    pub fn is_full(&self) -> bool {
        self.folder.join(IS_FULL).is_dir()
    }

    /// Tells the toolkit where things are. Call [`own_env`] before it.
    ///
    /// # Safety
    /// Call it before any other thread exists: it changes the environment.
    pub unsafe fn set_places(&self) {
        if !self.is_full() {
            return;
        }
        for (name, place) in PLACES {
            let place = self.folder.join(place);
            if !place.exists() {
                continue;
            }
            // SAFETY: the caller promises that there is no other thread.
            unsafe { std::env::set_var(name, place) };
        }
    }

    /// Goes to where WebKit's library, which is made for any place, looks for its helpers.
    ///
    /// # Errors
    /// What the system says.
    pub fn enter(&self) -> std::io::Result<()> {
        if self.is_full() {
            std::env::set_current_dir(self.folder.join("usr"))?;
        }
        Ok(())
    }
}

fn of(
    folder: Option<OsString>,
    file: Option<OsString>,
    started_as: Option<OsString>,
    own: &Path,
) -> Option<AppImage> {
    // The program's path is resolved; a temp directory may be a link.
    let folder = std::fs::canonicalize(folder?).ok()?;
    let found = AppImage { file: PathBuf::from(file?), started_as: started_as.unwrap_or_default(), folder };
    (found.folder.parent().is_some() && own.starts_with(&found.folder) && found.file.is_absolute())
        .then_some(found)
}

/// The variables that programs which we start for the user (a browser, say) get back as they were; `None` means that there was none.
pub fn own_variables() -> Vec<(&'static str, Option<OsString>)> {
    if AppImage::of_this_process().is_none() {
        return Vec::new();
    }
    let before =
        |name: &str| own_env().iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
    let set = PLACES.iter().map(|(name, _)| (*name, before(name)));
    set.chain(TOLD.into_iter().map(|name| (name, None))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_in_the_image_is_of_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let image = folder.path().join("image");
        std::fs::create_dir(&image).expect("a folder");
        let of = |app_dir: &Path, file: &str, own: &Path| {
            of(Some(app_dir.into()), Some(file.into()), Some("./carillon".into()), own)
        };
        let found = of(&image, "/u/Carillon.AppImage", &image.join("usr/bin/carillon-desktop"));
        let found = found.expect("it is of the image");
        assert_eq!(found.folder, std::fs::canonicalize(&image).expect("a path"));
        assert!(found.is_command_line());
        let others = folder.path().join("image-2/carillon-desktop");
        assert_eq!(of(&image, "/u/Carillon.AppImage", &others), None, "a path boundary");
        assert_eq!(of(&image, "/u/Code.AppImage", Path::new("/usr/bin/carillon-desktop")), None);
        assert_eq!(of(&folder.path().join("gone"), "/u/Carillon.AppImage", &others), None);
        assert_eq!(of(Path::new("/"), "/u/Carillon.AppImage", &others), None, "everything is under /");
    }

    #[test]
    fn only_its_name_makes_a_link_the_command_line() {
        let started_as = |word: &str| {
            AppImage { folder: "/m".into(), file: "/f".into(), started_as: word.into() }.is_command_line()
        };
        assert!(started_as("carillon") && started_as("/home/u/.local/bin/carillon"));
        assert!(
            !started_as("Carillon-0.1.0-x86_64.AppImage")
                && !started_as("")
                && !started_as("carillon-desktop")
        );
    }
}
