//! `carillon profile`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use carillon_api::{ApiError, Code};
use serde_json::json;

use crate::args::Profile;
use crate::connect::Connection;
use crate::outcome::{print, text};
use crate::table;

pub(crate) fn run(command: Profile, json: bool) -> Result<ExitCode, ApiError> {
    match command {
        Profile::Add { name, adapter, program, args, env } => {
            let env = parse_env(&env)?;
            let program = absolute_if_path(program)?;
            let request =
                json!({"name": name, "adapter": adapter, "program": program, "args": args, "env": env});
            let profile = Connection::open()?.call("profile_add", request)?;
            Ok(print(&profile, json, |p| format!("added profile {}\n", text(p, "name"))))
        }
        Profile::List => {
            let profiles = Connection::open()?.ask("profiles_list", json!({}))?;
            let columns = [
                ("ID", "id"),
                ("NAME", "name"),
                ("ADAPTER", "adapter"),
                ("PROGRAM", "program"),
                ("VERSION", "version"),
                ("POLICY", "policy"),
            ];
            Ok(print(&profiles, json, |list| {
                table::rows(list, &columns, "there is no profile; `carillon profile detect` looks for agents")
            }))
        }
        Profile::Detect => {
            let found = Connection::open()?.ask("profile_detect", json!({}))?;
            let columns = [
                ("ADAPTER", "adapter"),
                ("VERSION", "version"),
                ("PROGRAM", "program"),
                ("PROBLEM", "problem"),
            ];
            Ok(print(&found, json, |list| {
                table::rows(list, &columns, "none of claude, codex, gemini, opencode is on your PATH")
            }))
        }
    }
}

fn parse_env(env: &[String]) -> Result<BTreeMap<&str, &str>, ApiError> {
    env.iter()
        .map(|pair| {
            // The value is not repeated in the message: it may be a secret.
            pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| ApiError {
                code: Code::Invalid,
                message: "a value of --env has no NAME=".to_owned(),
                hint: Some("write it as NAME=VALUE".to_owned()),
            })
        })
        .collect()
}

/// The engine has another present directory than the caller.
fn absolute_if_path(program: String) -> Result<String, ApiError> {
    if !program.contains('/') {
        return Ok(program);
    }
    let absolute = std::path::absolute(&program)
        .map_err(|e| ApiError::failed(format!("{program:?} cannot be resolved: {e}")))?;
    Ok(absolute.to_string_lossy().into_owned())
}
