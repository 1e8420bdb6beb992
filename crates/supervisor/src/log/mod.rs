//! The log of a run: the one copy of what its program wrote.
//!
//! Offsets are offsets in the stream of all bytes ever written. The file `log` holds the head, at
//! most half of the cap; what follows stands in segment files `log.<offset as 16 hex digits>` of an
//! eighth of the cap each. When a new segment begins, the oldest goes if there were already more than
//! four, so that all files together never exceed the cap by more than one segment.
//! No byte is ever moved, so readers need no lock: they see files grow, appear and vanish.

mod reader;
mod writer;

pub use reader::{LogReader, Read};
pub use writer::LogWriter;

use std::os::fd::BorrowedFd;

/// Name of the head's file.
pub(crate) const HEAD: &str = "log";

/// So many whole segments are kept beside the one that is being written.
pub(crate) const TAIL_SEGMENTS: usize = 4;

/// The name of the file that holds the stream from `start` on.
pub(crate) fn piece_name(start: u64) -> String {
    if start == 0 { HEAD.to_owned() } else { format!("{HEAD}.{start:016x}") }
}

/// The stream offset at which the file of this name begins; None if it is no part of a log.
pub(crate) fn piece_start(name: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(name).ok()?;
    if name == HEAD {
        return Some(0);
    }
    let hex = name.strip_prefix("log.")?;
    let start = u64::from_str_radix(hex, 16).ok()?;
    // One spelling only, so that a stray file can never be taken for a segment.
    (start > 0 && piece_name(start) == name).then_some(start)
}

/// The starts of all pieces in a run's directory, in order.
pub(crate) fn list(dir: BorrowedFd<'_>) -> std::io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        starts.extend(piece_start(entry?.file_name().to_bytes()));
    }
    starts.sort_unstable();
    Ok(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::open_dir;
    use proptest::prelude::*;
    use std::os::fd::AsFd;

    #[test]
    fn names_and_starts_are_one_to_one() {
        for start in [0, 1, 4096, u64::MAX] {
            assert_eq!(piece_start(piece_name(start).as_bytes()), Some(start));
        }
        for stray in ["log.1", "log.", "log.0000000000000000", "log.000000000000000G", "logs"] {
            assert_eq!(piece_start(stray.as_bytes()), None, "{stray}");
        }
    }

    /// Writes `chunks` with a cap and reads all back in pages of `page` bytes.
    fn write_and_read(chunks: &[Vec<u8>], cap: u64, page: usize) -> (Vec<u8>, Vec<(u64, u64)>) {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let mut writer = LogWriter::create(dir.as_fd(), cap).expect("writer");
        for chunk in chunks {
            writer.append(chunk);
            let size: u64 = list(dir.as_fd())
                .expect("list")
                .iter()
                .map(|s| std::fs::metadata(temp.path().join(piece_name(*s))).expect("stat").len())
                .sum();
            assert!(size <= writer.cap() + writer.cap() / 8, "{size} bytes on disk");
        }
        let mut reader = LogReader::open(temp.path()).expect("reader");
        assert_eq!(reader.end().expect("end"), writer.readable_end());
        let (mut bytes, mut gaps, mut offset) = (Vec::new(), Vec::new(), 0);
        let mut buf = vec![0; page];
        loop {
            match reader.read_at(offset, &mut buf).expect("read") {
                Read::Bytes(n) => {
                    bytes.extend_from_slice(&buf[..n]);
                    offset += n as u64;
                }
                Read::Gap { from, to } => {
                    assert_eq!(from, offset);
                    bytes.resize(to as usize, 0);
                    gaps.push((from, to));
                    offset = to;
                }
                Read::End => break,
            }
        }
        assert_eq!(writer.is_truncated(), !gaps.is_empty());
        (bytes, gaps)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever the sizes of writes and reads: the head is there, the tail is there, and every
        /// byte that is not in a reported gap is the byte that was written.
        #[test]
        fn what_is_not_reported_as_a_gap_is_exact(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 0..30),
            page in 1usize..5000,
        ) {
            let all: Vec<u8> = chunks.concat();
            let cap = 8192u64;
            let (bytes, gaps) = write_and_read(&chunks, cap, page);
            prop_assert_eq!(bytes.len(), all.len());
            let mut expected = all.clone();
            for &(from, to) in &gaps {
                expected[from as usize..to as usize].fill(0);
                prop_assert!(from >= cap / 2, "the head was cut at {}", from);
                prop_assert!(all.len() as u64 - to >= cap / 2, "the tail begins at {}", to);
            }
            prop_assert!(gaps.len() <= 1);
            prop_assert_eq!(gaps.is_empty(), all.len() as u64 <= cap + cap / 8);
            prop_assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn a_reader_between_two_prunings_gets_a_gap_and_goes_on() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let mut writer = LogWriter::create(dir.as_fd(), 8192).expect("writer");
        let mut reader = LogReader::open(temp.path()).expect("reader");
        let mut buf = [0u8; 1024];
        assert_eq!(reader.read_at(0, &mut buf).expect("read"), Read::End);
        writer.append(&[b'a'; 5000]);
        assert_eq!(reader.read_at(4096, &mut buf).expect("read"), Read::Bytes(904));
        writer.append(&[b'b'; 20000]);
        // The reader still has the removed segment open and may finish it; then comes the gap.
        let mut offset = 5000;
        let mut saw_gap = false;
        while offset < 25000 {
            match reader.read_at(offset, &mut buf).expect("read") {
                Read::Bytes(n) => offset += n as u64,
                Read::Gap { from, to } => {
                    assert_eq!(from, offset);
                    offset = to;
                    saw_gap = true;
                }
                Read::End => panic!("the end was reported at {offset}"),
            }
        }
        assert!(saw_gap);
        assert_eq!(reader.end().expect("end"), 25000);
    }

    /// A file size limit behaves as a full disk does: writes fail for a while and work again later.
    #[test]
    fn a_full_disk_costs_bytes_but_neither_the_program_nor_the_truth() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let mut writer = LogWriter::create(dir.as_fd(), 1 << 20).expect("writer");
        writer.append(&[b'a'; 1000]);
        with_file_size_limit(1500, || {
            for _ in 0..100 {
                writer.append(&[b'b'; 1000]);
            }
        });
        assert_eq!(writer.readable_end(), 1500);
        assert_eq!(writer.stream_end(), 101_000);
        assert!(writer.is_truncated());
        writer.retry_now();
        writer.append(&[b'c'; 1000]);
        assert_eq!(writer.readable_end(), 102_000);
        let mut reader = LogReader::open(temp.path()).expect("reader");
        let mut buf = [0u8; 4096];
        assert_eq!(reader.read_at(0, &mut buf).expect("read"), Read::Bytes(1500));
        let gap = Read::Gap { from: 1500, to: 101_000 };
        assert_eq!(reader.read_at(1500, &mut buf).expect("read"), gap);
        assert_eq!(reader.read_at(101_000, &mut buf).expect("read"), Read::Bytes(1000));
        assert_eq!(&buf[..1000], &[b'c'; 1000]);
    }

    fn with_file_size_limit(bytes: u64, work: impl FnOnce()) {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let before = getrlimit(Resource::Fsize);
        // SAFETY: ignoring a signal has no handler that could do anything unsafe.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let limit = Rlimit { current: Some(bytes), maximum: before.maximum };
        setrlimit(Resource::Fsize, limit).expect("limit");
        work();
        setrlimit(Resource::Fsize, before).expect("limit");
    }
}
