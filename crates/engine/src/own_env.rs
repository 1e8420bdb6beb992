//! The environment that this process was started with.
//!
//! A toolkit sets variables of its own in it (GTK, WebKit and the app itself, so that an AppImage finds its files): none of those is the
//! user's, and reading the environment while they do it is not safe. So it is read once, before they start.

use std::sync::OnceLock;

use crate::host::Vars;

static AT_START: OnceLock<Vars> = OnceLock::new();

/// The environment as it was at the first call. A program with a toolkit calls it first of all.
pub fn own_env() -> &'static Vars {
    AT_START.get_or_init(|| std::env::vars_os().collect())
}
