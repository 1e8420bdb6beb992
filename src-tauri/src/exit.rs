//! Every way out leads to one shutdown.
//!
//! The window's close button, the page's "quit", a signal, the display's death and the end of the event loop all come here. The
//! invariants: the shutdown runs once, and whoever comes second waits for it instead of cutting it short; it is bounded, and so is the
//! way to it; nothing that runs is ended without the user's word, given now or remembered; a second signal ends the process at once.
//! The tests are here for the decision, and in `tests/e2e/journeys/exit.mjs` for each way on a real window.

use crate::{linux, window};
use carillon_api::App;
use carillon_api::app::{ExitChoice, RunningAgent};
use carillon_core::limits;
use carillon_engine::AtExit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once};
use std::time::Duration;
use tauri::{AppHandle, CloseRequestApi, Emitter, Manager, RunEvent};

/// How long the shutdown itself may take.
const DEADLINE: Duration = Duration::from_millis(limits::SHUTDOWN_MS);
/// How long the event loop may take from being asked to leave until it begins the shutdown.
const LOOP_PATIENCE: Duration = Duration::from_millis(1500);
/// How long it may take to look what runs before it counts as not known.
const LOOK_PATIENCE: Duration = Duration::from_millis(2_000);
/// What a shutdown may take past its deadline before the process is ended all the same.
const MARGIN: Duration = Duration::from_millis(1500);

/// What is known about the way out so far.
struct Leaving {
    app: Option<App>,
    handle: Option<AppHandle>,
    /// What shall become of running agents, once somebody said it. The first word counts.
    choice: Option<AtExit>,
    /// The exit code of the first reason to leave.
    code: Option<i32>,
    /// Whether the shutdown has begun.
    is_shutting_down: bool,
}

static LEAVING: Mutex<Leaving> =
    Mutex::new(Leaving { app: None, handle: None, choice: None, code: None, is_shutting_down: false });
static SHUTDOWN_BEGAN: Condvar = Condvar::new();
static SHUTDOWN: Once = Once::new();

/// The lock is held for a few assignments only, never across a call into GTK or the engine: the display's death may come in any of those.
fn leaving() -> MutexGuard<'static, Leaving> {
    LEAVING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts the thread that hears TERM, INT, HUP and QUIT. Without it none of Tauri's events would run on a signal.
pub fn watch_signals() -> std::io::Result<()> {
    let mut heard = vec![SIGTERM, SIGINT, SIGQUIT];
    if !linux::is_hangup_ignored() {
        heard.push(SIGHUP);
    }
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut is_second = false;
        for signal in signals.forever() {
            let code = 128 + signal;
            if is_second {
                linux::exit_now(code);
            }
            is_second = true;
            leave(code, None);
        }
    })?;
    Ok(())
}

/// Tells the way out that there is an engine to shut down.
pub fn opened(app: &App) {
    tracing::info!("the engine is open");
    leaving().app = Some(app.clone());
}

/// Tells the way out that there is an event loop to leave by, and hears of the display's death from now on.
pub fn attached(handle: &AppHandle) {
    linux::on_display_death(display_died);
    let asked_before = {
        let mut leaving = leaving();
        leaving.handle = Some(handle.clone());
        leaving.code
    };
    if let Some(code) = asked_before {
        handle.exit(code);
    }
}

/// Leaves with `code`. `choice` is the user's word on running agents; without one the remembered word counts, else they are stopped.
pub fn leave(code: i32, choice: Option<AtExit>) {
    let (handle, is_first) = {
        let mut leaving = leaving();
        leaving.choice = leaving.choice.or(choice);
        let is_first = leaving.code.is_none();
        leaving.code.get_or_insert(code);
        (leaving.handle.clone(), is_first)
    };
    if is_first {
        watch_over(code, if handle.is_some() { LOOP_PATIENCE } else { Duration::ZERO });
    }
    if let Some(handle) = handle {
        handle.exit(code);
    }
}

/// Makes sure that the process ends: a stuck event loop does not hold the shutdown up, and a stuck shutdown does not hold the end up.
fn watch_over(code: i32, patience: Duration) {
    let watch = move || {
        let (leaving, _) = SHUTDOWN_BEGAN
            .wait_timeout_while(leaving(), patience, |leaving| !leaving.is_shutting_down)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let began = leaving.is_shutting_down;
        drop(leaving);
        if !began {
            // The deadline holds here, too: a second watch looks after this one, which now does the work itself.
            std::thread::spawn(move || end_after(code, DEADLINE + MARGIN));
            shut_down();
            linux::exit_now(code);
        }
        end_after(code, DEADLINE + MARGIN);
    };
    if std::thread::Builder::new().name("exit-watch".to_owned()).spawn(watch).is_err() {
        shut_down();
        linux::exit_now(code);
    }
}

fn end_after(code: i32, patience: Duration) -> ! {
    std::thread::sleep(patience);
    linux::exit_now(code)
}

/// Runs the shutdown once. A second caller waits until it is done: it is usually about to end the process.
fn shut_down() {
    SHUTDOWN.call_once(|| {
        let (app, choice) = {
            let mut leaving = leaving();
            leaving.is_shutting_down = true;
            (leaving.app.clone(), leaving.choice)
        };
        SHUTDOWN_BEGAN.notify_all();
        if let Some(app) = app {
            let choice = choice.unwrap_or_else(|| remembered(app.at_exit()));
            tracing::info!("shutdown began choice={choice:?}");
            app.shutdown(choice, DEADLINE);
            tracing::info!("shutdown done");
        }
    });
}

/// What counts when nobody can be asked.
fn remembered(at_exit: ExitChoice) -> AtExit {
    match at_exit {
        ExitChoice::Keep => AtExit::Keep,
        ExitChoice::Stop | ExitChoice::Ask => AtExit::Stop,
    }
}

/// The X server is gone: the event loop will never run again, so the work is done here and now.
fn display_died() {
    let code = leaving().code.unwrap_or(1);
    watch_over(code, DEADLINE);
    shut_down();
    linux::exit_now(code);
}

/// What a wish to close the window leads to.
#[derive(Debug, PartialEq)]
enum Wish {
    Leave(AtExit),
    Ask,
}

/// What runs; or why that is not known.
type Running = Result<Vec<RunningAgent>, String>;

fn judge(at_exit: ExitChoice, running: &Running) -> Wish {
    let is_anything_running = running.as_ref().map_or(true, |running| !running.is_empty());
    match at_exit {
        ExitChoice::Ask if is_anything_running => Wish::Ask,
        ExitChoice::Ask | ExitChoice::Stop | ExitChoice::Keep => Wish::Leave(remembered(at_exit)),
    }
}

static IS_LOOKING: AtomicBool = AtomicBool::new(false);

/// The user wants the window closed. It closes when nothing runs or the user's word is known; else the user is asked, once. What runs
/// stands in the ledger, which may be slow, so it is not read on this thread: that is the one that draws.
pub fn close_requested(handle: &AppHandle, close: &CloseRequestApi) {
    // Leaving goes by the event loop's own exit in every case, so the window itself is never closed here.
    close.prevent_close();
    let app = {
        let leaving = leaving();
        if leaving.code.is_some() {
            return;
        }
        leaving.app.clone()
    };
    let Some(app) = app else { return leave(0, None) };
    // Whoever closes again while it is being looked gets the same answer.
    if IS_LOOKING.swap(true, Ordering::SeqCst) {
        return;
    }
    let asking = handle.clone();
    let answer = move |(at_exit, running): (ExitChoice, Running)| {
        IS_LOOKING.store(false, Ordering::SeqCst);
        match judge(at_exit, &running) {
            Wish::Leave(choice) => leave(0, Some(choice)),
            Wish::Ask => {
                let on_main = asking.clone();
                if let Err(error) = asking.run_on_main_thread(move || ask(&on_main, running)) {
                    tracing::error!("Nobody could be asked about what runs: {error}");
                }
            }
        }
    };
    let look = move || (app.at_exit(), app.running().map_err(|error| error.message));
    if let Err(error) = look_within(LOOK_PATIENCE, look, answer) {
        IS_LOOKING.store(false, Ordering::SeqCst);
        tracing::error!("What runs could not be looked at: {error}");
        ask(handle, Err(error.to_string()));
    }
}

/// Looks on a thread of its own and hands on what was seen; when that takes too long, that it is not known.
fn look_within(
    patience: Duration,
    look: impl FnOnce() -> (ExitChoice, Running) + Send + 'static,
    answer: impl FnOnce((ExitChoice, Running)) + Send + 'static,
) -> std::io::Result<()> {
    let (send, seen) = std::sync::mpsc::channel();
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("exit-look").spawn(move || {
        let _ = send.send(look());
    })?;
    thread("exit-answer").spawn(move || {
        let unknown = |_| (ExitChoice::Ask, Err("the ledger does not answer".to_owned()));
        answer(seen.recv_timeout(patience).unwrap_or_else(unknown));
    })?;
    Ok(())
}

/// The page asks, in the window. When it cannot (not painted yet, crashed, hung), a dialog of the system's own does. Main thread.
fn ask(handle: &AppHandle, running: Running) {
    let Some(window) = window::main_window(handle) else { return leave(0, None) };
    if !window::is_painted() {
        return ask_natively(handle, &running);
    }
    let asking = handle.clone();
    let begun = window::ask_for_life(&window, move |is_alive| {
        if is_alive && asking.emit("quit-requested", question(&running)).is_ok() {
            return;
        }
        let on_main = asking.clone();
        if let Err(error) = asking.run_on_main_thread(move || ask_natively(&on_main, &running)) {
            tracing::error!("Nobody could be asked about what runs: {error}");
        }
    });
    if let Err(error) = begun {
        tracing::error!("Nobody could be asked about what runs: {error}");
    }
}

/// What the page is told: what runs, or why that is not known.
fn question(running: &Running) -> serde_json::Value {
    match running {
        Ok(running) => serde_json::json!({ "running": running, "unknown": null }),
        Err(why) => serde_json::json!({ "running": [], "unknown": why }),
    }
}

static IS_ASKING: AtomicBool = AtomicBool::new(false);

fn ask_natively(handle: &AppHandle, running: &Running) {
    let Some(window) = window::main_window(handle) else { return leave(0, None) };
    if IS_ASKING.swap(true, Ordering::SeqCst) {
        return;
    }
    linux::ask_before_quitting(&window, &in_words(running), |answer| {
        IS_ASKING.store(false, Ordering::SeqCst);
        match answer {
            linux::QuitAnswer::Stop => leave(0, Some(AtExit::Stop)),
            linux::QuitAnswer::Keep => leave(0, Some(AtExit::Keep)),
            linux::QuitAnswer::Cancel => {}
        }
    });
}

fn in_words(running: &Running) -> String {
    let what = match running {
        Ok(running) => {
            let names: Vec<_> =
                running.iter().map(|one| format!("{} ({})", one.agent, one.project)).collect();
            format!("Still running: {}. They", names.join(", "))
        }
        Err(why) => {
            format!("Whether anything is still running is not known: {why}. Agents and tasks that do")
        }
    };
    format!("{what} can go on without a window and are found again at the next start.")
}

/// The event loop's own part: the window goes from the screen first, then the shutdown runs, on the main thread.
pub fn on_run_event(handle: &AppHandle, event: &RunEvent) {
    match event {
        RunEvent::ExitRequested { .. } => {
            linux::bus::leave();
            for window in handle.webview_windows().values() {
                window::remember_size(window);
                linux::hide_now(window);
            }
        }
        RunEvent::Exit => {
            let code = *leaving().code.get_or_insert(0);
            shut_down();
            linux::exit_now(code);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carillon_api::app::RunningKind;

    fn one() -> RunningAgent {
        RunningAgent { kind: RunningKind::Agent, agent: "planner".to_owned(), project: "atlas".to_owned() }
    }

    #[test]
    fn asks_only_when_something_may_run_and_no_word_is_remembered() {
        let unknown = || Err("the disk does not answer".to_owned());
        assert_eq!(judge(ExitChoice::Ask, &Ok(vec![one()])), Wish::Ask);
        assert_eq!(judge(ExitChoice::Ask, &unknown()), Wish::Ask, "not known is not nothing");
        assert_eq!(judge(ExitChoice::Ask, &Ok(vec![])), Wish::Leave(AtExit::Stop));
        assert_eq!(judge(ExitChoice::Stop, &unknown()), Wish::Leave(AtExit::Stop));
        assert_eq!(judge(ExitChoice::Keep, &Ok(vec![one()])), Wish::Leave(AtExit::Keep));
    }

    #[test]
    fn a_look_that_does_not_come_back_is_answered_as_not_known() {
        let (stuck, wait) = std::sync::mpsc::channel::<()>();
        let (send, heard) = std::sync::mpsc::channel();
        let look = move || {
            let _ = wait.recv();
            (ExitChoice::Stop, Ok(vec![]))
        };
        look_within(Duration::from_millis(20), look, move |seen| drop(send.send(seen))).expect("threads");
        let (at_exit, running) = heard.recv().expect("an answer");
        assert_eq!(judge(at_exit, &running), Wish::Ask);
        drop(stuck);
        assert!(heard.recv().is_err(), "there is one answer");
    }

    #[test]
    fn what_is_not_known_is_said_and_not_taken_for_nothing() {
        let unknown = Err("the disk does not answer".to_owned());
        assert_eq!(question(&unknown)["unknown"], "the disk does not answer");
        assert!(in_words(&unknown).starts_with("Whether anything is still running is not known: the disk"));
        assert_eq!(question(&Ok(vec![one()]))["running"][0]["agent"], "planner");
        assert!(in_words(&Ok(vec![one()])).starts_with("Still running: planner (atlas). They can go on"));
    }

    #[test]
    fn who_cannot_be_asked_gets_the_remembered_word_else_a_stop() {
        assert_eq!(remembered(ExitChoice::Keep), AtExit::Keep);
        assert_eq!(remembered(ExitChoice::Stop), AtExit::Stop);
        assert_eq!(remembered(ExitChoice::Ask), AtExit::Stop);
    }
}
