use std::path::PathBuf;

use carillon_agents::Adapter::{Acp, Claude, Codex, Gemini, Opencode, Plain};
use carillon_agents::terminal::terminal_plan;
use carillon_agents::turn::{Session, TurnOrder, TurnPlan, Unsuitable, plan, put_into};
use carillon_agents::{Adapter, Vars};
use serde_json::Value;

use crate::support::{UUID, mcp, order};

const ROLE: &str = "You are \"alice\".\nSay 'é' \u{7f}.";
const SECRET: &str = "s3cret";

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn server() -> (Vec<String>, Vec<(String, String)>) {
    (words("mcp --quiet"), vec![("CARILLON_KEY".to_owned(), SECRET.to_owned())])
}

fn value<'a>(vars: &'a Vars, name: &str) -> &'a str {
    let found = vars.iter().find(|(other, _)| other == name).expect("the variable");
    found.1.to_str().expect("a text")
}

fn json_file(plan: &TurnPlan, name: &str) -> Value {
    let path = PathBuf::from("/run/dir with space").join(name);
    let (_, text) = plan.files.iter().find(|(file, _)| *file == path).expect("the file");
    serde_json::from_str(text).expect("JSON")
}

/// With all that an order can have.
fn full(adapter: Adapter, terminal: bool, session: Session<'static>) -> TurnPlan {
    let ((args, env), own) = (server(), words("--own arg"));
    let server = mcp(&args, &env);
    let whole = TurnOrder { args: &own, role: Some(ROLE), mcp: Some(server), session, ..order(adapter) };
    if terminal { terminal_plan(&whole) } else { plan(&whole) }.expect("a plan")
}

#[test]
fn no_argument_tells_a_secret_or_the_prompt() {
    for adapter in Adapter::ALL {
        for terminal in [false, true].into_iter().filter(|terminal| !terminal || adapter != Acp) {
            let plan = full(adapter, terminal, Session::New { id: UUID });
            let all = plan.argv.join(" ");
            assert!(!all.contains(SECRET) && !all.contains("What is 2+2?"), "{adapter}: {all}");
            assert!(plan.files.iter().all(|(path, _)| path.starts_with("/run/dir with space")), "{adapter}");
            if !terminal {
                assert!(plan.stdin.ends_with("What is 2+2?"), "{adapter}: {}", plan.stdin);
            }
        }
    }
}

#[test]
fn claude_gets_files_and_flags() {
    let plan = full(Claude, false, Session::New { id: UUID });
    let dir = "/run/dir with space";
    let expected = [
        "/opt/agent",
        "--own",
        "arg",
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--session-id",
        UUID,
        "--mcp-config",
        &format!("{dir}/claude-mcp.json"),
        "--allowedTools",
        "mcp__carillon",
        "--append-system-prompt-file",
        &format!("{dir}/role.md"),
    ];
    assert_eq!(plan.argv, expected);
    let file = json_file(&plan, "claude-mcp.json");
    let entry = &file["mcpServers"]["carillon"];
    assert_eq!((&entry["command"], &entry["env"]["CARILLON_KEY"]), (&"/opt/carillon".into(), &SECRET.into()));
    assert!(entry["timeout"].as_u64() >= Some(24 * 3_600_000) && entry["alwaysLoad"] == true);
    assert_eq!(value(&plan.env, "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"), "0");
    assert_eq!(plan.session.as_deref(), Some(UUID));
    let resumed = full(Claude, false, Session::Resume { id: UUID });
    assert!(resumed.argv.windows(2).any(|pair| pair == ["--resume", UUID]));
}

#[test]
fn codex_gets_settings_of_the_run_in_toml() {
    let plan = full(Codex, false, Session::Resume { id: UUID });
    assert_eq!(plan.argv[..6], ["/opt/agent", "--own", "arg", "exec", "--json", "--skip-git-repo-check"]);
    assert_eq!(plan.argv[plan.argv.len() - 3..], ["resume", UUID, "-"]);
    let settings: Vec<&str> =
        plan.argv.windows(2).filter(|pair| pair[0] == "-c").map(|pair| pair[1].as_str()).collect();
    let parsed: Vec<toml::Table> = settings.iter().map(|text| text.parse().expect("TOML")).collect();
    let entry = &parsed[0]["mcp_servers"]["carillon"];
    assert_eq!(entry["args"].as_array().expect("a list").len(), 2);
    assert_eq!(entry["env_vars"].as_array().expect("a list")[0].as_str(), Some("CARILLON_KEY"));
    assert_eq!(entry["tool_timeout_sec"].as_integer(), Some(86_400));
    assert_eq!(entry["default_tools_approval_mode"].as_str(), Some("approve"));
    assert_eq!(parsed[1]["developer_instructions"].as_str(), Some(ROLE));
    assert_eq!(value(&plan.env, "CARILLON_KEY"), SECRET);
    assert_eq!(plan.stdin, "What is 2+2?");
}

#[test]
fn a_role_that_is_too_long_for_an_argument_stands_before_the_prompt() {
    let role = "x".repeat(200_000);
    let plan = plan(&TurnOrder { role: Some(&role), ..order(Codex) }).expect("a plan");
    assert!(plan.argv.iter().all(|arg| arg.len() < 1_000) && plan.stdin.len() > 200_000);
}

#[test]
fn gemini_is_started_through_a_home_of_the_run() {
    let plan = full(Gemini, false, Session::New { id: UUID });
    let dir = "/run/dir with space";
    let begin = [
        "/opt/carillon",
        "agent-process",
        "gemini",
        &format!("{dir}/gemini-home"),
        &format!("{dir}/gemini-additions.json"),
        "--",
    ];
    assert_eq!(plan.argv[..6], begin);
    assert_eq!(
        plan.argv[6..],
        ["/opt/agent", "--own", "arg", "--skip-trust", "--session-id", UUID, "-o", "stream-json"]
    );
    let file = json_file(&plan, "gemini-additions.json");
    assert_eq!(file["role"], ROLE);
    let entry = &file["settings"]["mcpServers"]["carillon"];
    assert!(
        entry["trust"] == true && entry["timeout"] == 86_400_000 && entry["env"]["CARILLON_KEY"] == SECRET
    );
}

#[test]
fn opencode_gets_settings_by_its_variable() {
    let plan = full(Opencode, false, Session::Resume { id: "ses_1" });
    assert_eq!(plan.argv, words("/opt/agent run --format json -s ses_1 --own arg"));
    let settings: Value = serde_json::from_str(value(&plan.env, "OPENCODE_CONFIG_CONTENT")).expect("JSON");
    assert_eq!(
        settings["mcp"]["carillon"]["command"],
        serde_json::json!(["/opt/carillon", "mcp", "--quiet"])
    );
    assert_eq!(settings["mcp"]["carillon"]["timeout"], 86_400_000);
    assert_eq!(settings["plugin"][0], "file:///run/dir%20with%20space/opencode-turn.mjs");
    assert_eq!(settings["instructions"][0], "/run/dir with space/role.md");
    assert!(
        plan.files.iter().any(|(path, text)| path.ends_with("opencode-turn.mjs") && text.contains("gave_up"))
    );
}

/// The environment of a child of a profile with this value, once the plan has been put into it.
fn with_settings_of_profile(theirs: &str) -> Result<Vars, Unsuitable> {
    let plan = full(Opencode, false, Session::Resume { id: "ses_1" });
    let mut env: Vars = [("OPENCODE_CONFIG_CONTENT", theirs), ("A", "b")]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    put_into(&mut env, plan.env).map(|()| env)
}

#[test]
fn opencode_settings_of_the_profile_stay_beside_ours() {
    let theirs = r#"{
        // The provider of the company.
        "provider": {"corp": {"options": {"apiKey": "k"}}},
        "permission": {"bash": "allow", "carillon_*": "deny", "*": "ask"},
        "plugin": ["theirs"], "instructions": ["own.md"],
        "mcp": {"theirs": {"type": "remote"}, "carillon": {"enabled": false}}
    }"#;
    let env = with_settings_of_profile(theirs).expect("an environment");
    let text = value(&env, "OPENCODE_CONFIG_CONTENT");
    let settings: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(settings["provider"]["corp"]["options"]["apiKey"], "k");
    assert_eq!((&settings["plugin"][0], &settings["instructions"][0]), (&"theirs".into(), &"own.md".into()));
    assert_eq!(settings["plugin"][1], "file:///run/dir%20with%20space/opencode-turn.mjs");
    assert_eq!(settings["mcp"]["theirs"]["type"], "remote");
    assert_eq!(settings["mcp"]["carillon"]["enabled"], true, "ours wins where we need it");
    assert!(
        text.contains(r#""permission":{"bash":"allow","*":"ask","carillon_*":"allow"}"#),
        "the last rule that fits counts: {text}"
    );
    assert_eq!((value(&env, "A"), env.len()), ("b", 2));
    let env = with_settings_of_profile(r#"{"permission":"deny"}"#).expect("an environment");
    let text = value(&env, "OPENCODE_CONFIG_CONTENT");
    assert!(text.contains(r#""permission":{"*":"deny","carillon_*":"allow"}"#), "{text}");
    let env = with_settings_of_profile("  ").expect("an environment");
    assert!(value(&env, "OPENCODE_CONFIG_CONTENT").starts_with("{\"instructions\":"), "an empty one is none");
}

#[test]
fn opencode_settings_that_cannot_be_read_are_refused_by_their_name_and_without_their_value() {
    for theirs in ["{\"apiKey\": s3cret", "[\"s3cret\"]", "s3cret"] {
        let error = with_settings_of_profile(theirs).expect_err("it is no object of JSON").to_string();
        assert!(error.contains("OPENCODE_CONFIG_CONTENT") && !error.contains("s3cret"), "{error}");
    }
}

#[test]
fn other_agents_are_spoken_to_by_a_process_of_ours() {
    let plan = full(Acp, false, Session::Resume { id: "any:thing_1" });
    assert_eq!(plan.argv, ["/opt/carillon", "agent-process", "acp", "/run/dir with space/acp-turn.json"]);
    let turn = json_file(&plan, "acp-turn.json");
    assert_eq!((&turn["program"], &turn["resume"]), (&"/opt/agent".into(), &"any:thing_1".into()));
    assert_eq!(turn["mcp_servers"][0]["env"][0]["value"], SECRET);
}

#[test]
fn a_terminal_has_hooks_of_the_run() {
    let claude = full(Claude, true, Session::New { id: UUID });
    assert!(!claude.argv.contains(&"-p".to_owned()));
    let settings = json_file(&claude, "claude-settings.json");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "'/opt/carillon' hook Stop");
    let codex = full(Codex, true, Session::Resume { id: UUID });
    assert!(codex.argv.contains(&"notify=[\"/opt/carillon\",\"hook\",\"notify\"]".to_owned()));
    assert_eq!(codex.argv[codex.argv.len() - 2..], ["resume", UUID]);
    let gemini = json_file(&full(Gemini, true, Session::New { id: UUID }), "gemini-additions.json");
    assert_eq!(
        gemini["settings"]["hooks"]["AfterAgent"][0]["hooks"][0]["command"],
        "'/opt/carillon' hook AfterAgent"
    );
    let opencode = full(Opencode, true, Session::Resume { id: "ses_1" });
    let plugin =
        opencode.files.iter().find(|(path, _)| path.ends_with("opencode-terminal.mjs")).expect("the plug-in");
    assert!(plugin.1.starts_with("const HOOK = [\"/opt/carillon\",\"hook\"];\n"));
    assert_eq!(full(Plain, true, Session::New { id: UUID }).argv, words("/opt/agent --own arg"));
    assert!(terminal_plan(&order(Acp)).is_err_and(|error| error == Unsuitable::NoTerminal { adapter: Acp }));
}

#[test]
fn an_id_that_could_be_an_option_or_a_name_is_refused() {
    for id in ["--yolo", "a b", "", "x\ny"] {
        for adapter in Adapter::ALL {
            let order = TurnOrder { session: Session::Resume { id }, ..order(adapter) };
            assert!(matches!(plan(&order), Err(Unsuitable::SessionId { .. })), "{adapter}: {id:?}");
        }
    }
    // Codex would take it for a name, and begin a new conversation when nobody has it.
    let named = TurnOrder { session: Session::Resume { id: "my-thread" }, ..order(Codex) };
    assert!(plan(&named).is_err());
}
