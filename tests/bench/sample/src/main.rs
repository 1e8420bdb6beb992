//! What the window is measured against: the least that shows a shell in xterm.js by Tauri. One window, one terminal, no engine, no
//! ledger, no supervisor; output is pushed as it is read.
//!
//! `BENCH_SAMPLE_DATA` names the folder of the web view's own files.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tauri::ipc::{Channel, InvokeResponseBody};
use tauri::window::Color;
use tauri::{State, WebviewUrl, WebviewWindowBuilder};

/// The size of Carillon's window at its first start, in logical pixels.
const SIZE: (f64, f64) = (1200.0, 780.0);
const DARK: Color = Color(0x16, 0x18, 0x1d, 0xff);

struct Shell {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    /// Kept, not waited for: it ends by the hang-up when we do.
    _child: Box<dyn Child + Send + Sync>,
}

#[derive(Default)]
struct Terminal(Mutex<Option<Shell>>);

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

/// Starts the shell; `output` hears every read.
#[tauri::command]
fn open(
    terminal: State<'_, Terminal>,
    cols: u16,
    rows: u16,
    output: Channel<InvokeResponseBody>,
) -> Result<(), String> {
    let failed = |what: &dyn std::fmt::Display| what.to_string();
    let pair = native_pty_system().openpty(size(cols, rows)).map_err(|e| failed(&e))?;
    let mut command = CommandBuilder::new("bash");
    command.args(["--norc", "--noprofile"]);
    command.env("TERM", "xterm-256color");
    let child = pair.slave.spawn_command(command).map_err(|e| failed(&e))?;
    let mut reader = pair.master.try_clone_reader().map_err(|e| failed(&e))?;
    let writer = pair.master.take_writer().map_err(|e| failed(&e))?;
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            if output.send(InvokeResponseBody::Raw(buffer[..n].to_vec())).is_err() {
                return;
            }
        }
    });
    let shell = Shell { master: pair.master, writer, _child: child };
    *terminal.0.lock().map_err(|e| failed(&e))? = Some(shell);
    Ok(())
}

#[tauri::command]
fn write(terminal: State<'_, Terminal>, data: &str) -> Result<(), String> {
    with(&terminal, |shell| shell.writer.write_all(data.as_bytes()).map_err(|e| e.to_string()))
}

#[tauri::command]
fn resize(terminal: State<'_, Terminal>, cols: u16, rows: u16) -> Result<(), String> {
    with(&terminal, |shell| shell.master.resize(size(cols, rows)).map_err(|e| e.to_string()))
}

fn with(terminal: &Terminal, work: impl FnOnce(&mut Shell) -> Result<(), String>) -> Result<(), String> {
    let mut shell = terminal.0.lock().map_err(|e| e.to_string())?;
    shell.as_mut().map_or(Ok(()), work)
}

/// The page calls this after its first paint.
#[tauri::command]
fn painted() {
    eprintln!("painted");
}

fn main() {
    let built = tauri::Builder::default()
        .manage(Terminal::default())
        .invoke_handler(tauri::generate_handler![open, write, resize, painted])
        .setup(|app| {
            let mut window = WebviewWindowBuilder::new(app, "main", WebviewUrl::App("index.html".into()))
                .title("Bench sample")
                .inner_size(SIZE.0, SIZE.1)
                .background_color(DARK);
            if let Some(data) = std::env::var_os("BENCH_SAMPLE_DATA") {
                window = window.data_directory(PathBuf::from(data));
            }
            window.build()?;
            Ok(())
        })
        .build(tauri::generate_context!());
    match built {
        Ok(tauri) => tauri.run(|_, _| {}),
        Err(error) => {
            eprintln!("the window could not be opened: {error}");
            std::process::exit(1);
        }
    }
}
