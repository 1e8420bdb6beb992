//! A program that is at work in several conversations: whose end is the turn's.

use carillon_core::id::{MessageId, RunId};
use carillon_core::message::State;
use carillon_core::turn::State as TurnState;
use carillon_core::words::Mode;
use carillon_engine::requests::{Caller, NewAgent, NewNote, NewProfile, Workdir};
use carillon_engine::world::TerminalFacts;
use serde_json::{Value, json};

use crate::fake::OnLaunch;
use crate::stage::Stage;

/// An agent whose program speaks as one of these CLIs does, at a turn that was handed to it.
struct AtTurn {
    stage: Stage,
    run: RunId,
    note: MessageId,
}

impl AtTurn {
    fn of(adapter: &str) -> Self {
        let stage = Stage::new(OnLaunch::Begin);
        let profile = NewProfile {
            name: adapter.to_owned(),
            adapter: adapter.to_owned(),
            program: "/bin/sh".to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            policy: None,
            allow_prefixes: Vec::new(),
            concurrency: None,
        };
        stage.engine.add_profile(profile).expect("a profile");
        let agent = NewAgent {
            name: "solo".to_owned(),
            project: "bells".to_owned(),
            profile: adapter.to_owned(),
            mode: Mode::Terminal,
            role: String::new(),
            workdir: Workdir::Root,
        };
        stage.engine.add_agent(agent).expect("an agent");
        stage.start("solo");
        let run = stage.run("solo").id;
        let dir = stage.home().join("runs").join(run.as_str());
        std::fs::create_dir_all(&dir).expect("a directory");
        stage.world.set_terminal(&run, TerminalFacts { tells_ends: true, ..TerminalFacts::default() });
        let note = MessageId::from_random(*uuid::Uuid::new_v4().as_bytes());
        let new = NewNote {
            id: note.clone(),
            caller: Caller::default(),
            agent: "solo".to_owned(),
            project: None,
            text: "hello".to_owned(),
        };
        stage.engine.send_note(new).expect("a note");
        stage.settle();
        stage.settle();
        // The host would have left it with Enter.
        std::fs::write(dir.join("busy"), "").expect("a file");
        Self { stage, run, note }
    }

    fn hear(&self, event: &str, data: &Value) {
        self.stage.engine.hear_hook(self.run.as_str(), event, data, None).expect("heard");
        self.stage.settle();
    }

    /// What the turn ended with, if it is over, and the conversation that the agent goes on with.
    fn ended(&self) -> (Option<String>, Option<String>) {
        let turns = self.stage.engine.turns("solo", None).expect("turns");
        let text = turns.into_iter().find_map(|turn| match turn.row.state {
            TurnState::Final { text } => Some(text),
            _ => None,
        });
        let inbox = self.stage.engine.inbox("solo").expect("an inbox");
        let state = &inbox.iter().find(|message| message.id == self.note).expect("the note").state;
        assert_eq!(matches!(state, State::Delivered { .. }), text.is_some(), "{state:?}");
        (text, self.stage.engine.agent("solo").expect("the agent").agent.session_id)
    }
}

fn done(text: &str, session: &str) -> (Option<String>, Option<String>) {
    (Some(text.to_owned()), Some(session.to_owned()))
}

#[test]
fn the_end_of_another_conversation_is_not_the_turns() {
    let at = AtTurn::of("opencode");
    let busy = |session: &str| json!({"session": session, "busy": true});
    let idle = |session: &str, text: &str| json!({"session": session, "text": text});
    at.hear("session.status", &busy("ours"));
    at.hear("session.status", &busy("theirs"));
    at.hear("session.idle", &idle("theirs", "wrong"));
    assert_eq!(at.ended(), (None, None));
    at.hear("session.idle", &idle("ours", "right"));
    assert_eq!(at.ended(), done("right", "ours"));
    at.hear("session.idle", &idle("theirs", "wrong"));
    assert_eq!(at.ended(), done("right", "theirs"), "between turns the user may go elsewhere");
}

#[test]
fn a_user_who_begins_a_new_conversation_takes_the_turn_along() {
    let at = AtTurn::of("claude");
    at.hear("UserPromptSubmit", &json!({"session_id": "old"}));
    at.hear("SessionStart", &json!({"session_id": "new", "source": "clear"}));
    at.hear("Stop", &json!({"session_id": "other", "last_assistant_message": "wrong"}));
    assert_eq!(at.ended(), (None, None));
    at.hear("UserPromptSubmit", &json!({"session_id": "new"}));
    at.hear("Stop", &json!({"session_id": "new", "last_assistant_message": "right"}));
    assert_eq!(at.ended(), done("right", "new"));
}

#[test]
fn a_title_that_codex_has_looked_for_is_no_answer() {
    let at = AtTurn::of("codex");
    let notify = |thread: &str, kept: bool, text: &str| json!({"type": "agent-turn-complete", "thread-id": thread, "last-assistant-message": text, "carillon-is-kept": kept});
    at.hear("notify", &notify("title", false, "A title"));
    assert_eq!(at.ended(), (None, None));
    at.hear("notify", &notify("ours", true, "right"));
    assert_eq!(at.ended(), done("right", "ours"));
}

#[test]
fn a_limit_that_stands_in_the_records_of_a_program_ends_its_turn() {
    let at = AtTurn::of("codex");
    at.hear("limit_reached", &json!({"reason": "usage limit", "until_ms": 4_000_000_000_000_i64}));
    let turns = at.stage.engine.turns("solo", None).expect("turns");
    let is_limited = |state: &TurnState| matches!(state, TurnState::Limited { reason, until_ms: Some(4_000_000_000_000) } if reason == "usage limit");
    assert!(turns.iter().any(|turn| is_limited(&turn.row.state)), "{turns:?}");
    assert_eq!(at.stage.engine.limits().expect("limits").len(), 1);
}
