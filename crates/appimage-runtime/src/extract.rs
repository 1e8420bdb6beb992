//! Writing the image's files into a directory.

use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::image::{Image, Kind, Node};

/// Blocks that one worker unpacks at a time: the one library of 90 MB must not wait for a single worker.
const BLOCKS_PER_PIECE: u64 = 32;
/// Workers are no use beyond this.
const WORKERS_MAX: usize = 8;
/// A name may be matched by a folder above it (glibc's `fnmatch.h`; the libc crate does not have it).
const FNM_LEADING_DIR: libc::c_int = 1 << 3;

/// A piece of a file that is to be written.
struct Piece {
    number: usize,
    path: PathBuf,
    file: Arc<File>,
    from: u64,
    length: u64,
}

/// Extracts into `root` what matches `pattern` (a shell pattern on paths without a leading slash; a folder's name matches what it
/// holds), or everything. What is there already is replaced; nothing is written through a link.
///
/// # Errors
/// [`Error::File`] for what could not be written, [`Error::NoMatch`], [`Error::Damaged`] when a name leads out of `root`.
pub fn extract(image: &Image, root: &Path, pattern: Option<&OsStr>) -> Result<(), Error> {
    let wanted = |node: &Node| pattern.is_none_or(|pattern| matches(pattern, &node.path));
    let mut pieces = Vec::new();
    let mut found = false;
    for (number, node) in image.nodes().iter().enumerate().filter(|(_, node)| wanted(node)) {
        found = true;
        let path = target(root, &node.path)?;
        if let Some(parent) = path.parent() {
            make_folders(root, parent)?;
        }
        match &node.kind {
            Kind::Folder(_) => make_folders(root, &path)?,
            Kind::Link(to) => {
                clear(&path)?;
                symlink(to, &path).map_err(|source| Error::file("make", &path, source))?;
            }
            Kind::File(blocks) => {
                let file = Arc::new(create(&path, node.mode)?);
                let step = image.block_size() * BLOCKS_PER_PIECE;
                let starts = (0..blocks.length.div_ceil(step)).map(|index| index * step);
                pieces.extend(starts.map(|from| Piece {
                    number,
                    path: path.clone(),
                    file: file.clone(),
                    from,
                    length: step.min(blocks.length - from),
                }));
            }
        }
    }
    match pattern {
        Some(pattern) if !found => Err(Error::NoMatch(pattern.to_string_lossy().into_owned())),
        _ => write_all(image, &pieces),
    }
}

fn matches(pattern: &OsStr, path: &Path) -> bool {
    let name = path.strip_prefix("/").unwrap_or(path).as_os_str();
    let (Ok(pattern), Ok(name)) = (CString::new(pattern.as_bytes()), CString::new(name.as_bytes())) else {
        return false;
    };
    // SAFETY: both are strings that end with a zero byte and live through the call.
    unsafe { libc::fnmatch(pattern.as_ptr(), name.as_ptr(), libc::FNM_PATHNAME | FNM_LEADING_DIR) == 0 }
}

/// The path below `root`; the image's names are not trusted to stay there.
fn target(root: &Path, path: &Path) -> Result<PathBuf, Error> {
    let mut target = root.to_owned();
    for part in path.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => target.push(name),
            Component::ParentDir | Component::Prefix(_) => {
                return Err(Error::Damaged("a name leads out of the image".to_owned()));
            }
        }
    }
    Ok(target)
}

/// Makes the folders from `root` down to `path`; an entry that is there and is no folder of its own is refused.
fn make_folders(root: &Path, path: &Path) -> Result<(), Error> {
    let below = path.strip_prefix(root).unwrap_or(Path::new(""));
    let mut folder = root.to_owned();
    let make = |folder: &Path| match std::fs::create_dir(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_folder = std::fs::symlink_metadata(folder).is_ok_and(|there| there.is_dir());
            if is_folder { Ok(()) } else { Err(Error::file("make the folder", folder, error)) }
        }
        Err(error) => Err(Error::file("make the folder", folder, error)),
    };
    make(&folder)?;
    for part in below.components() {
        folder.push(part);
        make(&folder)?;
    }
    Ok(())
}

/// Takes away what stands in the way; a folder stays and is reported by what comes next.
fn clear(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file("replace", path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn create(path: &Path, mode: u16) -> Result<File, Error> {
    clear(path)?;
    let failed = |source| Error::file("write", path, source);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.set_permissions(Permissions::from_mode(u32::from(mode))).map_err(failed)?;
    Ok(file)
}

fn write_all(image: &Image, pieces: &[Piece]) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let workers = std::thread::available_parallelism().map_or(2, |count| count.get().min(WORKERS_MAX));
    let work = || {
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            bytes.clear();
            let written = image
                .read_at(piece.number, piece.from, piece.length, &mut bytes)
                .and_then(|()| piece.file.write_all_at(&bytes, piece.from));
            if let Err(source) = written {
                // The others have nothing left to take, so that the failure is told at once.
                next.store(pieces.len(), Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Error::file(
                    "write",
                    &piece.path,
                    source,
                ));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // Without a further thread the work is done all the same.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
