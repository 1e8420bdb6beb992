//! The commands on session limits and approvals; part of the list in [`crate::commands`].

use carillon_core::limit::Event;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::commands::{answer, list, read};
use crate::error::ApiError;
use crate::wire_limits::{Approval, Limit};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneLimit {
    profile: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    approval: String,
    approve: bool,
}

/// The commands; `None` when `method` is not one of them.
pub(crate) fn call_blocking(app: &App, method: &str, params: &Value) -> Option<Result<Value, ApiError>> {
    let engine = app.engine();
    let params = params.clone();
    let change = |params: Value, event: Event| -> Result<Value, ApiError> {
        let request: OneLimit = read(params)?;
        answer(match engine.change_limit(&request.profile, event)? {
            Some(view) => json!(Limit::from(view)),
            None => json!({}),
        })
    };
    Some(match method {
        "limits_list" => read(params).and_then(|Nothing {}| list::<Limit, _>(engine.limits()?)),
        "limit_clear" => change(params, Event::Cleared),
        "limit_resume" => change(params, Event::ResumeAsked),
        "limit_hold" => change(params, Event::HoldAsked),
        "approvals_list" => read(params).and_then(|Nothing {}| list::<Approval, _>(engine.approvals()?)),
        "approval_decide" => read(params)
            .and_then(|r: Decision| answer(Approval::from(engine.decide_approval(&r.approval, r.approve)?))),
        _ => return None,
    })
}
