//! `carillon project`.

use std::process::ExitCode;

use carillon_api::ApiError;
use serde_json::json;

use crate::args::Project;
use crate::connect::Connection;
use crate::outcome::{print, text};
use crate::table;
use crate::usage_words::with_used;

pub(crate) fn run(command: Project, json: bool) -> Result<ExitCode, ApiError> {
    match command {
        Project::Add { path } => {
            let absolute = std::path::absolute(&path)
                .map_err(|e| ApiError::failed(format!("{} cannot be resolved: {e}", path.display())))?;
            let mut engine = Connection::open()?;
            let project = engine.ask("project_add", json!({"path": absolute.to_string_lossy()}))?;
            Ok(print(&project, json, |p| format!("opened {} ({})\n", text(p, "name"), text(p, "root"))))
        }
        Project::List => {
            let projects = Connection::open()?.ask("projects_list", json!({}))?;
            let columns = [("ID", "id"), ("NAME", "name"), ("USED", "used"), ("ROOT", "root")];
            Ok(print(&projects, json, |list| {
                table::rows(
                    &with_used(list.clone()),
                    &columns,
                    "no project is open; `carillon project add PATH` opens one",
                )
            }))
        }
    }
}
