//! The table `layouts`: how the panes of a project stand. The text is the window's own JSON.

use carillon_core::id::ProjectId;
use rusqlite::{Connection, OptionalExtension};

use crate::changes::{self, Tag};
use crate::error::Sql;

/// The saved layout.
pub fn get(db: &Connection, project: &ProjectId) -> Sql<Option<String>> {
    db.prepare_cached("SELECT layout FROM layouts WHERE project = ?1")?
        .query_row([project.as_str()], |row| row.get(0))
        .optional()
}

/// Saves a layout, in place of the one before.
pub fn put(tx: &Connection, project: &ProjectId, layout: &str) -> Sql<()> {
    tx.execute(
        "INSERT INTO layouts (project, layout) VALUES (?1, ?2)
         ON CONFLICT (project) DO UPDATE SET layout = excluded.layout",
        (project.as_str(), layout),
    )?;
    changes::note(tx, Tag::Layout, project.as_str(), Some(project.as_str()))
}
