//! Words about the terminal and standard input.

use crate::output::{print, write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many SIGWINCH have come.
static WINCHES: AtomicUsize = AtomicUsize::new(0);

fn read(buf: &mut [u8]) -> Option<usize> {
    loop {
        // SAFETY: pointer and length describe the buffer.
        let n = unsafe { libc::read(0, buf.as_mut_ptr().cast(), buf.len()) };
        match usize::try_from(n) {
            Ok(0) => return None,
            Ok(n) => return Some(n),
            Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            Err(_) => return None,
        }
    }
}

fn size() -> (u16, u16) {
    // SAFETY: all zeros is a valid size, and the call fills it in.
    unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        libc::ioctl(0, libc::TIOCGWINSZ, &raw mut size);
        (size.ws_col, size.ws_row)
    }
}

/// Says whether there is a controlling terminal, and its size.
pub(crate) fn print_tty() {
    match std::fs::File::open("/dev/tty") {
        Ok(_) => {
            let (cols, rows) = size();
            print(&format!("a terminal of {cols}x{rows}"));
        }
        Err(e) => print(&format!("no terminal: {e}")),
    }
}

/// Copies input to output until its end.
pub(crate) fn echo() {
    let mut buf = [0u8; 4096];
    while let Some(n) = read(&mut buf) {
        write(&buf[..n]);
    }
}

/// Switches the terminal to raw mode, without echo and line discipline.
pub(crate) fn raw_mode() {
    // SAFETY: all zeros is a valid structure, and the first call fills it in.
    unsafe {
        let mut mode: libc::termios = std::mem::zeroed();
        libc::tcgetattr(0, &raw mut mode);
        libc::cfmakeraw(&raw mut mode);
        libc::tcsetattr(0, libc::TCSANOW, &raw const mode);
    }
    print("raw\r");
}

/// Counts SIGWINCH; answers each line of input with the count and the present size.
pub(crate) fn count_winch() {
    extern "C" fn count(_: libc::c_int) {
        WINCHES.fetch_add(1, Ordering::SeqCst);
    }
    // SAFETY: the handler only touches an atomic.
    unsafe { libc::signal(libc::SIGWINCH, count as *const () as libc::sighandler_t) };
    print("counting");
    let mut buf = [0u8; 256];
    while read(&mut buf).is_some() {
        let (cols, rows) = size();
        let count = WINCHES.load(Ordering::SeqCst);
        print(&format!("winches {count} size {cols}x{rows}"));
    }
}

/// Reads `total` bytes slowly and prints how many came and their checksum.
pub(crate) fn slow_read(total: usize) {
    let mut buf = [0u8; 2048];
    let (mut count, mut sum) = (0usize, 0u64);
    while count < total {
        std::thread::sleep(Duration::from_micros(200));
        let want = (total - count).min(buf.len());
        let Some(n) = read(&mut buf[..want]) else {
            break;
        };
        for byte in &buf[..n] {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
        count += n;
    }
    print(&format!("read {count} sum {sum:016x}\r"));
}
