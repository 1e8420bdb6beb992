//! The session bus, where there is one: the first start has a name on it, and a second one asks that name for its window.
//!
//! Who is first is decided by the lock on the data directory alone, so it does not matter when a name is missing, late or somebody else's.
//! The bus is the better messenger: it carries what the desktop gave the second start so that it may come to the front. Without a bus, or
//! without an answer, the engine's socket carries the wish.

use carillon_engine::own_env;
use gtk::gio::{self, BusNameOwnerFlags, BusType, DBusConnection, DBusNodeInfo};
use gtk::glib::{self, Variant, VariantDict, variant::ToVariant};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;

/// The name of the app's own data directory; another directory's name has its hash behind it.
const NAME: &str = "dev.carillon.desktop";
/// As much of a hash as two data directories on one machine need to differ, in hexadecimal digits.
const HASH_DIGITS: usize = 16;
/// How long the first start may take to answer, in milliseconds. After that it is asked by its socket.
const PATIENCE_MS: i32 = 2_000;
/// What desktops ask an app for (freedesktop.org, "Desktop Entry Specification", "D-Bus Activation").
const APPLICATION: &str = "org.freedesktop.Application";
const INTERFACE: &str = "<node><interface name='org.freedesktop.Application'>\
    <method name='Activate'><arg type='a{sv}' name='platform_data' direction='in'/></method>\
    </interface></node>";
/// What the desktop gives a start so that its window may take the focus: in the environment, and as it is handed on.
const STARTUP: [(&str, &str); 2] =
    [("DESKTOP_STARTUP_ID", "desktop-startup-id"), ("XDG_ACTIVATION_TOKEN", "activation-token")];

static OWNED: Mutex<Option<gio::OwnerId>> = Mutex::new(None);

/// The name that the app of this data directory has. `is_chosen`: it is not the user's usual one.
pub fn name_of(home: &Path, is_chosen: bool) -> String {
    if !is_chosen {
        return NAME.to_owned();
    }
    // Links to one directory are one directory.
    let home = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let hash = glib::compute_checksum_for_bytes(
        glib::ChecksumType::Sha256,
        &glib::Bytes::from(home.as_os_str().as_bytes()),
    );
    let hash = hash.unwrap_or_default();
    format!("{NAME}.H{}", &hash[..hash.len().min(HASH_DIGITS)])
}

/// Where the object stands, as the specification makes it from the name.
fn object_path(name: &str) -> String {
    format!("/{}", name.replace('.', "/"))
}

/// Whether there is a bus to be had as things are. Without that, GLib would start one, which nobody would end.
fn is_there() -> bool {
    let is_file = |folder: std::ffi::OsString| Path::new(&folder).join("bus").exists();
    std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty())
        || std::env::var_os("XDG_RUNTIME_DIR").is_some_and(is_file)
}

/// The session bus, when there is one.
pub fn session() -> Option<DBusConnection> {
    is_there().then(|| gio::bus_get_sync(BusType::Session, gio::Cancellable::NONE).ok()).flatten()
}

/// Takes the name, and has `activate` called, on the main thread, whenever somebody asks for the window; its argument is what the desktop
/// gave the one who asks. Without a bus nothing happens. Main thread.
pub fn answer(name: &str, activate: impl Fn(Option<String>) + Send + Sync + 'static) {
    let interface = DBusNodeInfo::for_xml(INTERFACE).ok().and_then(|node| node.lookup_interface(APPLICATION));
    let (Some(bus), Some(interface)) = (session(), interface) else { return };
    // The bus may end before the app does; that is no reason to end with it.
    bus.set_exit_on_close(false);
    let registered = bus.register_object(
        &object_path(name),
        &interface,
        move |_, _, _, _, _, parameters, invocation| {
            activate(startup_id(&parameters));
            invocation.return_value(None);
        },
        |_, _, _, _, _| ().to_variant(),
        |_, _, _, _, _, _| false,
    );
    if let Err(error) = registered {
        tracing::warn!("A second start will not be heard by the session bus: {error}");
        return;
    }
    let owned = gio::bus_own_name_on_connection(
        &bus,
        name,
        BusNameOwnerFlags::DO_NOT_QUEUE,
        |_, name| tracing::info!("bus name={name}"),
        |_, name| tracing::info!("the session bus has given {name} to somebody else, or has ended"),
    );
    *OWNED.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(owned);
}

/// Gives the name back: a second start must not ask an app for its window that is about to end. Main thread.
pub fn leave() {
    if let Some(owned) = OWNED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
        gio::bus_unown_name(owned);
        if let Some(bus) = session() {
            let _ = bus.flush_sync(gio::Cancellable::NONE);
        }
    }
}

/// Asks the app of that name for its window. False when nobody of that name answers. Any thread.
pub fn raise(name: &str) -> bool {
    let Some(bus) = session() else { return false };
    let given = VariantDict::new(None);
    for (variable, word) in STARTUP {
        let value = own_env().iter().find(|(name, _)| name == variable).and_then(|(_, value)| value.to_str());
        if let Some(value) = value {
            given.insert_value(word, &value.to_variant());
        }
    }
    let asked = bus.call_sync(
        Some(name),
        &object_path(name),
        APPLICATION,
        "Activate",
        Some(&Variant::tuple_from_iter([given.end()])),
        None,
        gio::DBusCallFlags::NO_AUTO_START,
        PATIENCE_MS,
        gio::Cancellable::NONE,
    );
    asked.is_ok()
}

/// What the desktop gave the one who asks.
fn startup_id(parameters: &Variant) -> Option<String> {
    let given = VariantDict::new(Some(&parameters.try_child_value(0)?));
    STARTUP.iter().rev().find_map(|(_, word)| given.lookup_value(word, None)?.get::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_data_directory_has_a_name_of_its_own_that_a_bus_takes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (one, link, other) =
            (folder.path().join("one"), folder.path().join("link"), folder.path().join("other"));
        std::fs::create_dir(&one).expect("a folder");
        std::os::unix::fs::symlink(&one, &link).expect("a link");
        assert_eq!(name_of(&one, false), NAME);
        assert_eq!(name_of(&one, true), name_of(&link, true), "a link to it is the same directory");
        assert_ne!(name_of(&one, true), name_of(&other, true));
        for name in [name_of(&one, true), NAME.to_owned()] {
            assert!(gio::dbus_is_name(&name) && !gio::dbus_is_unique_name(&name), "{name}");
            assert!(Variant::parse(None, &format!("objectpath '{}'", object_path(&name))).is_ok());
        }
    }

    #[test]
    fn what_the_desktop_gave_is_handed_on_and_nonsense_is_not() {
        let call = |word: &str, value: Variant| {
            let given = VariantDict::new(None);
            given.insert_value(word, &value);
            Variant::tuple_from_iter([given.end()])
        };
        assert_eq!(
            startup_id(&call("desktop-startup-id", "x_TIME5".to_variant())).as_deref(),
            Some("x_TIME5")
        );
        assert_eq!(startup_id(&call("activation-token", "t".to_variant())).as_deref(), Some("t"));
        assert_eq!(startup_id(&call("activation-token", 5u32.to_variant())), None);
        assert_eq!(startup_id(&call("else", "t".to_variant())), None);
    }
}
