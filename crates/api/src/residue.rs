//! The commands on what is left behind; part of the list in [`crate::commands`].

use carillon_core::residue::Kind;
use carillon_engine::requests::{ApplyOrder, ResidueQuery};
use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::commands::{answer, list, read};
use crate::error::ApiError;
use crate::wire_residue::{Residue, ResidueApplied, ResidueProgress};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResidueList {
    kind: Option<String>,
    project: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResidueApply {
    #[serde(default)]
    consent: Vec<String>,
    only: Option<Vec<String>>,
    #[serde(default)]
    kinds: Vec<String>,
    project: Option<String>,
}

/// The commands; `None` when `method` is not one of them.
pub(crate) fn call_blocking(app: &App, method: &str, params: &Value) -> Option<Result<Value, ApiError>> {
    let engine = app.engine();
    let params = params.clone();
    Some(match method {
        "residue_list" => read(params).and_then(|r: ResidueList| {
            let query =
                ResidueQuery { kinds: kinds(&r.kind.into_iter().collect::<Vec<_>>())?, project: r.project };
            list::<Residue, _>(engine.residue(&query)?)
        }),
        "residue_apply" => read(params).and_then(|r: ResidueApply| {
            let of = ResidueQuery { kinds: kinds(&r.kinds)?, project: r.project };
            let order = ApplyOrder { of, only: r.only, consent: r.consent };
            list::<ResidueApplied, _>(engine.apply_residue(&order)?)
        }),
        "residue_progress" => {
            read(params).and_then(|Nothing {}| answer(ResidueProgress::from(engine.residue_progress())))
        }
        "residue_cancel" => {
            read(params).and_then(|Nothing {}| answer(ResidueProgress::from(engine.cancel_residue())))
        }
        _ => return None,
    })
}

fn kinds(words: &[String]) -> Result<Vec<Kind>, ApiError> {
    words.iter().map(|word| word.parse().map_err(ApiError::invalid)).collect()
}
