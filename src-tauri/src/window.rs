//! The one window: how it is made, what it may load, what happens when its page dies, and its size between two starts.

use crate::renderer::Renderer;
use crate::{exit, linux};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tauri::window::Color;
use tauri::{AppHandle, Manager, Theme, WebviewUrl, WebviewWindow, WebviewWindowBuilder, WindowEvent};

/// The window's label, as `capabilities/` knows it.
pub const LABEL: &str = "main";
/// The smallest useful size, in logical pixels: the sidebar and one terminal of 80 columns.
const MIN_SIZE: (f64, f64) = (720.0, 440.0);
/// The size of the first start, in logical pixels.
const FIRST_SIZE: (f64, f64) = (1200.0, 780.0);
/// The largest size that is believed when it is read back, in logical pixels.
const MAX_SIZE: f64 = 16_384.0;
/// A page that dies more often than this within [`CRASH_SPAN`] is not loaded again: it would only die again.
const MAX_CRASHES: usize = 5;
/// How long a page may take to answer before it counts as hung.
const PAGE_PATIENCE: Duration = Duration::from_secs(3);
/// See [`MAX_CRASHES`].
const CRASH_SPAN: Duration = Duration::from_secs(60);
/// The background behind the page until it has painted, so that nothing flashes. The page's own colours are the same.
const DARK: Color = Color(0x16, 0x18, 0x1d, 0xff);
const LIGHT: Color = Color(0xff, 0xff, 0xff, 0xff);

static HANDLE: OnceLock<AppHandle> = OnceLock::new();
static IS_PAINTED: AtomicBool = AtomicBool::new(false);

/// What the window is made from.
pub struct Look {
    /// The data directory; the web view's own files and the remembered size stand in it.
    pub home: PathBuf,
    /// How terminals draw.
    pub renderer: Renderer,
    /// The user's setting: "system", "light" or "dark".
    pub theme: String,
    /// The project to show first, when one was named on the command line.
    pub project: Option<String>,
}

/// Makes the window. Main thread.
pub fn open(handle: &AppHandle, look: &Look) -> tauri::Result<WebviewWindow> {
    let remembered = Size::read(&size_file(&look.home));
    let (theme, background) = match look.theme.as_str() {
        "dark" => (Some(Theme::Dark), DARK),
        "light" => (Some(Theme::Light), LIGHT),
        _ => (None, if linux::prefers_dark() { DARK } else { LIGHT }),
    };
    let mut builder = WebviewWindowBuilder::new(handle, LABEL, WebviewUrl::App(page_address(look).into()))
        .title("Carillon")
        .inner_size(remembered.width, remembered.height)
        .min_inner_size(MIN_SIZE.0, MIN_SIZE.1)
        .maximized(remembered.maximized)
        .theme(theme)
        .background_color(background)
        .data_directory(look.home.join("webview"))
        // The window shows its own page and nothing else; links go to the user's browser.
        .on_navigation(|url| url.scheme() == "tauri")
        .on_new_window(|_, _| tauri::webview::NewWindowResponse::Deny);
    if is_automated() {
        builder = builder.initialization_script(RECORD_FAULTS);
    }
    let window = builder.build()?;
    let events = handle.clone();
    window.on_window_event(move |event| {
        if let WindowEvent::CloseRequested { api, .. } = event {
            exit::close_requested(&events, api);
        }
    });
    let again = Mutex::new(Crashes::default());
    let on_crash = handle.clone();
    linux::on_page_death(&window, move |reason| page_died(&on_crash, &again, reason))?;
    let _ = HANDLE.set(handle.clone());
    handle.manage(SizeFile(size_file(&look.home)));
    Ok(window)
}

fn page_address(look: &Look) -> String {
    let mut address = format!("index.html?renderer={}", look.renderer.word());
    // An id is hexadecimal: it needs no escaping, and anything else has no business in an address.
    if let Some(project) = look
        .project
        .as_deref()
        .filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    {
        address.push_str("&project=");
        address.push_str(project);
    }
    address
}

/// The window, while there is one.
pub fn main_window(handle: &AppHandle) -> Option<WebviewWindow> {
    handle.get_webview_window(LABEL)
}

/// Brings the window to the front: somebody started Carillon a second time, and said so `by` "bus" or "socket". `startup_id` is what the
/// desktop gave that start, without which some keep the window where it is. Any thread.
pub fn raise(by: &str, startup_id: Option<String>) {
    let Some(handle) = HANDLE.get() else { return };
    tracing::info!("raised by={by}");
    let raised = handle.run_on_main_thread(move || {
        let Some(window) = HANDLE.get().and_then(main_window) else { return };
        if let Some(startup_id) = startup_id {
            linux::take_startup_id(&window, &startup_id);
        }
        for outcome in [window.show(), window.unminimize(), window.set_focus()] {
            if let Err(error) = outcome {
                tracing::warn!("The window could not be raised: {error}");
            }
        }
    });
    if let Err(error) = raised {
        tracing::warn!("The window could not be raised: {error}");
    }
}

/// Whether the page has painted since it was last loaded.
pub fn is_painted() -> bool {
    IS_PAINTED.load(Ordering::SeqCst)
}

/// Asks the page for a sign of life; `heard` is told, on a thread of its own, whether there was one in time.
///
/// WebKit's own word on that (`is-web-process-responsive`) stays good while nobody types or clicks, so it is of no use here.
pub fn ask_for_life(
    window: &WebviewWindow,
    heard: impl FnOnce(bool) + Send + 'static,
) -> std::io::Result<()> {
    let (send, answer) = std::sync::mpsc::channel();
    let asked = window.eval_with_callback("1", move |_| {
        let _ = send.send(());
    });
    std::thread::Builder::new()
        .name("page-watch".to_owned())
        .spawn(move || heard(asked.is_ok() && answer.recv_timeout(PAGE_PATIENCE).is_ok()))
        .map(drop)
}

/// The page calls this once, after its first paint. `js_ms` is its own count since it began to load.
#[tauri::command]
pub fn painted(js_ms: f64) {
    IS_PAINTED.store(true, Ordering::SeqCst);
    let since_exec_ms = linux::since_exec_ms().unwrap_or(f64::NAN);
    tracing::info!("painted since_exec_ms={since_exec_ms:.0} js_ms={js_ms:.0}");
}

/// The page's process ended by itself. The runs do not notice; the page is loaded again and attaches to them.
fn page_died(handle: &AppHandle, crashes: &Mutex<Crashes>, reason: &str) {
    IS_PAINTED.store(false, Ordering::SeqCst);
    tracing::warn!("The window's page ended ({reason}); it is loaded again.");
    let Some(window) = main_window(handle) else { return };
    let may_reload = crashes.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now());
    if !may_reload {
        linux::tell(
            &window,
            "The window's page keeps crashing",
            "The agents go on. Quit and start Carillon again; if it stays like this, `carillon serve` runs the same engine without a window.",
        );
    } else if let Err(error) = window.reload() {
        tracing::error!("The page could not be loaded again: {error}");
    }
}

/// When the page died lately.
#[derive(Default)]
struct Crashes(VecDeque<Instant>);

impl Crashes {
    /// Counts one more and says whether the page shall be loaded again.
    fn admit(&mut self, now: Instant) -> bool {
        while self.0.front().is_some_and(|then| now.duration_since(*then) > CRASH_SPAN) {
            self.0.pop_front();
        }
        if self.0.len() >= MAX_CRASHES {
            return false;
        }
        self.0.push_back(now);
        true
    }
}

/// Set by whoever drives the window in a test; Tauri reads the same name.
fn is_automated() -> bool {
    std::env::var("TAURI_WEBVIEW_AUTOMATION").is_ok_and(|value| value == "true")
}

/// Keeps what a test wants to see and could not hook into early enough: refusals by the content security policy, and errors.
const RECORD_FAULTS: &str = "
window.__faults = [];
const note = (kind, text) => { if (window.__faults.length < 100) window.__faults.push(kind + ': ' + text); };
document.addEventListener('securitypolicyviolation', (e) => note('csp', e.violatedDirective + ' refused ' + e.blockedURI + ' at ' + e.sourceFile + ':' + e.lineNumber));
window.addEventListener('error', (e) => note('error', e.message + ' at ' + e.filename + ':' + e.lineno));
window.addEventListener('unhandledrejection', (e) => note('rejection', (e.reason && (e.reason.stack || e.reason.message)) || JSON.stringify(e.reason)));
for (const level of ['error', 'warn']) {
  const before = console[level];
  console[level] = (...words) => { note('console.' + level, words.map(String).join(' ')); before.apply(console, words); };
}
";

struct SizeFile(PathBuf);

fn size_file(home: &Path) -> PathBuf {
    home.join("window.json")
}

/// Keeps the window's size for the next start. Main thread.
pub fn remember_size(window: &WebviewWindow) {
    let Some(file) = window.try_state::<SizeFile>() else { return };
    let size = || -> tauri::Result<Size> {
        let maximized = window.is_maximized()?;
        let logical = window.inner_size()?.to_logical::<f64>(window.scale_factor()?);
        // A maximised window keeps the size it will have when it is not, which is not known here: the one before stays.
        let before = Size::read(&file.0);
        let (width, height) =
            if maximized { (before.width, before.height) } else { (logical.width, logical.height) };
        Ok(Size { width, height, maximized })
    };
    let outcome = size().map_err(std::io::Error::other).and_then(|size| size.write(&file.0));
    if let Err(error) = outcome {
        tracing::warn!("The window's size was not kept in {}: {error}", file.0.display());
    }
}

/// The window's inner size, in logical pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Size {
    width: f64,
    height: f64,
    maximized: bool,
}

impl Size {
    /// What was kept, within sensible bounds; the first size when nothing readable was.
    fn read(file: &Path) -> Size {
        let kept = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Size>(&bytes).ok());
        let size = kept.unwrap_or(Size { width: FIRST_SIZE.0, height: FIRST_SIZE.1, maximized: false });
        Size {
            width: size.width.clamp(MIN_SIZE.0, MAX_SIZE),
            height: size.height.clamp(MIN_SIZE.1, MAX_SIZE),
            ..size
        }
    }

    fn write(self, file: &Path) -> std::io::Result<()> {
        let next = file.with_extension("json.new");
        std::fs::write(&next, serde_json::to_vec(&self)?)?;
        std::fs::rename(&next, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_kept_and_nonsense_is_not_believed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = size_file(folder.path());
        assert_eq!(Size::read(&file), Size { width: FIRST_SIZE.0, height: FIRST_SIZE.1, maximized: false });
        let size = Size { width: 900.0, height: 600.0, maximized: true };
        size.write(&file).expect("written");
        assert_eq!(Size::read(&file), size);
        std::fs::write(&file, r#"{"width":1,"height":1e9,"maximized":false}"#).expect("written");
        assert_eq!(Size::read(&file), Size { width: MIN_SIZE.0, height: MAX_SIZE, maximized: false });
        std::fs::write(&file, "{").expect("written");
        assert_eq!(Size::read(&file).width, FIRST_SIZE.0);
    }

    #[test]
    fn a_page_that_keeps_dying_is_left_alone_until_it_has_been_quiet() {
        let mut crashes = Crashes::default();
        let start = Instant::now();
        for _ in 0..MAX_CRASHES {
            assert!(crashes.admit(start));
        }
        assert!(!crashes.admit(start + CRASH_SPAN));
        assert!(crashes.admit(start + CRASH_SPAN + Duration::from_millis(1)));
    }

    #[test]
    fn only_an_id_gets_into_the_pages_address() {
        let look = |project: &str| Look {
            home: PathBuf::new(),
            renderer: Renderer::Dom,
            theme: "system".to_owned(),
            project: Some(project.to_owned()),
        };
        assert_eq!(page_address(&look("0123abc")), "index.html?renderer=dom&project=0123abc");
        assert_eq!(page_address(&look("a&renderer=webgl")), "index.html?renderer=dom");
    }
}
