//! The squashfs image behind this program in the same file: its entries, and reading at any offset.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use backhand::{FilesystemReader, InnerNode, SquashfsFileReader};

use crate::error::Error;

/// The first bytes of a squashfs image.
const MAGIC: &[u8; 4] = b"hsqs";
/// The largest block that squashfs knows, in bytes.
const BLOCK_MAX: u64 = 1 << 20;
/// The largest piece that a file's length is believed to be, in bytes: far beyond any program, far below what breaks arithmetic.
const FILE_MAX: u64 = 1 << 40;
/// Blocks that are kept unpacked. Readers of one file take turns with readers of others; the system caches what was read.
const BLOCKS_KEPT: usize = 32;

/// Where the image begins, in bytes from the file's beginning: behind the last byte of the ELF program.
///
/// # Errors
/// [`Error::File`] when it cannot be read, [`Error::Damaged`] when it is no 64-bit little-endian ELF file or ends before its image.
pub fn offset(path: &Path) -> Result<u64, Error> {
    let file = File::open(path).map_err(|source| Error::file("open", path, source))?;
    let length = file.metadata().map_err(|source| Error::file("read", path, source))?.len();
    let end = elf_end(&file).map_err(|source| Error::file("read", path, source))?;
    match end {
        Some(end) if end < length => Ok(end),
        Some(_) => Err(Error::Damaged("it ends before its image".to_owned())),
        None => Err(Error::Damaged("it does not begin with a program".to_owned())),
    }
}

/// The end of the section headers or of the last segment, whichever is later (System V ABI, "ELF header" and "Program header").
fn elf_end(file: &File) -> io::Result<Option<u64>> {
    let mut header = [0u8; 64];
    file.read_exact_at(&mut header, 0)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(None);
    }
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let sections_end = long(0x28).checked_add(short(0x3a) * short(0x3c));
    let (segments_at, segment_size, segments) = (long(0x20), short(0x36), short(0x38));
    let mut end = sections_end;
    for index in 0..segments {
        let mut segment = [0u8; 56];
        let Some(at) = segments_at.checked_add(index * segment_size) else { return Ok(None) };
        file.read_exact_at(&mut segment, at)?;
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| segment[at + i]));
        end = end.zip(long(0x08).checked_add(long(0x20))).map(|(end, other)| end.max(other));
    }
    Ok(end)
}

/// What an entry is.
pub enum Kind {
    /// A directory, with the names and numbers of its entries.
    Folder(Vec<(OsString, usize)>),
    /// A link to that path.
    Link(PathBuf),
    /// A file.
    File(Blocks),
}

/// Where a file's bytes stand.
pub struct Blocks {
    reader: SquashfsFileReader,
    /// Where each block begins, from the image's beginning.
    starts: Vec<u64>,
    /// The length of the whole file, in bytes.
    pub length: u64,
}

/// One entry of the image.
pub struct Node {
    /// Its path, which begins with `/`.
    pub path: PathBuf,
    /// Its permission bits.
    pub mode: u16,
    /// When it was last changed, in seconds since 1970.
    pub modified_s: u32,
    /// What it is.
    pub kind: Kind,
}

/// Blocks by their file's number and their place in it, the oldest first.
type Unpacked = Vec<((usize, usize), Arc<Vec<u8>>)>;

/// An open image.
pub struct Image {
    file: File,
    offset: u64,
    block_size: u64,
    squashfs: FilesystemReader<'static>,
    /// All entries; the first is the root, and a folder comes before what it holds.
    nodes: Vec<Node>,
    names: HashMap<(usize, OsString), usize>,
    unpacked: Mutex<Unpacked>,
}

impl Image {
    /// Opens the image in an AppImage and reads its directory.
    ///
    /// # Errors
    /// As [`offset`]; [`Error::Damaged`] when there is no readable image.
    pub fn open(path: &Path) -> Result<Image, Error> {
        let offset = offset(path)?;
        let open = || File::open(path).map_err(|source| Error::file("open", path, source));
        let file = open()?;
        let mut magic = [0; MAGIC.len()];
        let is_there = file.read_exact_at(&mut magic, offset).is_ok() && &magic == MAGIC;
        if !is_there {
            return Err(Error::Damaged("no image stands behind the start-up program".to_owned()));
        }
        let reader = BufReader::with_capacity(1 << 16, open()?);
        let squashfs = FilesystemReader::from_reader_with_offset(reader, offset)
            .map_err(|error| Error::Damaged(format!("its image cannot be read ({error})")))?;
        let block_size = u64::from(squashfs.block_size);
        if block_size == 0 || block_size > BLOCK_MAX {
            return Err(Error::Damaged(format!("its image has blocks of {block_size} bytes")));
        }
        let (nodes, names) = entries(&squashfs, block_size)?;
        Ok(Image { file, offset, block_size, squashfs, nodes, names, unpacked: Mutex::default() })
    }

    /// All entries; the first is the root, and a folder comes before what it holds.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The size of a block, in bytes.
    pub fn block_size(&self) -> u64 {
        self.block_size
    }

    /// The number of the entry `name` of the folder `parent`.
    pub fn child(&self, parent: usize, name: OsString) -> Option<usize> {
        self.names.get(&(parent, name)).copied()
    }

    /// What the files take when extracted, in bytes, in whole blocks of 4 KiB.
    pub fn extracted_bytes(&self) -> u64 {
        let of = |node: &Node| match &node.kind {
            Kind::File(blocks) => blocks.length.div_ceil(4096) * 4096,
            Kind::Folder(_) | Kind::Link(_) => 4096,
        };
        self.nodes.iter().map(of).sum()
    }

    /// Appends up to `length` bytes of a file from `from` on; less only at the file's end.
    ///
    /// # Errors
    /// What reading the file says, and `InvalidData` when a block cannot be unpacked.
    pub fn read_at(&self, number: usize, from: u64, length: u64, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(Node { kind: Kind::File(file), .. }) = self.nodes.get(number) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let end = from.saturating_add(length).min(file.length);
        let mut at = from;
        while at < end {
            let index = usize::try_from(at / self.block_size).map_err(io::Error::other)?;
            let block = self.block(number, file, index)?;
            let start = usize::try_from(at % self.block_size).map_err(io::Error::other)?;
            let left = usize::try_from(end - at).map_err(io::Error::other)?;
            let piece = block.get(start..block.len().min(start + left)).unwrap_or_default();
            if piece.is_empty() {
                return Err(damaged("a block is shorter than its file"));
            }
            out.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Unpacked> {
        self.unpacked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block(&self, number: usize, file: &Blocks, index: usize) -> io::Result<Arc<Vec<u8>>> {
        let key = (number, index);
        if let Some((_, block)) = self.kept().iter().find(|(other, _)| *other == key) {
            return Ok(block.clone());
        }
        let block = Arc::new(match file.starts.get(index) {
            Some(start) => self.unpack(file, index, *start)?,
            None => self.fragment(file)?,
        });
        let mut kept = self.kept();
        if kept.len() >= BLOCKS_KEPT {
            kept.remove(0);
        }
        kept.push((key, block.clone()));
        Ok(block)
    }

    fn unpack(&self, file: &Blocks, index: usize, start: u64) -> io::Result<Vec<u8>> {
        let want = (file.length - index as u64 * self.block_size).min(self.block_size);
        let want = usize::try_from(want).map_err(io::Error::other)?;
        let Some(size) = file.reader.block_sizes().get(index) else {
            return Err(damaged("a block is missing"));
        };
        if size.size() == 0 {
            return Ok(vec![0; want]);
        }
        if u64::from(size.size()) > BLOCK_MAX {
            return Err(damaged("a block is too large"));
        }
        let mut packed = vec![0; size.size() as usize];
        self.file.read_exact_at(&mut packed, self.offset + start)?;
        if size.uncompressed() {
            return Ok(packed);
        }
        let mut block = Vec::with_capacity(want);
        zstd_safe::decompress(&mut block, &packed).map_err(|_| damaged("a block cannot be unpacked"))?;
        Ok(block)
    }

    /// The end of a file that shares its block with others. Ours are made without such; it takes the slow way.
    fn fragment(&self, file: &Blocks) -> io::Result<Vec<u8>> {
        let whole_blocks = file.starts.len() as u64 * self.block_size;
        let mut reader = self.squashfs.file(&file.reader).reader();
        io::copy(&mut reader.by_ref().take(whole_blocks), &mut io::sink())?;
        let mut rest = Vec::new();
        reader.take(self.block_size).read_to_end(&mut rest)?;
        Ok(rest)
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

type Entries = (Vec<Node>, HashMap<(usize, OsString), usize>);

fn entries(squashfs: &FilesystemReader<'static>, block_size: u64) -> Result<Entries, Error> {
    let (mut nodes, mut names, mut numbers) = (Vec::<Node>::new(), HashMap::new(), HashMap::new());
    for entry in squashfs.files() {
        let kind = match &entry.inner {
            InnerNode::Dir(_) => Kind::Folder(Vec::new()),
            InnerNode::Symlink(link) => Kind::Link(link.link.clone()),
            InnerNode::File(reader) => Kind::File(blocks(reader, block_size)?),
            // Devices and sockets have no business in a program's image.
            InnerNode::CharacterDevice(_)
            | InnerNode::BlockDevice(_)
            | InnerNode::NamedPipe
            | InnerNode::Socket => continue,
        };
        let number = nodes.len();
        if let (Some(parent), Some(name)) = (entry.fullpath.parent(), entry.fullpath.file_name()) {
            let parent = numbers.get(parent).copied();
            let Some(parent) = parent else {
                return Err(Error::Damaged("an entry has no folder".to_owned()));
            };
            names.insert((parent, name.to_os_string()), number);
            if let Some(Node { kind: Kind::Folder(list), .. }) = nodes.get_mut(parent) {
                list.push((name.to_os_string(), number));
            }
        }
        numbers.insert(entry.fullpath.clone(), number);
        let header = &entry.header;
        nodes.push(Node {
            path: entry.fullpath.clone(),
            mode: header.permissions & 0o777,
            modified_s: header.mtime,
            kind,
        });
    }
    Ok((nodes, names))
}

fn blocks(reader: &SquashfsFileReader, block_size: u64) -> Result<Blocks, Error> {
    let length = reader.file_len() as u64;
    let sizes = reader.block_sizes();
    let most = length.div_ceil(block_size);
    if length > FILE_MAX || (sizes.len() as u64) > most || (sizes.len() as u64) + 1 < most {
        return Err(Error::Damaged("a file has another length than its blocks".to_owned()));
    }
    let mut next = reader.blocks_start();
    let starts = sizes.iter().map(|size| {
        let start = next;
        next = next.saturating_add(u64::from(size.size()));
        start
    });
    Ok(Blocks { starts: starts.collect(), reader: reader.clone(), length })
}
