//! Words that write.

use std::io::Write;

/// Writes to standard output at once and as it is; an error ends the program quietly.
pub(crate) fn write(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: pointer and length describe the slice.
        let n = unsafe { libc::write(1, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(n) {
            Ok(n) => bytes = &bytes[n..],
            Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            Err(_) => std::process::exit(124),
        }
    }
}

/// Prints a line.
pub(crate) fn print(text: &str) {
    write(format!("{text}\n").as_bytes());
}

/// Writes bytes that are given in hex.
pub(crate) fn raw(hex: &str) {
    let digits: Vec<u8> =
        hex.chars().map(|c| u8::try_from(c.to_digit(16).unwrap_or(0)).unwrap_or(0)).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|d| d[0] << 4 | d[1 % d.len()]).collect();
    write(&bytes);
}

/// Writes exactly `bytes` bytes: numbered lines of 64 bytes, or digits without any line end.
pub(crate) fn flood(bytes: usize, lines: bool) {
    let mut portion = Vec::with_capacity(64 << 10);
    let mut line = 0usize;
    let mut left = bytes;
    while left > 0 {
        portion.clear();
        while portion.len() < 64 << 10 {
            let end = if lines { "\n" } else { " " };
            let _ = write!(portion, "{line:063}{end}");
            line += 1;
        }
        let part = left.min(portion.len());
        write(&portion[..part]);
        left -= part;
    }
}

/// Writes until it is ended.
pub(crate) fn flood_forever() -> ! {
    loop {
        flood(1 << 20, true);
    }
}

/// Prints its environment, one variable a line.
pub(crate) fn env() {
    for (name, value) in std::env::vars_os() {
        print(&format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
    }
}

/// Leaves plain, hidden, nested and read-only things in the temp directory.
pub(crate) fn write_temp() {
    let temp = std::env::temp_dir();
    let nested = temp.join("nested");
    let sealed = temp.join("sealed");
    for dir in [&nested, &sealed] {
        drop(std::fs::create_dir_all(dir));
    }
    for file in ["plain.txt", ".hidden", "nested/deep.txt", "sealed/file"] {
        drop(std::fs::write(temp.join(file), "left behind\n"));
    }
    if let Ok(meta) = std::fs::metadata(&sealed) {
        let mut permissions = meta.permissions();
        permissions.set_readonly(true);
        drop(std::fs::set_permissions(&sealed, permissions));
    }
}
