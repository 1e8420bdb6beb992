//! The log of a run: the one copy of what its program wrote.
//!
//! Offsets are offsets in the stream of all bytes ever written. The file `log` holds the head, at
//! most half of the cap; what follows stands in segment files `log.<offset as 16 hex digits>` of an
//! eighth of the cap each. When a new segment begins, the oldest goes if there were already more than
//! four, so that all files together never exceed the cap by more than one segment.
//! No byte is ever moved, so readers need no lock: they see files grow, appear and vanish.
//!
//! The output of a turn is kept otherwise: as one piece from its beginning, up to the cap and never
//! with a gap. What the turn writes to standard error is a second log of the first kind, whose files
//! are called `errors` instead of `log`.

mod reader;
mod writer;

pub use reader::{LogReader, Read};
pub use writer::LogWriter;

use std::os::fd::BorrowedFd;

/// So many whole segments are kept beside the one that is being written.
pub(crate) const TAIL_SEGMENTS: usize = 4;

/// What all file names of one log begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stem {
    /// Output, with the errors in it where they are not kept apart.
    Output,
    /// Errors, where they are.
    Errors,
}

impl Stem {
    /// The name of the head's file.
    pub(crate) fn head(self) -> &'static str {
        match self {
            Stem::Output => "log",
            Stem::Errors => "errors",
        }
    }

    /// The name of the file that holds the stream from `start` on.
    pub(crate) fn piece_name(self, start: u64) -> String {
        let head = self.head();
        if start == 0 { head.to_owned() } else { format!("{head}.{start:016x}") }
    }

    /// The stream offset at which the file of this name begins; None if it is no part of this log.
    pub(crate) fn piece_start(self, name: &[u8]) -> Option<u64> {
        let name = std::str::from_utf8(name).ok()?;
        if name == self.head() {
            return Some(0);
        }
        let hex = name.strip_prefix(self.head())?.strip_prefix('.')?;
        let start = u64::from_str_radix(hex, 16).ok()?;
        // One spelling only, so that a stray file can never be taken for a segment.
        (start > 0 && self.piece_name(start) == name).then_some(start)
    }

    /// The starts of all pieces in a run's directory, in order.
    pub(crate) fn list(self, dir: BorrowedFd<'_>) -> std::io::Result<Vec<u64>> {
        let mut starts = Vec::new();
        for entry in rustix::fs::Dir::read_from(dir)? {
            starts.extend(self.piece_start(entry?.file_name().to_bytes()));
        }
        starts.sort_unstable();
        Ok(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::open_dir;
    use proptest::prelude::*;
    use std::os::fd::AsFd;

    #[test]
    fn names_and_starts_are_one_to_one() {
        for stem in [Stem::Output, Stem::Errors] {
            for start in [0, 1, 4096, u64::MAX] {
                assert_eq!(stem.piece_start(stem.piece_name(start).as_bytes()), Some(start));
            }
        }
        for stray in ["log.1", "log.", "log.0000000000000000", "log.000000000000000G", "logs", "errors"] {
            assert_eq!(Stem::Output.piece_start(stray.as_bytes()), None, "{stray}");
        }
    }

    #[test]
    fn a_whole_log_ends_at_its_cap_and_has_no_gap() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let mut writer = LogWriter::create_whole(dir.as_fd(), 8192).expect("writer");
        writer.append(&[b'a'; 8000]);
        writer.append(&[b'b'; 192]);
        assert!(!writer.is_truncated() && !writer.is_past_cap(), "{writer:?}");
        writer.append(&[b'c'; 100]);
        writer.retry_now();
        writer.append(&[b'd'; 100]);
        assert!(writer.is_truncated() && writer.is_past_cap(), "{writer:?}");
        assert_eq!((writer.readable_end(), writer.stream_end()), (8192, 8392));
        let mut reader = LogReader::open(temp.path()).expect("reader");
        let mut buf = [0u8; 10_000];
        assert_eq!(reader.read_at(0, &mut buf).expect("read"), Read::Bytes(8192));
        assert_eq!(&buf[8000..8192], &[b'b'; 192]);
        assert_eq!(reader.read_at(8192, &mut buf).expect("read"), Read::End);
    }

    /// What comes after a failure would stand behind a gap, which the text of an answer must not have.
    #[test]
    fn a_whole_log_that_the_disk_refused_once_stays_a_beginning() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let mut writer = LogWriter::create_whole(dir.as_fd(), 1 << 20).expect("writer");
        with_file_size_limit(1500, || writer.append(&[b'a'; 2000]));
        writer.retry_now();
        writer.append(&[b'b'; 1000]);
        assert!(writer.is_truncated() && !writer.is_past_cap());
        let mut reader = LogReader::open(temp.path()).expect("reader");
        assert_eq!(reader.end().expect("end"), 1500);
        assert_eq!(reader.read_at(1500, &mut [0; 10]).expect("read"), Read::End);
    }

    #[test]
    fn output_and_errors_do_not_see_each_other() {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let mut output = LogWriter::create(dir.as_fd(), 8192).expect("writer");
        let mut errors = LogWriter::create_errors(dir.as_fd()).expect("writer");
        output.append(&[b'o'; 30_000]);
        errors.append(&[b'e'; 1000]);
        let mut reader = LogReader::open_errors(temp.path()).expect("reader");
        assert_eq!(reader.end().expect("end"), 1000);
        let mut buf = [0u8; 4096];
        assert_eq!(reader.read_at(0, &mut buf).expect("read"), Read::Bytes(1000));
        assert_eq!(&buf[..1000], &[b'e'; 1000]);
        assert_eq!(LogReader::open(temp.path()).expect("reader").end().expect("end"), 30_000);
    }

    /// Writes `chunks` with a cap and reads all back in pages of `page` bytes.
    fn write_and_read(chunks: &[Vec<u8>], cap: u64, page: usize) -> (Vec<u8>, Vec<(u64, u64)>) {
        let temp = tempfile::tempdir().expect("temp");
        let dir = open_dir(temp.path()).expect("open");
        let mut writer = LogWriter::create(dir.as_fd(), cap).expect("writer");
        for chunk in chunks {
            writer.append(chunk);
            let size: u64 = Stem::Output
                .list(dir.as_fd())
                .expect("list")
                .iter()
                .map(|s| {
                    std::fs::metadata(temp.path().join(Stem::Output.piece_name(*s))).expect("stat").len()
                })
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
