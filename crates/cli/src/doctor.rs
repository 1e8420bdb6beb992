//! `carillon doctor`: asks the engine, or looks around by itself when none runs.

use std::process::ExitCode;

use carillon_api::wire::Diagnosis;
use carillon_api::{ApiError, Code};
use carillon_engine::Config;
use carillon_engine::host::Host;
use carillon_engine::requests::look_around;
use serde_json::{Value, json};

use crate::connect::Connection;
use crate::outcome::{print, text};
use crate::serve::own_binary;

pub(crate) fn run(json: bool) -> Result<ExitCode, ApiError> {
    let asked = Connection::open().and_then(|mut engine| engine.ask("doctor", json!({})));
    let diagnosis = match asked {
        Err(error) if error.code == Code::NoEngine => without_engine()?,
        other => other?,
    };
    let ok = diagnosis.get("ok") == Some(&Value::Bool(true));
    let code = print(&diagnosis, json, in_words);
    Ok(if ok { code } else { ExitCode::FAILURE })
}

fn without_engine() -> Result<Value, ApiError> {
    let (home, home_is_chosen) = Config::default_home()
        .ok_or_else(|| ApiError::failed("you have no home directory; set HOME or CARILLON_HOME"))?;
    let config = Config { home, home_is_chosen, carillon_binary: own_binary()?, from_terminal: true };
    let checks = look_around(&Host::new(&config), &config);
    serde_json::to_value(Diagnosis::of(checks)).map_err(|e| ApiError::failed(e.to_string()))
}

fn in_words(diagnosis: &Value) -> String {
    let mut out = String::new();
    for check in diagnosis.get("checks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default() {
        let mark = match check.get("state").and_then(Value::as_str) {
            Some("ok") => "ok  ",
            Some("warn") => "warn",
            _ => "FAIL",
        };
        out.push_str(&format!("{mark}  {}: {}\n", text(check, "name"), text(check, "detail")));
        if check.get("hint").is_some_and(Value::is_string) {
            out.push_str(&format!("      {}\n", text(check, "hint")));
        }
    }
    out
}
