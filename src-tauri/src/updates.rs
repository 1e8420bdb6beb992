//! Looking for updates, which is off until the user turns it on and says where to look.
//!
//! Invariants: with it off nothing is asked of anybody; only what `rules` admits is asked; what is put in the place of the AppImage was
//! signed by the key, under the name of the version and variant that it is said to be; the file is replaced whole or not at all (see
//! `replace`), and what runs goes on. The download and its signature are the updater plugin's; the page cannot call that plugin.
//!
//! Unit tests stand here and in `rules` and `replace`; `tests/appimage` updates a real AppImage from a server of its own.

mod replace;
mod rules;

use crate::appimage::AppImage;
use crate::linux;
use carillon_api::{ApiError, Code};
use carillon_core::limits;
use carillon_engine::own_env;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tauri::{AppHandle, Manager};
use tauri_plugin_updater::{Update, UpdaterExt};

/// How often it is looked for updates while the app runs.
const EVERY: Duration = Duration::from_millis(limits::UPDATE_EVERY_MS);
/// How long the list of versions may take, and how long a download may be silent.
const PATIENCE: Duration = Duration::from_millis(limits::UPDATE_PATIENCE_MS);
/// What the updater would set for this process while other threads read the environment, if nobody had before: where OpenSSL's
/// certificates are on Debian. So it is set before there are threads.
const CERTIFICATES: [(&str, &str); 2] =
    [("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"), ("SSL_CERT_DIR", "/etc/ssl/certs")];

/// Sets what the updater would set later. Call `own_env` before it.
///
/// # Safety
/// Call it before any other thread exists: it changes the environment.
pub unsafe fn prepare() {
    for (name, value) in CERTIFICATES {
        if std::env::var_os(name).is_none() {
            // SAFETY: the caller promises that there is no other thread.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

/// The variables that [`prepare`] has set; programs that we start for the user do not get them.
pub fn own_variables() -> Vec<&'static str> {
    let was_set = |name: &str| own_env().iter().any(|(other, _)| other == name);
    CERTIFICATES.into_iter().map(|(name, _)| name).filter(|name| !was_set(name)).collect()
}

/// What the user wants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Wish {
    /// Whether it is looked for updates at all.
    on: bool,
    /// Where; empty when nothing was said.
    address: String,
    /// The public key that updates are signed with; empty when nothing was said.
    key: String,
}

impl Wish {
    /// What was kept. What cannot be read counts as off.
    fn read(file: &Path) -> Wish {
        fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write(&self, file: &Path) -> io::Result<()> {
        let next = file.with_extension("json.new");
        let mut open =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        open.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(&next, file)
    }
}

/// What the page is told.
#[derive(Debug, Clone, Serialize)]
pub struct Told {
    on: bool,
    address: String,
    key: String,
    /// This build brings the key of who made it; the user's own is not asked for then.
    has_key: bool,
    /// It runs from an AppImage, which can be replaced. Anything else is updated by what installed it.
    can_install: bool,
    /// When the list of versions was last read, in Unix milliseconds.
    checked_ms: Option<u64>,
    found: Option<Found>,
    /// The version that stands in the AppImage's place by now.
    installed: Option<String>,
    /// Why the last look or installation came to nothing.
    error: Option<String>,
}

/// A newer version.
#[derive(Debug, Clone, Serialize)]
struct Found {
    version: String,
    /// What its makers say of it.
    notes: Option<String>,
}

#[derive(Default)]
struct Seen {
    checked_ms: Option<u64>,
    update: Option<Update>,
    installed: Option<String>,
    error: Option<String>,
    /// The version that the desktop was told of.
    told: Option<String>,
}

/// All about updates, kept by the app.
pub struct Updates {
    file: PathBuf,
    appimage: Option<AppImage>,
    /// What the build brings: an address and a key, each empty in a build that has none.
    built_in: Wish,
    wish: Mutex<Wish>,
    seen: Mutex<Seen>,
    /// One look or installation at a time.
    turn: tokio::sync::Mutex<()>,
    changed: tokio::sync::Notify,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads what the user wants from the data directory, and looks for updates from time to time where it is wanted. Main thread, once.
pub fn open(handle: &AppHandle, home: &Path, appimage: Option<AppImage>) {
    let file = home.join("updates.json");
    if let Some(appimage) = &appimage {
        replace::tidy(&appimage.file);
    }
    let updates = Updates {
        wish: Mutex::new(Wish::read(&file)),
        file,
        appimage,
        built_in: built_in(handle.config().plugins.0.get("updater")),
        seen: Mutex::default(),
        turn: tokio::sync::Mutex::default(),
        changed: tokio::sync::Notify::new(),
    };
    handle.manage(updates);
    let handle = handle.clone();
    tauri::async_runtime::spawn(async move { watch(&handle).await });
}

/// The address and key that whoever made this build has put into its configuration.
fn built_in(config: Option<&serde_json::Value>) -> Wish {
    let text =
        |value: Option<&serde_json::Value>| value.and_then(|v| v.as_str()).unwrap_or_default().to_owned();
    let of = |name: &str| config.and_then(|config| config.get(name));
    Wish { on: false, address: text(of("endpoints").and_then(|list| list.get(0))), key: text(of("pubkey")) }
}

/// Looks when it is turned on and then once in a while; while it is off it only waits to be turned on.
async fn watch(handle: &AppHandle) {
    let updates = handle.state::<Updates>();
    loop {
        let changed = updates.changed.notified();
        if updates.wish().is_complete() {
            if let Err(error) = check(handle).await {
                tracing::info!("updates: {}", error.message);
            }
            tell_desktop(handle);
            let _ = tokio::time::timeout(EVERY, changed).await;
        } else {
            changed.await;
        }
    }
}

impl Wish {
    fn is_complete(&self) -> bool {
        self.on && !self.address.is_empty() && !self.key.is_empty()
    }
}

impl Updates {
    /// What holds: the user's word, and where there is none the build's. A key of the build is the only one.
    fn wish(&self) -> Wish {
        let wish = lock(&self.wish).clone();
        let or = |one: &str, other: &str| if one.is_empty() { other.to_owned() } else { one.to_owned() };
        Wish {
            on: wish.on,
            address: or(&wish.address, &self.built_in.address),
            key: or(&self.built_in.key, &wish.key),
        }
    }

    fn is_thin(&self) -> bool {
        self.appimage.as_ref().is_some_and(|appimage| !appimage.is_full())
    }

    /// What the page shows.
    pub fn told(&self) -> Told {
        let (wish, seen) = (self.wish(), lock(&self.seen));
        let found = seen.update.as_ref().filter(|update| seen.installed.as_ref() != Some(&update.version));
        Told {
            on: wish.on,
            address: wish.address,
            key: wish.key,
            has_key: !self.built_in.key.is_empty(),
            can_install: self.appimage.is_some(),
            checked_ms: seen.checked_ms,
            found: found.map(|update| Found { version: update.version.clone(), notes: update.body.clone() }),
            installed: seen.installed.clone(),
            error: seen.error.clone(),
        }
    }

    /// Keeps what the user said.
    ///
    /// # Errors
    /// [`Code::Invalid`] for an address or a key that cannot be used, [`Code::Failed`] when it could not be kept.
    pub fn set(&self, change: &Change) -> Result<(), ApiError> {
        let mut wish = lock(&self.wish);
        let mut next = wish.clone();
        if let Some(address) = change.address.as_deref().map(str::trim) {
            if !address.is_empty() {
                rules::address(address).map_err(|why| wrong("address", &why))?;
            }
            address.clone_into(&mut next.address);
        }
        if let Some(key) = change.key.as_deref().map(str::trim) {
            if !key.is_empty() {
                rules::key(key).map_err(|why| wrong("key", &why))?;
            }
            key.clone_into(&mut next.key);
        }
        next.on = change.on.unwrap_or(next.on);
        if next == *wish {
            return Ok(());
        }
        next.write(&self.file).map_err(|error| {
            ApiError::failed(format!("{} could not be written: {error}", self.file.display()))
        })?;
        // What was found elsewhere, or before it was turned off, is not known any more.
        let mut seen = lock(&self.seen);
        *seen = Seen { installed: seen.installed.take(), ..Seen::default() };
        drop(seen);
        *wish = next;
        drop(wish);
        self.changed.notify_waiters();
        Ok(())
    }

    /// Keeps what came of a look or an installation, for the page.
    fn note<T>(&self, outcome: Result<T, ApiError>) -> Result<T, ApiError> {
        lock(&self.seen).error = outcome.as_ref().err().map(|error| error.message.clone());
        outcome
    }
}

fn wrong(what: &str, why: &str) -> ApiError {
    ApiError::invalid(format!("the {what} for updates cannot be used: {why}"))
}

/// What the page changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    on: Option<bool>,
    address: Option<String>,
    key: Option<String>,
}

/// Looks for a newer version now.
///
/// # Errors
/// [`Code::Refused`] while it is off, [`Code::Failed`] when nothing could be learned.
pub async fn check(handle: &AppHandle) -> Result<(), ApiError> {
    let updates = handle.state::<Updates>();
    let _turn = updates.turn.lock().await;
    let wish = updates.wish();
    if !wish.on {
        let message = "updates are off, so nobody is asked for any".to_owned();
        return Err(ApiError { code: Code::Refused, message, hint: Some("turn them on first".to_owned()) });
    }
    let outcome = ask(handle, &updates, &wish).await;
    // Nothing is told of an answer to what the user has meanwhile taken back.
    if updates.wish() != wish {
        return Ok(());
    }
    let update = updates.note(outcome)?;
    let mut seen = lock(&updates.seen);
    seen.checked_ms = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_millis()).ok());
    seen.update = update;
    Ok(())
}

async fn ask(handle: &AppHandle, updates: &Updates, wish: &Wish) -> Result<Option<Update>, ApiError> {
    let address = rules::address(&wish.address).map_err(|why| wrong("address", &why))?;
    let key = rules::key(&wish.key).map_err(|why| wrong("key", &why))?;
    let is_here = rules::is_here(&address);
    let failed = |error: tauri_plugin_updater::Error| {
        ApiError::failed(format!("it could not be looked for updates: {error}"))
    };
    let thin = if updates.is_thin() { "-thin" } else { "" };
    let builder = handle
        .updater_builder()
        .endpoints(vec![address])
        .map_err(failed)?
        .pubkey(key)
        .target(format!("linux-{}{thin}", std::env::consts::ARCH))
        .timeout(PATIENCE)
        // Nobody leads a question that began with TLS anywhere without it.
        .configure_client(move |client| {
            client.https_only(!is_here).connect_timeout(PATIENCE).read_timeout(PATIENCE)
        });
    let builder = if is_here { builder.no_proxy() } else { builder };
    let updater = builder.build().map_err(failed)?;
    updater.check().await.map_err(failed)
}

/// Downloads the version that was found, and puts it in the AppImage's place. What runs goes on; the next start is the new one.
///
/// # Errors
/// [`Code::Refused`] when there is nothing to install or nothing that can be replaced, [`Code::Failed`] when the download or its
/// signature is not good, or the file cannot be replaced. Then it is as it was.
pub async fn install(handle: &AppHandle) -> Result<(), ApiError> {
    let updates = handle.state::<Updates>();
    let _turn = updates.turn.lock().await;
    let update = lock(&updates.seen).update.clone().filter(|_| updates.wish().on);
    let refused = |message: &str, hint: &str| {
        Err(ApiError { code: Code::Refused, message: message.to_owned(), hint: Some(hint.to_owned()) })
    };
    let Some(appimage) = &updates.appimage else {
        return refused("only an AppImage replaces itself", "update Carillon the way it was installed");
    };
    let Some(update) = update else {
        return refused("no newer version is known", "look for updates first");
    };
    updates.note(put_in_place(&update, appimage, updates.is_thin()).await)?;
    tracing::info!("updated file={} version={}", appimage.file.display(), update.version);
    lock(&updates.seen).installed = Some(update.version);
    Ok(())
}

async fn put_in_place(update: &Update, appimage: &AppImage, is_thin: bool) -> Result<(), ApiError> {
    if !rules::may_be_asked(&update.download_url) {
        return Err(ApiError::failed(
            "the new version would come from an address that others may change on its way",
        ));
    }
    let bytes = download(update).await?;
    // Only now, as the signature is checked with the download.
    let (name, expected) =
        (rules::signed_name(&update.signature), rules::file_name(&update.version, is_thin));
    if name.as_ref() != Some(&expected) {
        let name = name.unwrap_or_else(|| "no name".to_owned());
        return Err(ApiError::failed(format!("the signature is for {name}, not for {expected}")));
    }
    let file = appimage.file.clone();
    let replaced = tokio::task::spawn_blocking(move || (replace::replace(&file, &bytes), file)).await;
    match replaced {
        Ok((Ok(()), _)) => Ok(()),
        Ok((Err(error), file)) => {
            Err(ApiError::failed(format!("{} could not be replaced: {error}", file.display())))
        }
        Err(error) => Err(ApiError::failed(format!("the file could not be replaced: {error}"))),
    }
}

/// The bytes of a new version, when its signature is good.
async fn download(update: &Update) -> Result<Vec<u8>, ApiError> {
    // The time limit of the question is not one of the answer, which is large: only silence ends it.
    let (too_much, is_too_much) = tokio::sync::oneshot::channel();
    let (mut too_much, mut total) = (Some(too_much), 0usize);
    let count = |bytes: usize, _| {
        total = total.saturating_add(bytes);
        if total > limits::UPDATE_MAX_BYTES
            && let Some(too_much) = too_much.take()
        {
            let _ = too_much.send(());
        }
    };
    tokio::select! {
        biased;
        Ok(()) = is_too_much => Err(ApiError::failed("the new version is larger than any Carillon is")),
        bytes = update.download(count, || ()) => {
            bytes.map_err(|error| ApiError::failed(format!("the new version could not be used: {error}")))
        }
    }
}

/// Says once on the desktop that there is a newer version.
fn tell_desktop(handle: &AppHandle) {
    let updates = handle.state::<Updates>();
    let version = {
        let mut seen = lock(&updates.seen);
        let version = seen.update.as_ref().map(|update| update.version.clone());
        if version.is_none() || version == seen.told || version == seen.installed {
            return;
        }
        seen.told.clone_from(&version);
        version.unwrap_or_default()
    };
    let body = format!("Version {version} is there. The settings tell of it.");
    let _ = handle.run_on_main_thread(move || linux::notify("Carillon can be updated", &body));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn updates(folder: &Path, built_in: Wish) -> Updates {
        let file = folder.join("updates.json");
        Updates {
            wish: Mutex::new(Wish::read(&file)),
            file,
            appimage: None,
            built_in,
            seen: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            changed: tokio::sync::Notify::new(),
        }
    }

    fn change(value: serde_json::Value) -> Change {
        serde_json::from_value(value).expect("a change")
    }

    #[test]
    fn it_is_off_and_asks_nobody_until_all_three_are_said() {
        use base64::Engine as _;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let key = base64::engine::general_purpose::STANDARD.encode([b"Ed".as_slice(), &[7; 40]].concat());
        let one = updates(folder.path(), Wish::default());
        assert!(!one.told().on && !one.wish().is_complete());
        one.set(&change(json!({ "on": true }))).expect("kept");
        assert!(one.told().on && !one.wish().is_complete(), "nobody to ask");
        one.set(&change(json!({ "address": " https://example.org/latest.json " }))).expect("kept");
        assert!(!one.wish().is_complete(), "no key to know it by");
        one.set(&change(json!({ "key": key }))).expect("kept");
        assert!(one.wish().is_complete());
        // It is there at the next start, and what cannot be read is off.
        assert!(updates(folder.path(), Wish::default()).wish().is_complete());
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&one.file).expect("there").permissions());
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&one.file, "{\"on\":tr").expect("written");
        assert_eq!(Wish::read(&one.file), Wish::default());
        one.set(&change(json!({ "on": false }))).expect("kept");
        assert!(!one.wish().is_complete());
    }

    #[test]
    fn what_cannot_be_used_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let one = updates(folder.path(), Wish::default());
        for bad in
            [json!({ "address": "http://example.org/", "on": true }), json!({ "key": "RW", "on": true })]
        {
            assert!(one.set(&change(bad)).is_err_and(|error| error.code == Code::Invalid));
        }
        assert_eq!(one.wish(), Wish::default());
        assert!(serde_json::from_value::<Change>(json!({ "no": true })).is_err());
    }

    #[test]
    fn a_builds_own_key_is_the_only_one_and_its_address_is_where_the_user_named_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = json!({ "pubkey": "theirs", "endpoints": ["https://example.org/a"] });
        let one = updates(folder.path(), built_in(Some(&config)));
        *lock(&one.wish) = Wish { on: true, address: String::new(), key: "mine".to_owned() };
        assert_eq!(
            (one.wish().key.as_str(), one.wish().address.as_str()),
            ("theirs", "https://example.org/a")
        );
        lock(&one.wish).address = "https://example.org/b".to_owned();
        assert_eq!(one.wish().address, "https://example.org/b");
        let none = json!({ "pubkey": "", "endpoints": [] });
        assert_eq!(built_in(Some(&none)), Wish::default());
        assert_eq!(built_in(None), Wish::default());
    }
}
