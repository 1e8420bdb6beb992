//! The desktop app: a window on the engine, with no logic of its own.
//!
//! Imports `carillon-api`, and the words of `carillon-engine` and `carillon-core` that its types use.
//!
//! Invariants: the page reaches the engine by the `rpc` and `terminal_pull` commands alone; every way out goes
//! through `exit`; whatever names GTK, WebKitGTK, X11 or /proc stands in `linux`.
//!
//! Read in this order: `args`, `appimage`, `installed`, `boot`, `window`, `rpc`, `terminal`, `autostart`, `updates`, `exit`. Unit tests stand in each file, the
//! window's own tests in `tests/e2e`.

mod appimage;
mod args;
mod autostart;
mod boot;
mod exit;
mod installed;
mod linux;
mod open;
mod renderer;
mod rpc;
mod terminal;
mod updates;
mod window;

use appimage::AppImage;
use carillon_api::App;
use std::path::{Path, PathBuf};

/// The exit code of a wrong use, a missing display among them.
const WRONG_USE: i32 = 2;

fn main() {
    // Before anything of ours, or the toolkit, changes it.
    carillon_engine::own_env();
    let appimage = AppImage::of_this_process();
    if appimage.as_ref().is_some_and(AppImage::is_command_line) {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        fail_quietly(&boot::become_command_line(&arguments));
    }
    let (demo, repository) = match args::parse(std::env::args_os().skip(1)) {
        Ok(args::Request::Open { demo, repository }) => (demo, repository),
        Ok(args::Request::Version) => return println!("carillon-desktop {}", env!("CARGO_PKG_VERSION")),
        Ok(args::Request::Help) => return println!("{}", args::USAGE),
        Err(sentence) => refuse(&format!("{sentence}\n\n{}", args::USAGE)),
    };
    if !linux::is_display_named() {
        refuse(&no_display("there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set"));
    }
    // Relative paths are meant from here, and here may be left below.
    let repository = repository.map(|named| std::path::absolute(&named).unwrap_or(named));
    let config = boot::configure(demo, appimage.as_ref());
    // SAFETY: no other thread has been started yet.
    let renderer = unsafe {
        appimage.iter().for_each(|appimage| appimage.set_places());
        updates::prepare();
        renderer::prepare()
    };
    log();
    if let Some(Err(error)) = appimage.as_ref().map(AppImage::enter) {
        tracing::warn!("The AppImage's directory cannot be entered: {error}");
    }
    if let Err(error) = exit::watch_signals() {
        tracing::warn!("Signals cannot be heard: {error}");
    }
    let home = config.as_ref().map(|(config, _)| config.home.clone()).unwrap_or_default();
    let bus_name = config
        .as_ref()
        .map_or_else(|_| String::new(), |(config, _)| linux::bus::name_of(&home, config.home_is_chosen));
    let opening = config.map(|(config, installed)| boot::begin(config, installed, repository.clone()));
    if !linux::start_toolkit() {
        refuse(&no_display("the display cannot be reached"));
    }
    let opened = opening.and_then(|thread| {
        let thread = thread.map_err(|error| format!("Carillon's engine got no thread: {error}."))?;
        thread.join().unwrap_or_else(|_| Err(CRASHED.to_owned()))
    });
    match opened {
        Ok(app) => {
            exit::opened(&app);
            if let Err(error) = autostart::refresh() {
                tracing::warn!("The entry that starts Carillon with the session is not up to date: {error}");
            }
            run(&app, home, bus_name, renderer, repository.as_deref());
        }
        Err(sentence) => fail(&sentence),
    }
}

/// What is said when opening the engine panicked; the panic itself is on standard error.
const CRASHED: &str = "Carillon's engine could not be started. `carillon doctor` says more.";

/// Runs the window until the way out is done; see `exit` for how it ends.
fn run(app: &App, home: PathBuf, bus_name: String, renderer: renderer::Renderer, repository: Option<&Path>) {
    let named = repository.map(|repository| boot::open_repository(app, repository)).transpose();
    let look = window::Look {
        home,
        renderer,
        theme: boot::theme(app),
        project: named.as_ref().ok().and_then(|project| project.clone().flatten()),
    };
    let built = tauri::Builder::default()
        .manage(app.clone())
        .plugin(tauri_plugin_updater::Builder::new().build())
        .invoke_handler(tauri::generate_handler![rpc::rpc, terminal::terminal_pull, window::painted])
        .setup(move |tauri| {
            let window = window::open(tauri.handle(), &look)?;
            exit::attached(tauri.handle());
            updates::open(tauri.handle(), &look.home, AppImage::of_this_process());
            linux::bus::answer(&bus_name, |startup_id| window::raise("bus", startup_id));
            if let Err(sentence) = &named {
                eprintln!("{sentence}");
                linux::tell(&window, "The repository was not opened", sentence);
            }
            Ok(())
        })
        .build(tauri::generate_context!());
    match built {
        Ok(tauri) => tauri.run(|handle, event| exit::on_run_event(handle, &event)),
        Err(error) => {
            eprintln!("The window could not be opened: {error}.");
            exit::leave(1, None);
            // The engine is open: the way out shuts it down and ends the process.
            loop {
                std::thread::park();
            }
        }
    }
}

/// Standard error gets warnings, and more where `CARILLON_LOG` asks for it.
fn log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("CARILLON_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    // A message that cannot be written is lost: that must not cost more than the message.
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    log.log_internal_errors(false).init();
}

fn no_display(why: &str) -> String {
    format!("Carillon cannot open its window: {why}. `carillon serve` runs the same engine without a window.")
}

/// Says what is wrong on standard error and leaves.
fn refuse(sentence: &str) -> ! {
    eprintln!("{sentence}");
    std::process::exit(WRONG_USE)
}

/// Says what is wrong on standard error alone: somebody typed a command.
fn fail_quietly(sentence: &str) -> ! {
    eprintln!("{sentence}");
    std::process::exit(1)
}

/// Says why there is no window, on standard error and on the screen, and leaves.
fn fail(sentence: &str) -> ! {
    eprintln!("{sentence}");
    linux::show_error("Carillon could not start", sentence);
    linux::exit_now(1)
}
