//! The commands on workdirs; part of the list in [`crate::commands`].

use carillon_engine::requests::{How, MergeOrder, NewWorkdir};
use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::asks::caller;
use crate::commands::{answer, list, read};
use crate::error::ApiError;
use crate::wire_workdirs::{Workdir, WorkdirDiff, WorkdirStopped};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkdirCreate {
    project: Option<String>,
    name: Option<String>,
    base: Option<String>,
    from: Option<String>,
    from_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkdirsList {
    project: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneWorkdir {
    workdir: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MergeHow {
    #[default]
    Merge,
    Squash,
    Rebase,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkdirMerge {
    workdir: String,
    #[serde(default)]
    how: MergeHow,
    into: Option<String>,
    #[serde(default)]
    keep: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkdirRemove {
    workdir: String,
    #[serde(default)]
    keep: bool,
}

/// The commands; `None` when `method` is not one of them.
pub(crate) fn call_blocking(app: &App, method: &str, params: &Value) -> Option<Result<Value, ApiError>> {
    let engine = app.engine();
    let params = params.clone();
    Some(match method {
        "workdir_create" => read(params).and_then(|r: WorkdirCreate| {
            answer(Workdir::from(engine.new_workdir(NewWorkdir {
                project: r.project,
                name: r.name,
                base: r.base,
                caller: caller(r.from, r.from_run),
                agent: None,
            })?))
        }),
        "workdirs_list" => read(params)
            .and_then(|r: WorkdirsList| list::<Workdir, _>(engine.workdirs(r.project.as_deref())?)),
        "workdir_show" => {
            read(params).and_then(|r: OneWorkdir| answer(Workdir::from(engine.workdir(&r.workdir)?)))
        }
        "workdir_diff" => {
            read(params).and_then(|r: OneWorkdir| answer(WorkdirDiff::from(engine.workdir_diff(&r.workdir)?)))
        }
        "workdir_merge" => read(params).and_then(|r: WorkdirMerge| {
            let how = match r.how {
                MergeHow::Merge => How::Merge,
                MergeHow::Squash => How::Squash,
                MergeHow::Rebase => How::Rebase,
            };
            let order = MergeOrder { into: r.into, how, keep: r.keep };
            answer(Workdir::from(engine.merge_workdir(&r.workdir, order)?))
        }),
        "workdir_remove" => read(params).and_then(|r: WorkdirRemove| {
            answer(Workdir::from(engine.remove_workdir(&r.workdir, r.keep, "user")?))
        }),
        "workdir_stop" => read(params)
            .and_then(|r: OneWorkdir| answer(WorkdirStopped::from(engine.stop_workdir(&r.workdir)?))),
        "workdir_restore" => {
            read(params).and_then(|r: OneWorkdir| answer(Workdir::from(engine.restore_workdir(&r.workdir)?)))
        }
        _ => return None,
    })
}
