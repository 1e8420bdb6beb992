//! The list of commands. The window, the command line and scripts all come through here.

use std::time::Duration;

use carillon_core::words::Mode as CoreMode;
use carillon_engine::Engine;
use carillon_engine::requests::{NewAgent, NewProfile, ProfileChange, Workdir};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use ts_rs::TS;

use crate::app::App;
use crate::error::ApiError;
use crate::wire::{
    Agent, Changes, Detected, Diagnosis, Info, Layout, Level, Mode, Notice, Policy, Profile, ProfileTested,
    Project, Run, Settings, UserPrograms,
};

/// A command without arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Names a project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneProject {
    project: String,
}

/// Names a profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneProfile {
    profile: String,
}

/// Names an agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneAgent {
    agent: String,
}

/// Names a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneRun {
    run: String,
}

/// Opens a repository.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ProjectAdd {
    /// An absolute path in it.
    pub path: String,
}

/// Adds a profile.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ProfileAdd {
    /// Its name.
    pub name: String,
    /// `claude`, `codex`, `gemini`, `opencode`, `acp` or `plain`.
    pub adapter: String,
    /// A path, or a name on the user's PATH.
    pub program: String,
    /// Arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of its own, by name.
    #[serde(default)]
    #[ts(type = "Record<string, string>")]
    pub env: std::collections::BTreeMap<String, String>,
    /// What its agents may run in the background; left out: what its adapter asks for.
    #[serde(default)]
    #[ts(optional)]
    pub policy: Option<Policy>,
    /// Beginnings of commands that need no approval.
    #[serde(default)]
    pub allow_prefixes: Vec<String>,
    /// Most headless turns of its agents that run at once; left out: any number.
    #[serde(default)]
    #[ts(optional)]
    pub concurrency: Option<u32>,
}

/// Changes a profile; what is left out stays.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ProfileSet {
    /// By name or id.
    pub profile: String,
    /// A path, or a name on the user's PATH.
    #[serde(default)]
    #[ts(optional)]
    pub program: Option<String>,
    /// Arguments.
    #[serde(default)]
    #[ts(optional)]
    pub args: Option<Vec<String>>,
    /// Variables by name; null takes one away, those that are not named stay.
    #[serde(default)]
    #[ts(type = "Record<string, string | null>")]
    pub env: std::collections::BTreeMap<String, Option<String>>,
    /// What its agents may run in the background.
    #[serde(default)]
    #[ts(optional)]
    pub policy: Option<Policy>,
    /// Beginnings of commands that need no approval.
    #[serde(default)]
    #[ts(optional)]
    pub allow_prefixes: Option<Vec<String>>,
    /// Most headless turns of its agents that run at once; 0 takes the bound away.
    #[serde(default)]
    #[ts(optional)]
    pub concurrency: Option<u32>,
}

/// Lists agents.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentsList {
    project: Option<String>,
}

/// Adds an agent.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AgentAdd {
    /// Its name.
    pub name: String,
    /// A project by name, id or path.
    pub project: String,
    /// A profile by name or id.
    pub profile: String,
    /// Terminal unless said otherwise.
    #[serde(default)]
    #[ts(optional)]
    pub mode: Option<Mode>,
    /// What it is told to be.
    #[serde(default)]
    #[ts(optional)]
    pub role: Option<String>,
    /// `root`, or an absolute path.
    #[serde(default)]
    #[ts(optional)]
    pub workdir: Option<String>,
}

/// Starts an agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentStart {
    agent: String,
    cols: Option<u16>,
    rows: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutSet {
    project: String,
    layout: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsSet {
    patch: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TerminalWrite {
    run: String,
    data: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TerminalResize {
    run: String,
    cols: u16,
    rows: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangesWait {
    after: Option<u64>,
    #[serde(default)]
    wait_ms: u64,
}

/// What only the user may do: by these an agent could free itself of what binds it.
const USERS: [&str; 11] = [
    "approval_decide",
    "limit_clear",
    "limit_hold",
    "limit_resume",
    "profile_add",
    "profile_remove",
    "profile_set",
    "project_remove",
    "residue_apply",
    "settings_set",
    "terminal_write",
];

/// As [`call`], for the process `caller` where it is known.
pub(crate) async fn call_from(
    app: &App,
    caller: Option<u32>,
    method: &str,
    params: Value,
) -> Result<Value, ApiError> {
    if let Some(caller) = caller.filter(|_| USERS.contains(&method)) {
        let app = app.clone();
        let looked = tokio::task::spawn_blocking(move || app.engine().is_users(caller)).await;
        looked.map_err(|error| ApiError::failed(format!("who calls cannot be found out: {error}")))??;
    }
    call(app, method, params).await
}

/// Calls one command by name.
pub async fn call(app: &App, method: &str, params: Value) -> Result<Value, ApiError> {
    if method == "changes_wait" {
        let request: ChangesWait = read(params)?;
        let changes = app.engine().changes(request.after, Duration::from_millis(request.wait_ms)).await?;
        return answer(Changes::from(changes));
    }
    if let Some(called) = crate::tasks::call_waiting(app, method, &params).await {
        return called;
    }
    if let Some(called) = crate::asks::call_waiting(app, method, &params).await {
        return called;
    }
    // The others touch files, processes or the ledger: they run where blocking is no harm.
    let (app, method) = (app.clone(), method.to_owned());
    let called = tokio::task::spawn_blocking(move || call_blocking(&app, &method, params)).await;
    called.unwrap_or_else(|error| Err(ApiError::failed(format!("the command broke off: {error}"))))
}

fn call_blocking(app: &App, method: &str, params: Value) -> Result<Value, ApiError> {
    if let Some(called) = crate::tasks::call_blocking(app, method, &params) {
        return called;
    }
    if let Some(called) = crate::asks::call_blocking(app, method, &params) {
        return called;
    }
    if let Some(called) = crate::limits::call_blocking(app, method, &params) {
        return called;
    }
    if let Some(called) = crate::workdirs::call_blocking(app, method, &params) {
        return called;
    }
    if let Some(called) = crate::residue::call_blocking(app, method, &params) {
        return called;
    }
    let engine = app.engine();
    match method {
        "info" => read(params).and_then(|Nothing {}| answer(info(app))),
        "raise" => read(params).and_then(|Nothing {}| answer(app.raise())),
        "doctor" => read(params).and_then(|Nothing {}| answer(Diagnosis::of(engine.doctor()?))),
        "projects_list" => read(params).and_then(|Nothing {}| list::<Project, _>(engine.project_views()?)),
        "project_add" => {
            read(params).and_then(|r: ProjectAdd| answer(project(engine, engine.add_project(&r.path)?)?))
        }
        "project_remove" => read(params).and_then(|r: OneProject| answer(engine.remove_project(&r.project)?)),
        "demo_open" => read(params).and_then(|Nothing {}| answer(project(engine, engine.open_demo()?)?)),
        "profiles_list" => read(params).and_then(|Nothing {}| profiles(engine)),
        "profile_add" => {
            read(params).and_then(|r| answer(Profile::from(engine.add_profile(new_profile(r))?)))
        }
        "profile_set" => read(params).and_then(|r| answer(Profile::from(change_profile(engine, r)?))),
        "profile_test" => read(params)
            .and_then(|r: OneProfile| answer(ProfileTested::from(engine.test_profile(&r.profile)?))),
        "profile_test_stop" => read(params)
            .and_then(|r: OneProfile| answer(json!({"stopped": engine.stop_profile_test(&r.profile)?}))),
        "user_programs" => {
            read(params).and_then(|Nothing {}| answer(UserPrograms::from(engine.user_programs())))
        }
        "profile_remove" => read(params).and_then(|r: OneProfile| answer(engine.remove_profile(&r.profile)?)),
        "profile_detect" => {
            read(params).and_then(|Nothing {}| list::<Detected, _>(engine.detect_profiles()?))
        }
        "agents_list" => {
            read(params).and_then(|r: AgentsList| list::<Agent, _>(engine.agents(r.project.as_deref())?))
        }
        "agent_add" => read(params).and_then(|r| answer(Agent::from(engine.add_agent(new_agent(r)?)?))),
        "agent_start" => read(params)
            .and_then(|r: AgentStart| answer(Agent::from(engine.start_agent(&r.agent, r.cols.zip(r.rows))?))),
        "agent_stop" => {
            read(params).and_then(|r: OneAgent| answer(Agent::from(engine.stop_agent(&r.agent)?)))
        }
        "agent_remove" => read(params).and_then(|r: OneAgent| answer(engine.remove_agent(&r.agent)?)),
        "run_show" => read(params).and_then(|r: OneRun| answer(Run::from(engine.run(&r.run)?))),
        "layout_get" => read(params).and_then(|r: OneProject| answer(layout(engine, &r.project)?)),
        "layout_set" => {
            read(params).and_then(|r: LayoutSet| answer(engine.set_layout(&r.project, &r.layout)?))
        }
        "settings_get" => read(params).and_then(|Nothing {}| answer(Settings::from(engine.settings()?))),
        "settings_set" => {
            read(params).and_then(|r: SettingsSet| answer(Settings::from(engine.set_settings(r.patch)?)))
        }
        "terminal_text" => {
            read(params).and_then(|r: OneRun| answer(json!({"text": engine.terminal_text(&r.run)?})))
        }
        "terminal_write" => {
            read(params).and_then(|r: TerminalWrite| answer(engine.terminal_write(&r.run, &r.data)?))
        }
        "terminal_resize" => {
            read(params).and_then(|r: TerminalResize| answer(engine.terminal_resize(&r.run, r.cols, r.rows)?))
        }
        other => Err(ApiError::invalid(format!("there is no command {other:?}"))),
    }
}

pub(crate) fn read<T: DeserializeOwned>(params: Value) -> Result<T, ApiError> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    serde_json::from_value(params).map_err(|e| ApiError::invalid(format!("the request cannot be read: {e}")))
}

/// Nothing to tell is an empty object, so that an answer is always JSON that can grow.
pub(crate) fn answer<T: Serialize>(value: T) -> Result<Value, ApiError> {
    let value = serde_json::to_value(value).map_err(|e| ApiError::failed(e.to_string()))?;
    Ok(if value.is_null() { Value::Object(Map::new()) } else { value })
}

pub(crate) fn list<T: Serialize + From<U>, U>(rows: Vec<U>) -> Result<Value, ApiError> {
    answer(rows.into_iter().map(T::from).collect::<Vec<T>>())
}

fn info(app: &App) -> Info {
    let engine = app.engine();
    let notice = |n: carillon_engine::engine::Notice| Notice {
        level: if n.is_error { Level::Error } else { Level::Warn },
        text: n.text,
        hint: n.hint,
    };
    Info {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        home: engine.paths().home.to_string_lossy().into_owned(),
        socket: engine.paths().socket.to_string_lossy().into_owned(),
        notices: engine.notices().into_iter().map(notice).collect(),
        demo: app.is_demo(),
    }
}

fn project(engine: &Engine, project: carillon_core::words::Project) -> Result<Project, ApiError> {
    Ok(Project::from(engine.project_view(project)?))
}

fn layout(engine: &Engine, project: &str) -> Result<Layout, ApiError> {
    Ok(Layout { layout: engine.layout(project)?.unwrap_or(Value::Null) })
}

/// The profiles with the limits that hold.
fn profiles(engine: &Engine) -> Result<Value, ApiError> {
    let mut all: Vec<Profile> = engine.profiles()?.into_iter().map(Profile::from).collect();
    for view in engine.limits()? {
        let id = view.profile.id.as_str();
        if let Some(profile) = all.iter_mut().find(|profile| profile.id == id) {
            profile.limited_until_ms = view.limited.until_ms;
        }
    }
    answer(all)
}

fn change_profile(engine: &Engine, request: ProfileSet) -> Result<carillon_core::words::Profile, ApiError> {
    let change = ProfileChange {
        program: request.program,
        args: request.args,
        env: request.env.into_iter().collect(),
        policy: request.policy.map(Policy::into),
        allow_prefixes: request.allow_prefixes,
        concurrency: request.concurrency,
    };
    Ok(engine.change_profile(&request.profile, change)?)
}

fn new_profile(request: ProfileAdd) -> NewProfile {
    NewProfile {
        name: request.name,
        adapter: request.adapter,
        program: request.program,
        args: request.args,
        env: request.env.into_iter().collect(),
        policy: request.policy.map(Policy::into),
        allow_prefixes: request.allow_prefixes,
        concurrency: request.concurrency,
    }
}

fn new_agent(request: AgentAdd) -> Result<NewAgent, ApiError> {
    let workdir = match request.workdir.as_deref() {
        None | Some("root") => Workdir::Root,
        Some("new") => Workdir::New,
        Some(path) => Workdir::Path(path.into()),
    };
    Ok(NewAgent {
        name: request.name,
        project: request.project,
        profile: request.profile,
        mode: match request.mode {
            None | Some(Mode::Terminal) => CoreMode::Terminal,
            Some(Mode::Headless) => CoreMode::Headless,
        },
        role: request.role.unwrap_or_default(),
        workdir,
    })
}
