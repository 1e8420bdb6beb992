//! The image as a file system of FUSE, without libfuse: mounted by the system call where we may, else by `fusermount3`.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen,
    Request,
};

use crate::error::Error;
use crate::image::{Image, Kind, Node};

/// Nothing in the image ever changes, so the system may remember what it was told.
const LASTING: Duration = Duration::from_secs(86_400);
/// More would only wait for each other.
const THREADS: usize = 2;
/// Programs that mount and unmount for users without the right to.
const FUSERMOUNT: [&str; 2] = ["fusermount3", "fusermount"];

/// Mounts the image on an empty directory.
///
/// # Errors
/// [`Error::Mount`] with the reason.
pub fn mount(image: Image, on: &Path, name: &str) -> Result<BackgroundSession, Error> {
    if !Path::new("/dev/fuse").exists() {
        return Err(Error::Mount("there is no /dev/fuse".to_owned()));
    }
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::DefaultPermissions,
        MountOption::FSName(name.to_owned()),
        MountOption::Subtype("appimage".to_owned()),
    ];
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    fuser::spawn_mount(Tree::of(image), on, &config)
        .map_err(|error| Error::Mount(error.to_string().trim().to_owned()))
}

/// Takes a mount off the tree at once. Processes that still use it go on; the image is let go when the last has ended.
pub fn detach(from: &Path) {
    let Ok(path) = CString::new(from.as_os_str().as_bytes()) else { return };
    // SAFETY: the path ends with a zero byte and lives through the call.
    if unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) } == 0 {
        return;
    }
    for program in FUSERMOUNT {
        let mut command = Command::new(program);
        command.args(["-u", "-z", "--"]).arg(from);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().is_ok_and(|status| status.success()) {
            return;
        }
    }
}

/// The image with what FUSE wants to know of each entry.
struct Tree {
    image: Image,
    owner: (u32, u32),
}

impl Tree {
    fn of(image: Image) -> Tree {
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Tree { image, owner }
    }

    /// FUSE counts from 1, which is the root.
    fn node(&self, inode: INodeNo) -> Option<(usize, &Node)> {
        let number = usize::try_from(inode.0).ok()?.checked_sub(1)?;
        Some((number, self.image.nodes().get(number)?))
    }

    fn attributes(&self, number: usize, node: &Node) -> FileAttr {
        let size = match &node.kind {
            Kind::Folder(_) => 0,
            Kind::Link(to) => to.as_os_str().len() as u64,
            Kind::File(blocks) => blocks.length,
        };
        let time = UNIX_EPOCH + Duration::from_secs(u64::from(node.modified_s));
        FileAttr {
            ino: inode(number),
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: kind(node),
            perm: node.mode,
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

fn inode(number: usize) -> INodeNo {
    INodeNo(number as u64 + 1)
}

fn kind(node: &Node) -> FileType {
    match node.kind {
        Kind::Folder(_) => FileType::Directory,
        Kind::Link(_) => FileType::Symlink,
        Kind::File(_) => FileType::RegularFile,
    }
}

impl Filesystem for Tree {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let child = self.node(parent).and_then(|(parent, _)| self.image.child(parent, name.to_os_string()));
        match child.and_then(|number| self.node(inode(number))) {
            Some((number, node)) => reply.entry(&LASTING, &self.attributes(number, node), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.node(of) {
            Some((number, node)) => reply.attr(&LASTING, &self.attributes(number, node)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readlink(&self, _: &Request, of: INodeNo, reply: ReplyData) {
        match self.node(of) {
            Some((_, Node { kind: Kind::Link(to), .. })) => reply.data(to.as_os_str().as_bytes()),
            Some(_) => reply.error(Errno::EINVAL),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn read(
        &self,
        _: &Request,
        of: INodeNo,
        _: FileHandle,
        from: u64,
        length: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut bytes = Vec::with_capacity(length as usize);
        let read = self
            .node(of)
            .ok_or(std::io::ErrorKind::NotFound.into())
            .and_then(|(number, _)| self.image.read_at(number, from, u64::from(length), &mut bytes));
        match read {
            Ok(()) => reply.data(&bytes),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn readdir(&self, _: &Request, of: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        let Some((_, Node { kind: Kind::Folder(entries), .. })) = self.node(of) else {
            return reply.error(Errno::ENOTDIR);
        };
        let first = usize::try_from(from).unwrap_or(usize::MAX);
        for (index, (name, number)) in entries.iter().enumerate().skip(first) {
            let Some((_, node)) = self.node(inode(*number)) else { continue };
            if reply.add(inode(*number), index as u64 + 1, kind(node), name) {
                break;
            }
        }
        reply.ok();
    }
}
