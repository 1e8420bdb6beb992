//! Reading and changing what the user has set.

use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::error::Error;
use crate::settings::Settings;

impl Engine {
    /// All settings.
    pub fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings::from_rows(&self.read(carillon_store::settings::all)?))
    }

    /// Changes the settings that `patch` names, all or none.
    pub fn set_settings(&self, patch: Map<String, Value>) -> Result<Settings, Error> {
        let settings = self.settings()?.patched(&patch)?;
        self.request_blocking(move |inner| {
            inner.store.write(|tx| {
                for (key, value) in &patch {
                    carillon_store::settings::put(tx, key, &value.to_string())?;
                }
                Ok(())
            })?;
            Ok(settings)
        })
    }
}
