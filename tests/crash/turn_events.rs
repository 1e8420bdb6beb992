//! What is shown of a headless turn.

use serde_json::json;

use crate::support::World;

/// A program that speaks like Claude Code and says much in one event.
const SAYS_MUCH: &str = r#"#!/bin/sh
cat > prompt
much=$(head -c 600000 /dev/zero | tr '\0' x)
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"first"}]}}\n'
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s the end"}]}}\n' "$much"
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
"#;

#[test]
fn an_event_that_is_longer_than_a_page_is_shown_whole() {
    let world = World::started();
    world.ok(&["project", "add", world.repo().to_str().expect("UTF-8")]);
    let program = world.path("claude");
    std::fs::write(&program, SAYS_MUCH).expect("a program");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("its mode");
    world.ok(&["profile", "add", "c", "--adapter", "claude", "--program", program.to_str().expect("UTF-8")]);
    world.ok(&["agent", "add", "bob", "--project", "repo", "--profile", "c", "--mode", "headless"]);
    assert_eq!(world.ok(&["ask", "bob", "go"])["state"], "answered");
    let turn = world.call("turns_list", json!({"agent": "bob"}))[0]["id"].clone();
    let (mut offset, mut shown) = (json!(0), String::new());
    loop {
        let page = world.call("turn_events", json!({"turn": turn, "offset": offset, "wait_ms": 0}));
        shown.push_str(&page["events"].to_string());
        if page["over"] == json!(true) {
            break;
        }
        assert_ne!(page["next_offset"], offset, "it goes on");
        offset = page["next_offset"].clone();
    }
    assert!(shown.contains("first") && shown.contains("x the end"), "{} bytes", shown.len());
}
