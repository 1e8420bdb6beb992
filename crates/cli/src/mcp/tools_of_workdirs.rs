//! The tools for worktrees, and for what is left behind, as a model reads of them.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::tools::{Effect, input, list_output, maybe, output, tool};

/// The tools.
pub(super) fn all() -> Vec<Tool> {
    vec![create_workdir(), list_workdirs(), list_residue()]
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

fn list_residue() -> Tool {
    let description = "List what Carillon and its agents have left behind in this project: temp directories, logs, worktrees, \
         branches, processes. Each row says how large it is, whose it was, and whether it may go: `safe`, `needs_consent` of \
         the user, or `blocked`, with the reasons. It only looks; the user decides what is removed. Do not remove any of it \
         yourself."
        .to_owned();
    let kinds = ["temp", "run", "log", "husk", "worktree", "branch", "process", "archive", "trash"];
    let input = input(
        json!({"kind": {"type": "string", "enum": kinds, "description": "Only those of this kind."}}),
        &[],
    );
    let row = json!({
        "id": {"type": "string"},
        "kind": {"type": "string", "enum": kinds},
        "path": {"type": ["string", "null"]},
        "project": {"type": ["string", "null"]},
        "owner": {"type": ["string", "null"]},
        "bytes": maybe("integer", "How large it is."),
        "age_ms": maybe("integer", "How old it is, in milliseconds."),
        "verdict": {"type": "string", "enum": ["safe", "needs_consent", "blocked"]},
        "reasons": {"type": "array", "items": {"type": "string"}},
    });
    let output = list_output("residue", output(row, &["id", "kind", "verdict"]));
    tool("list_residue", "List residue", Effect::Looks, description, input, Some(output))
}
