//! The table `profiles`. It holds the names of a profile's variables, never their values.

use carillon_core::id::ProfileId;
use carillon_core::words::{Policy, Profile};
use rusqlite::{Connection, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};

/// All profiles in the order in which they were made. Their variables come without values.
pub fn list(db: &Connection) -> Sql<Vec<Profile>> {
    let mut statement = db.prepare_cached(
        "SELECT id, name, adapter, program, args, env_names, version, policy, allow_prefixes, concurrency
           FROM profiles ORDER BY created_ms, rowid",
    )?;
    statement.query_map([], read)?.collect()
}

/// Adds a profile.
pub fn insert(tx: &Connection, profile: &Profile, now_ms: i64) -> Sql<()> {
    let names: Vec<&str> = profile.env.iter().map(|(name, _)| name.as_str()).collect();
    tx.execute(
        "INSERT INTO profiles (id, name, adapter, program, args, env_names, version, policy, created_ms,
           allow_prefixes, concurrency)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        (
            profile.id.as_str(),
            &profile.name,
            &profile.adapter,
            &profile.program,
            serde_json::json!(profile.args).to_string(),
            serde_json::json!(names).to_string(),
            &profile.version,
            policy_word(profile.policy),
            now_ms,
            serde_json::json!(profile.allow_prefixes).to_string(),
            profile.concurrency,
        ),
    )?;
    changes::note(tx, Tag::Profile, profile.id.as_str(), None)
}

/// Writes everything of a profile that may be changed.
pub fn update(tx: &Connection, profile: &Profile) -> Sql<bool> {
    let names: Vec<&str> = profile.env.iter().map(|(name, _)| name.as_str()).collect();
    let changed = tx.execute(
        "UPDATE profiles SET program = ?2, args = ?3, env_names = ?4, version = ?5, policy = ?6, allow_prefixes = ?7,
                concurrency = ?8
          WHERE id = ?1",
        (
            profile.id.as_str(),
            &profile.program,
            serde_json::json!(profile.args).to_string(),
            serde_json::json!(names).to_string(),
            &profile.version,
            policy_word(profile.policy),
            serde_json::json!(profile.allow_prefixes).to_string(),
            profile.concurrency,
        ),
    )?;
    if changed == 1 {
        changes::note(tx, Tag::Profile, profile.id.as_str(), None)?;
    }
    Ok(changed == 1)
}

/// Records what version the program told.
pub fn set_version(tx: &Connection, id: &ProfileId, version: Option<&str>) -> Sql<()> {
    let changed = tx.execute(
        "UPDATE profiles SET version = ?2 WHERE id = ?1 AND version IS NOT ?2",
        (id.as_str(), version),
    )?;
    if changed > 0 {
        changes::note(tx, Tag::Profile, id.as_str(), None)?;
    }
    Ok(())
}

/// Removes a profile; false when it was not there.
pub fn delete(tx: &Connection, id: &ProfileId) -> Sql<bool> {
    let gone = tx.execute("DELETE FROM profiles WHERE id = ?1", [id.as_str()])? == 1;
    if gone {
        changes::note(tx, Tag::Profile, id.as_str(), None)?;
    }
    Ok(gone)
}

/// The word of a policy.
pub fn policy_word(policy: Policy) -> &'static str {
    match policy {
        Policy::Never => "never",
        Policy::Ask => "ask",
        Policy::Allow => "allow",
    }
}

fn read(row: &Row<'_>) -> Sql<Profile> {
    let id: String = row.get(0)?;
    let id = ProfileId::parse(&id).map_err(|e| unreadable("profiles", e))?;
    let words = |index: usize| -> Sql<Vec<String>> {
        let text: String = row.get(index)?;
        serde_json::from_str(&text).map_err(|e| unreadable("profiles", e))
    };
    let policy: String = row.get(7)?;
    let policy = match policy.as_str() {
        "never" => Policy::Never,
        "ask" => Policy::Ask,
        "allow" => Policy::Allow,
        other => return Err(unreadable("profiles", format!("policy {other:?}"))),
    };
    Ok(Profile {
        id,
        name: row.get(1)?,
        adapter: row.get(2)?,
        program: row.get(3)?,
        args: words(4)?,
        env: words(5)?.into_iter().map(|name| (name, String::new())).collect(),
        version: row.get(6)?,
        policy,
        allow_prefixes: words(8)?,
        concurrency: row.get(9)?,
    })
}
