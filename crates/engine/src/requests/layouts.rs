//! The layout of a project's panes: the window's own JSON, kept as it is.

use carillon_core::limits;
use carillon_store::layouts;

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// The saved layout of a project.
    pub fn layout(&self, project: &str) -> Result<Option<serde_json::Value>, Error> {
        let project = self.project(project)?;
        let text = self.read(|db| layouts::get(db, &project.id))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Saves a layout.
    pub fn set_layout(&self, project: &str, layout: &serde_json::Value) -> Result<(), Error> {
        let project = self.project(project)?;
        let text = layout.to_string();
        if text.len() > limits::LAYOUT_MAX_BYTES {
            return Err(Error::invalid("the layout is too large", "close some panes"));
        }
        self.request_blocking(move |inner| {
            Ok(inner.store.write(|tx| layouts::put(tx, &project.id, &text))?)
        })
    }
}
