//! The tools for worktrees, and for what is left behind.

use carillon_api::ApiError;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::answers;
use super::arguments::{self, CreateWorkdir, ListResidue, Nothing};
use super::context::Context;

/// Makes a worktree with a branch of its own.
pub(super) async fn create_workdir(
    cx: &Context,
    arguments: Option<JsonObject>,
) -> Result<CallToolResult, ApiError> {
    let args: CreateWorkdir = arguments::read(arguments)?;
    let params = json!({"name": args.name, "base": args.base, "project": cx.project_of_user()?});
    // git makes its directory and its branch: a repeat after a lost answer would make a second one.
    let workdir = cx.engine.ask_once("workdir_create", cx.caller.signed(params)).await?;
    Ok(answers::result(answers::thing(workdir)))
}

/// The worktrees of the project.
pub(super) async fn list_workdirs(
    cx: &Context,
    arguments: Option<JsonObject>,
) -> Result<CallToolResult, ApiError> {
    let Nothing {} = arguments::read(arguments)?;
    let workdirs = cx.engine.ask("workdirs_list", json!({"project": cx.project().await?})).await?;
    let Value::Array(rows) = workdirs else {
        return Err(ApiError::failed("the engine's answer is no list of workdirs"));
    };
    Ok(answers::result(answers::rows("workdirs", rows)))
}

/// What is left behind in the project. Nothing is removed by looking.
pub(super) async fn list_residue(
    cx: &Context,
    arguments: Option<JsonObject>,
) -> Result<CallToolResult, ApiError> {
    let args: ListResidue = arguments::read(arguments)?;
    let params = json!({"kind": args.kind, "project": cx.project().await?});
    let Value::Array(rows) = cx.engine.ask("residue_list", params).await? else {
        return Err(ApiError::failed("the engine's answer is no list of residue"));
    };
    Ok(answers::result(answers::rows("residue", rows)))
}
