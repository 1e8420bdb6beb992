//! What the user has set, with the defaults of what he has not.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    /// As the desktop says.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// What happens to running agents when Carillon quits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitChoice {
    /// The window asks.
    Ask,
    /// They stop.
    Stop,
    /// They keep running and are found again.
    Keep,
}

/// Whether programs may write the clipboard (OSC 52).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipboardWrite {
    /// The window asks each time.
    Ask,
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// All settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Light or dark.
    pub theme: Theme,
    /// Size of the terminal's font, in CSS pixels.
    pub font_size: u8,
    /// What happens to running agents when Carillon quits.
    pub at_exit: ExitChoice,
    /// Lines of scrollback in a pane.
    pub scrollback: u32,
    /// Whether programs may write the clipboard.
    pub clipboard_write: ClipboardWrite,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            font_size: 13,
            at_exit: ExitChoice::Ask,
            scrollback: 5_000,
            clipboard_write: ClipboardWrite::Ask,
        }
    }
}

impl Settings {
    /// From the rows of the ledger. A value that this version does not know falls back alone.
    pub fn from_rows(rows: &[(String, String)]) -> Self {
        let mut settings = Self::default();
        for (key, text) in rows {
            let Ok(value) = serde_json::from_str(text) else { continue };
            let patch = Map::from_iter([(key.clone(), value)]);
            if let Ok(patched) = settings.patched(&patch) {
                settings = patched;
            }
        }
        settings
    }

    /// These settings with some replaced. An unknown key or a bad value is refused by name.
    pub fn patched(&self, patch: &Map<String, Value>) -> Result<Self, Error> {
        let failed = |e: serde_json::Error| Error::Invalid { message: format!("settings: {e}"), hint: None };
        let mut all = serde_json::to_value(self).map_err(failed)?;
        let Some(fields) = all.as_object_mut() else { return Ok(self.clone()) };
        for (key, value) in patch {
            fields.insert(key.clone(), value.clone());
        }
        let patched: Self = serde_json::from_value(all).map_err(failed)?;
        if !(6..=40).contains(&patched.font_size) {
            return Err(Error::invalid(
                "settings: font_size must be between 6 and 40",
                "choose a size in between",
            ));
        }
        if patched.scrollback > 100_000 {
            return Err(Error::invalid("settings: scrollback is at most 100000 lines", "choose fewer lines"));
        }
        Ok(patched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patch(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_patch_changes_what_it_names_and_nothing_else() {
        let settings = Settings::default().patched(&patch(json!({"theme": "dark"}))).unwrap();
        assert_eq!(settings, Settings { theme: Theme::Dark, ..Settings::default() });
        let bad = Settings::default().patched(&patch(json!({"colour": 1}))).unwrap_err();
        assert!(bad.to_string().contains("colour"), "{bad}");
        assert!(Settings::default().patched(&patch(json!({"font_size": 200}))).is_err());
    }

    #[test]
    fn a_row_of_another_version_falls_back_alone() {
        let rows = [("at_exit", "\"keep\""), ("theme", "\"sepia\""), ("later", "1")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let expected = Settings { at_exit: ExitChoice::Keep, ..Settings::default() };
        assert_eq!(Settings::from_rows(&rows), expected);
    }
}
