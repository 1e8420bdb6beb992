//! Another process holds the file: writes wait and are not lost, reads go on, nothing burns.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use carillon_store::{Store, projects, settings};
use rusqlite::Connection;

use crate::support::{Place, fill, project};

/// Names the file that this program, started again, is to hold.
const HOLD: &str = "CARILLON_TEST_HOLD";
const HELD: &str = "the file is held";
const WRITES: usize = 10;

/// Not a test of its own: the other process. It holds the file until its input ends.
#[test]
fn other_process() {
    let Some(path) = std::env::var_os(HOLD) else { return };
    let db = Connection::open(path).expect("the file opens");
    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO settings VALUES ('from_outside', '1')").expect("the lock");
    println!("{HELD}");
    std::io::stdout().flush().expect("the word goes out");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    db.execute_batch("COMMIT").expect("the commit");
}

/// A process that holds the file until it is told to let go, or dropped.
struct Holder(Child, BufReader<ChildStdout>);

impl Holder {
    fn of(path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "contention::other_process", "--nocapture", "--test-threads=1"])
            .env(HOLD, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program again");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let held = output.by_ref().lines().map_while(Result::ok).any(|line| line.contains(HELD));
        assert!(held, "it never held the file");
        Self(child, output)
    }

    fn let_go(mut self) {
        drop(self.0.stdin.take());
        let mut said = String::new();
        let _ = self.1.read_to_string(&mut said);
        assert!(self.0.wait().expect("its end").success(), "{said}");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Hands each line of the log on.
struct Lines(Sender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn logged<T>(lines: Sender<String>, work: impl FnOnce() -> T) -> T {
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || Lines(lines.clone())).finish();
    tracing::subscriber::with_default(log, work)
}

/// Processor time that the calling thread has used.
fn processor_time() -> Duration {
    // SAFETY: all zero is a valid `rusage`, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage
    };
    let time =
        |t: libc::timeval| Duration::new(t.tv_sec.unsigned_abs(), t.tv_usec.unsigned_abs() as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn key(n: usize) -> String {
    format!("write_{n}")
}

fn is_warning(line: &str) -> bool {
    line.contains("WARN")
}

/// Writes on a thread of its own; answers the time that it took and the processor time that it used.
fn write_all(mut store: Store, log: Sender<String>) -> std::thread::JoinHandle<(Store, Duration, Duration)> {
    std::thread::spawn(move || {
        logged(log, || {
            let (began, used) = (Instant::now(), processor_time());
            for n in 0..WRITES {
                store.write(|tx| settings::put(tx, &key(n), "1")).expect("no write is lost");
            }
            let used = processor_time() - used;
            (store, began.elapsed(), used)
        })
    })
}

/// The lines up to the first warning, which must come.
fn wait_for_warning(log: &Receiver<String>) {
    while !is_warning(&log.recv_timeout(Duration::from_secs(20)).expect("a warning")) {}
}

#[test]
fn writes_wait_for_another_process_and_reads_do_not() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let reader = store.reader().expect("a reader");
    let holder = Holder::of(&place.path());
    let (log, lines) = mpsc::channel();
    let writing = write_all(store, log);

    // The first warning comes after one try of some seconds; the reads all happen before it.
    for _ in 0..100 {
        assert_eq!(reader.read(projects::list).expect("a read"), [project()]);
        let there = reader.read(settings::all).expect("a read");
        assert_eq!(there, [], "nothing is seen before it is committed");
    }
    assert!(lines.try_iter().all(|line| !is_warning(&line)), "no read waited for the writer");
    wait_for_warning(&lines);
    // Long enough for one more try, which must not warn again.
    assert!(lines.recv_timeout(Duration::from_secs(6)).is_err(), "one warning is enough");
    assert_eq!(reader.read(projects::list).expect("a read"), [project()]);
    holder.let_go();

    let (store, took, used) = writing.join().expect("the writer");
    let keys: Vec<String> = store.read(settings::all).unwrap().into_iter().map(|(key, _)| key).collect();
    let mut expected = vec!["from_outside".to_owned()];
    expected.extend((0..WRITES).map(key));
    assert_eq!(keys, expected, "all writes are there, and the other's too");
    let rest: Vec<String> = lines.try_iter().collect();
    assert!(!rest.iter().any(|line| is_warning(line)), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("free again")), "{rest:?}");
    let share = used.as_secs_f64() / took.as_secs_f64();
    println!("waited {took:?}, used {used:?} of the processor: {:.2} %", share * 100.0);
    assert!(took > Duration::from_secs(10), "it did wait: {took:?}");
    assert!(share < 0.1, "{used:?} of {took:?}");
}

#[test]
fn a_short_wait_needs_no_warning() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let reader = store.reader().expect("a reader");
    let holder = Holder::of(&place.path());
    let (log, lines) = mpsc::channel();
    let writing = write_all(store, log);
    let until = Instant::now() + Duration::from_secs(2);
    let mut reads = 0;
    while Instant::now() < until {
        reader.read(projects::list).expect("a read");
        reads += 1;
    }
    holder.let_go();
    let (store, took, _) = writing.join().expect("the writer");
    assert_eq!(store.read(settings::all).unwrap().len(), WRITES + 1);
    assert!(took >= Duration::from_secs(2) && reads > 100, "{took:?}, {reads} reads");
    assert_eq!(lines.try_iter().collect::<Vec<_>>(), [""; 0]);
}

/// The engine's own connections never meet: readers on threads beside one writer.
#[test]
fn own_connections_do_not_collide() {
    let place = Place::new();
    let mut store = place.open();
    fill(&mut store);
    let readers: Vec<_> = (0..8).map(|_| store.reader().expect("a reader")).collect();
    let (log, lines) = mpsc::channel();
    let written = AtomicBool::new(false);
    let written = &written;
    std::thread::scope(|scope| {
        for reader in readers {
            scope.spawn(move || {
                while !written.load(Ordering::Relaxed) {
                    reader.read(settings::all).expect("a read");
                }
            });
        }
        logged(log, || {
            for n in 0..200 {
                store.write(|tx| settings::put(tx, "count", &n.to_string())).expect("a write");
                if n % 50 == 0 {
                    store.checkpoint().expect("a checkpoint");
                }
            }
        });
        written.store(true, Ordering::Relaxed);
    });
    assert_eq!(lines.try_iter().filter(|line| is_warning(line)).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(store.read(settings::all).unwrap(), [("count".to_owned(), "199".to_owned())]);
}
