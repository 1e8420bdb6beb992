//! The window's types are generated from the shapes here. With `CARILLON_BINDINGS=write` the file is
//! written; without, the test says whether it is as it should be.

use std::path::Path;

use carillon_api::commands::{AgentAdd, ProfileAdd, ProfileSet, ProjectAdd};
use carillon_api::wire::{
    Agent, AgentState, AtExit, Change, Changes, Check, CheckState, ClipboardWrite, Detected, Diagnosis, Info,
    Layout, Level, Mode, Notice, Policy, Profile, ProfileTested, Project, Run, RunState, Settings, Theme,
    Usage, UserPrograms,
};
use carillon_api::wire_asks::{
    AfterChildren, Ask, AskChild, AskState, ChildKind, DeliveredBy, Turn, TurnBrief, TurnEvent,
    TurnEventKind, TurnEvents, TurnKind, TurnState, WaitingFor, Wake,
};
use carillon_api::wire_limits::{Approval, ApprovalState, Limit};
use carillon_api::wire_residue::{Residue, ResidueApplied, ResidueKind, ResidueProgress, ResidueVerdict};
use carillon_api::wire_tasks::{Message, MessageKind, MessageState, Task, TaskOutput, TaskState};
use carillon_api::wire_temp::{TempLevel, TempUse};
use carillon_api::wire_workdirs::{DiffFile, Workdir, WorkdirDiff, WorkdirState, WorkdirStopped};
use carillon_api::{ApiError, Code};
use ts_rs::{Config, TS};

const HEADER: &str = "\
// Generated from crates/api. Do not edit: `npm run bindings` writes it.

export type Id = string;
export type AdapterName = \"claude\" | \"codex\" | \"gemini\" | \"opencode\" | \"acp\" | \"plain\";
";

/// The words of the change log, as the store writes them.
fn change_tags() -> String {
    use carillon_store::changes::Tag;
    let tags = [
        Tag::Project,
        Tag::Profile,
        Tag::Agent,
        Tag::Run,
        Tag::Settings,
        Tag::Layout,
        Tag::Task,
        Tag::Inbox,
        Tag::Wake,
        Tag::Ask,
        Tag::Turn,
        Tag::Approval,
        Tag::Limit,
        Tag::Workdir,
        Tag::Residue,
    ];
    let words: Vec<String> = tags.iter().map(|tag| format!("\"{}\"", tag.as_str())).collect();
    format!("export type ChangeTag = {};\n", words.join(" | "))
}

fn bindings() -> String {
    let config = Config::default();
    let mut out = HEADER.to_owned();
    out.push_str(&change_tags());
    out.push_str(&format!(
        "\n/** Most tasks in one list. */\nexport const TASKS_LISTED_MAX = {};\n",
        carillon_core::limits::TASKS_LISTED_MAX
    ));
    macro_rules! export {
        ($($name:ty),* $(,)?) => {$(
            out.push_str(&format!("\nexport {}\n", <$name>::decl(&config)));
        )*};
    }
    export!(
        Code,
        ApiError,
        Usage,
        Project,
        ProjectAdd,
        Policy,
        Profile,
        ProfileAdd,
        ProfileSet,
        ProfileTested,
        UserPrograms,
        TempLevel,
        TempUse,
        RunState,
        Run,
        AgentState,
        Mode,
        Agent,
        AgentAdd,
        Detected,
        Level,
        Notice,
        Info,
        Theme,
        AtExit,
        ClipboardWrite,
        Settings,
        CheckState,
        Check,
        Diagnosis,
        Change,
        Changes,
        Layout,
        TaskState,
        Task,
        TaskOutput,
        MessageKind,
        MessageState,
        Message,
        AskState,
        AfterChildren,
        DeliveredBy,
        WaitingFor,
        ChildKind,
        AskChild,
        Ask,
        TurnKind,
        TurnState,
        Turn,
        TurnEventKind,
        TurnEvent,
        TurnEvents,
        TurnBrief,
        Wake,
        Limit,
        ApprovalState,
        Approval,
        WorkdirState,
        Workdir,
        DiffFile,
        WorkdirDiff,
        WorkdirStopped,
        ResidueKind,
        ResidueVerdict,
        Residue,
        ResidueApplied,
        ResidueProgress,
    );
    out
}

#[test]
fn the_windows_types_are_those_of_the_api() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/generated/api.ts");
    let wanted = bindings();
    if std::env::var_os("CARILLON_BINDINGS").is_some_and(|value| value == "write") {
        std::fs::write(&path, &wanted).expect("the generated file can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is stale: run `npm run bindings`", path.display());
}
