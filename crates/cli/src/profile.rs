//! `carillon profile`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use carillon_api::{ApiError, Code};
use carillon_core::plain::plain;
use serde_json::{Value, json};

use crate::args::{Policy, Profile};
use crate::connect::Connection;
use crate::outcome::{print, text};
use crate::table;

pub(crate) fn run(command: Profile, json: bool) -> Result<ExitCode, ApiError> {
    match command {
        Profile::Add { name, adapter, program, args, env, policy, allow, concurrency } => {
            let env = parse_env(&env)?;
            let program = absolute_if_path(program)?;
            let request = json!({
                "name": name,
                "adapter": adapter,
                "program": program,
                "args": args,
                "env": env,
                "policy": policy.map(Policy::word),
                "allow_prefixes": allow,
                "concurrency": concurrency,
            });
            let profile = Connection::open()?.call("profile_add", request)?;
            Ok(print(&profile, json, |p| format!("added profile {}\n", text(p, "name"))))
        }
        Profile::Set { name, program, args, no_args, env, policy, allow, no_allow, concurrency } => {
            let given = |list: Vec<String>, none: bool| Some(list).filter(|list| none || !list.is_empty());
            let env: BTreeMap<&str, Option<&str>> = env
                .iter()
                .map(|pair| {
                    pair.split_once('=').map_or((pair.as_str(), None), |(name, value)| (name, Some(value)))
                })
                .collect();
            let request = json!({
                "profile": name,
                "program": program.map(absolute_if_path).transpose()?,
                "args": given(args, no_args),
                "env": env,
                "policy": policy.map(Policy::word),
                "allow_prefixes": given(allow, no_allow),
                "concurrency": concurrency,
            });
            let profile = Connection::open()?.call("profile_set", request)?;
            Ok(print(&profile, json, |p| format!("changed profile {}\n", text(p, "name"))))
        }
        Profile::Test { name } => {
            let said = Connection::open()?.call("profile_test", json!({"profile": name}))?;
            Ok(print(&said, json, |said| {
                let output = said.get("output").and_then(Value::as_str).unwrap_or_default();
                let lines = output.lines().map(|line| format!("  {}\n", plain(line)));
                std::iter::once(format!("{}\n", text(said, "said"))).chain(lines).collect()
            }))
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
                ("AT ONCE", "concurrency"),
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
