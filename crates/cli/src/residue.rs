//! `carillon clean`: what is left behind, and taking away what may go.

use std::process::ExitCode;

use carillon_api::ApiError;
use serde_json::{Value, json};

use crate::args::Clean;
use crate::breaks_off::BreaksOff;
use crate::connect::{Connection, project_key};
use crate::outcome::{print, text};
use crate::table;

pub(crate) fn run(clean: Clean, json: bool) -> Result<ExitCode, ApiError> {
    if !clean.apply && !clean.consent.is_empty() {
        return Err(ApiError::invalid("--consent says what --apply may take away; add --apply"));
    }
    if !clean.apply && !clean.only.is_empty() {
        return Err(ApiError::invalid("--only says what --apply may take away; add --apply"));
    }
    let project = clean.project.map(|project| project_key(Some(project))).transpose()?;
    let mut engine = Connection::open()?;
    if !clean.apply {
        let found = engine.ask("residue_list", json!({"kind": clean.kind, "project": project}))?;
        return Ok(print(&found, json, report));
    }
    let kinds: Vec<String> = clean.kind.into_iter().collect();
    let breaks_off = BreaksOff::on_interrupt(engine.socket(), "residue_cancel", json!({}));
    let only = (!clean.only.is_empty()).then_some(clean.only);
    let request = json!({"consent": clean.consent, "only": only, "kinds": kinds, "project": project});
    let applied = engine.call("residue_apply", request)?;
    drop(breaks_off);
    tell(&applied);
    Ok(print(&applied, json, outcome))
}

/// What is there, for people.
fn report(found: &Value) -> String {
    let columns = [
        ("ID", "id"),
        ("KIND", "kind"),
        ("VERDICT", "verdict"),
        ("SIZE", "size"),
        ("AGE", "age"),
        ("WHAT", "path"),
        ("WHY", "why"),
    ];
    let rows: Vec<Value> = all(found).map(shown).collect();
    let mut out = table::rows(&Value::Array(rows), &columns, "nothing is left behind");
    let safe = all(found).filter(|item| item["verdict"] == "safe").count();
    if safe > 0 {
        out.push_str(&format!("\n`carillon clean --apply` takes away the {safe} that are safe\n"));
    }
    out
}

/// What became of it, for people: what is gone, and what stays with its reason.
fn outcome(applied: &Value) -> String {
    let mut out = String::new();
    for item in all(applied) {
        let (kind, path) = (text(item, "kind"), text(item, "path"));
        out.push_str(&match item["removed"].as_bool() {
            Some(true) => format!("removed  {kind}  {path}\n"),
            _ => format!("kept     {kind}  {path}: {}\n", text(item, "refused")),
        });
    }
    if out.is_empty() { "nothing is left behind\n".to_owned() } else { out }
}

/// Says on standard error what came free.
fn tell(applied: &Value) {
    let removed = all(applied).filter(|item| item["removed"] == true);
    let (mut count, mut freed) = (0, 0);
    for item in removed {
        count += 1;
        freed += item["freed_bytes"].as_u64().unwrap_or(0);
    }
    let kept = all(applied).count() - count;
    eprintln!("carillon: removed {count}, kept {kept}; {} came free", bytes(freed));
}

fn all(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

/// A row with what people read in place of numbers.
fn shown(item: &Value) -> Value {
    let mut row = item.clone();
    let size = bytes(item["bytes"].as_u64().unwrap_or(0));
    let more = if item["counted"] == false { "> " } else { "" };
    row["size"] = json!(format!("{more}{size}"));
    row["age"] = item["age_ms"].as_u64().map(age).into();
    let reasons: Vec<&str> =
        item["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    row["why"] = json!(reasons.join("; "));
    row
}

fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut shown = format!("{count} B");
    for unit in UNITS {
        if value < 1_024.0 {
            break;
        }
        value /= 1_024.0;
        shown = format!("{value:.1} {unit}");
    }
    shown
}

fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_are_short() {
        assert_eq!((bytes(0), bytes(1_023), bytes(1_536)), ("0 B".into(), "1023 B".into(), "1.5 KiB".into()));
        assert_eq!(bytes(5 * 1_024 * 1_024 * 1_024), "5.0 GiB");
        assert_eq!(
            (age(59_999), age(3_599_000), age(7_200_000)),
            ("59 s".into(), "59 min".into(), "2 h".into())
        );
        assert_eq!(age(10 * 86_400_000), "10 d");
    }

    #[test]
    fn what_stays_is_told_with_its_reason() {
        let applied = json!([
            {"kind": "temp", "path": "/t/a", "removed": true, "refused": null, "freed_bytes": 10},
            {"kind": "worktree", "path": "/w\u{1b}[31m", "removed": false, "refused": "agent x works in it"},
        ]);
        let said = outcome(&applied);
        assert_eq!(said, "removed  temp  /t/a\nkept     worktree  /w [31m: agent x works in it\n");
        assert_eq!(report(&json!([])), "nothing is left behind\n");
    }
}
