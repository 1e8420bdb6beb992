//! The table `projects`.

use carillon_core::id::ProjectId;
use carillon_core::words::Project;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

const COLUMNS: &str = "id, name, root";

/// All projects in the order in which they were opened.
pub fn list(db: &Connection) -> Sql<Vec<Project>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM projects ORDER BY created_ms, rowid"))?;
    statement.query_map([], read)?.collect()
}

/// The project with this root.
pub fn by_root(db: &Connection, root: &str) -> Sql<Option<Project>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM projects WHERE root = ?1"))?
        .query_row([root], read)
        .optional()
}

/// Adds a project.
pub fn insert(tx: &Connection, project: &Project, now_ms: i64) -> Sql<()> {
    tx.execute(
        "INSERT INTO projects (id, name, root, created_ms) VALUES (?1, ?2, ?3, ?4)",
        (project.id.as_str(), &project.name, &project.root, now_ms),
    )?;
    changes::note(tx, Tag::Project, project.id.as_str(), Some(project.id.as_str()))
}

/// Takes a project off the list; false when it was not there. Its repository is not touched.
pub fn delete(tx: &Connection, id: &ProjectId) -> Sql<bool> {
    let gone = tx.execute("DELETE FROM projects WHERE id = ?1", [id.as_str()])? == 1;
    if gone {
        changes::note(tx, Tag::Project, id.as_str(), Some(id.as_str()))?;
    }
    Ok(gone)
}

fn read(row: &Row<'_>) -> Sql<Project> {
    let id: String = row.get(0)?;
    let id = ProjectId::parse(&id).map_err(|e| unreadable("projects", e))?;
    Ok(Project { id, name: row.get(1)?, root: row.get(2)? })
}
