//! The tools for worktrees, as a model reads of them.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::tools::{Effect, input, list_output, maybe, output, tool};

/// The tools.
pub(super) fn all() -> Vec<Tool> {
    vec![create_workdir(), list_workdirs()]
}

fn create_workdir() -> Tool {
    let description = "Make a workdir: a git worktree of this project with a branch of its own, in which you or another agent \
         can change files without disturbing the others. Use it for an experiment, or before you hand work over that would \
         touch the files you are working on. Answers with its path and branch when git has made it. Your own working \
         directory stays what it is. The user merges or removes it; you need not clean it up."
        .to_owned();
    let input = input(
        json!({
            "name": {"type": "string", "minLength": 1, "description": "Its name, which also names the branch. Left out: one is made up."},
            "base": {"type": "string", "minLength": 1, "description": "The branch or commit to begin from. Left out: the project's rule, or the branch that is checked out in the project."},
        }),
        &[],
    );
    tool("create_workdir", "Create a workdir", Effect::Adds, description, input, Some(workdir()))
}

fn list_workdirs() -> Tool {
    let description = "List the workdirs of this project: where each is, its branch, whether it holds work that is not \
         committed (`dirty`) or not merged (`ahead`), and the ones that are gone (`tombstoned`) with what would bring them \
         back."
        .to_owned();
    let output = list_output("workdirs", workdir());
    tool("list_workdirs", "List workdirs", Effect::Looks, description, input(json!({}), &[]), Some(output))
}

fn workdir() -> Value {
    let fields = json!({
        "id": {"type": "string"},
        "name": {"type": "string"},
        "project": {"type": "string"},
        "path": {"type": "string", "description": "Its absolute path."},
        "branch": {"type": ["string", "null"]},
        "base_branch": maybe("string", "The branch that its work goes to."),
        "base_commit": {"type": ["string", "null"]},
        "owner": maybe("string", "The agent that works in it."),
        "state": {"type": "string", "enum": ["creating", "active", "merged", "abandoned", "removing", "tombstoned"]},
        "dirty": maybe("boolean", "Something in it is not committed."),
        "ahead": maybe("integer", "Commits that were made in it."),
        "behind": maybe("integer", "Commits that its base has and it has not."),
        "archive_ref": maybe("string", "What brings it back."),
        "created_ms": {"type": "integer"},
        "ended_ms": {"type": ["integer", "null"]},
    });
    output(fields, &["id", "path", "state"])
}
