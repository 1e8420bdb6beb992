//! What a guard knows from its beginning, as bytes: beside its lease, so that other guards can read it, and with
//! whoever ends it in another process than the one that began it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::seen::{Kind, Seen};
use crate::git::list::Repository;
use crate::rules::Residue;

/// The words of what is no name that was seen.
const CHECKOUT: &str = "checkout";
const COMMON_DIR: &str = "common-dir";
const TEMP_DIR: &str = "temp-dir";
const LEASE: &str = "lease";
const BEGAN: &str = "began";
const RULES: &str = "rules";
/// The last line. A list of names that was cut would make what was there before look new.
const END: &str = "end";

/// What there was at the beginning, and what is watched.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) repository: Repository,
    pub(super) temp_dir: PathBuf,
    pub(super) residue: Residue,
    /// The directory whose lock says that the guard is at work.
    pub(super) lease: PathBuf,
    /// When that directory was made, by the clock of its file system; none where that keeps no such time.
    pub(super) began: Option<SystemTime>,
    pub(super) before: Seen,
}

impl Record {
    /// Lines of a word, a space and any bytes, each ended by a zero byte: names of files are not always text.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut line = |word: &str, value: &[u8]| {
            bytes.extend_from_slice(word.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(value);
            bytes.push(0);
        };
        line(CHECKOUT, self.repository.root.as_os_str().as_bytes());
        line(COMMON_DIR, self.repository.common_dir.as_os_str().as_bytes());
        line(TEMP_DIR, self.temp_dir.as_os_str().as_bytes());
        line(LEASE, self.lease.as_os_str().as_bytes());
        if let Some(since) = self.began.and_then(|began| began.duration_since(UNIX_EPOCH).ok()) {
            line(BEGAN, since.as_nanos().to_string().as_bytes());
        }
        line(RULES, &serde_json::to_vec(&self.residue).unwrap_or_default());
        for (kind, name) in &self.before.0 {
            line(kind.word(), name.as_bytes());
        }
        line(END, b"");
        bytes
    }

    /// Reads a record; none when it is not whole.
    pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
        let mut before = Seen::default();
        let (mut checkout, mut common_dir, mut temp_dir, mut lease) = (None, None, None, None);
        let (mut began, mut residue) = (None, None);
        let lines = bytes.strip_suffix(format!("\0{END} \0").as_bytes())?;
        for line in lines.split(|byte| *byte == 0) {
            let at = line.iter().position(|byte| *byte == b' ')?;
            let (word, value) = (std::str::from_utf8(&line[..at]).ok()?, &line[at + 1..]);
            let path = || Some(PathBuf::from(OsStr::from_bytes(value)));
            match word {
                CHECKOUT => checkout = path(),
                COMMON_DIR => common_dir = path(),
                TEMP_DIR => temp_dir = path(),
                LEASE => lease = path(),
                BEGAN => began = Some(UNIX_EPOCH + nanos(value)?),
                RULES => residue = Some(serde_json::from_slice(value).ok()?),
                kind => {
                    let kind = Kind::ALL.into_iter().find(|known| known.word() == kind)?;
                    before.0.insert((kind, OsString::from_vec(value.to_vec())));
                }
            }
        }
        let repository = Repository { root: checkout?, common_dir: common_dir? };
        Some(Record { repository, temp_dir: temp_dir?, residue: residue?, lease: lease?, began, before })
    }
}

fn nanos(value: &[u8]) -> Option<Duration> {
    let nanos: u128 = std::str::from_utf8(value).ok()?.parse().ok()?;
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, u32::try_from(nanos % 1_000_000_000).ok()?))
}

/// When something was made, by the clock of its file system; none where that keeps no such time.
pub(super) fn born(path: &Path) -> Option<SystemTime> {
    std::fs::symlink_metadata(path).and_then(|meta| meta.created()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was_and_a_cut_one_is_none() {
        let odd = OsString::from_vec(b"/tmp/spec-\xff \n".to_vec());
        let record = Record {
            repository: Repository { root: "/a b".into(), common_dir: "/a b/.git".into() },
            temp_dir: "/tmp".into(),
            residue: Residue { temp: vec!["spec-*".to_owned()], auto: true, ..Residue::default() },
            lease: "/a b/.git/x".into(),
            began: Some(UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789)),
            before: Seen([(Kind::Temp, odd), (Kind::Branch, "kitty/x".into())].into()),
        };
        let bytes = record.to_bytes();
        assert_eq!(Record::parse(&bytes), Some(record.clone()));
        for end in 0..bytes.len() {
            assert_eq!(Record::parse(&bytes[..end]), None, "cut at {end}");
        }
        let without = Record { began: None, ..record };
        assert_eq!(Record::parse(&without.to_bytes()), Some(without));
    }
}
