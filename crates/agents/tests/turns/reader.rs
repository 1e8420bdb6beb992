use carillon_agents::Adapter::{self, Claude, Codex, Gemini, Opencode, Plain};
use carillon_agents::reader::Reader;
use carillon_agents::turn::Seen;

fn seen(adapter: Adapter, out: &str) -> Vec<Seen> {
    let whole = Reader::new(adapter).feed(out.as_bytes());
    // However the output is cut, the same is seen.
    let mut reader = Reader::new(adapter);
    let pieces: Vec<Seen> = out.as_bytes().chunks(3).flat_map(|piece| reader.feed(piece)).collect();
    assert_eq!(pieces, whole);
    whole
}

fn text(text: &str) -> Seen {
    Seen::Text(text.to_owned())
}

fn tool(name: &str, detail: &str) -> Seen {
    Seen::Tool { name: name.to_owned(), detail: detail.to_owned() }
}

#[test]
fn claude_is_followed() {
    let out = concat!(
        r#"{"type":"assistant","message":{"model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look\u001b[31m."},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}"#,
        "\n",
        r#"{"type":"assistant","parent_tool_use_id":"t1","message":{"model":"m","content":[{"type":"text","text":"sub"}]}}"#,
        "\n",
        r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}"#,
        "\n",
        r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":4,"error_status":529}"#,
        "\n",
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","rateLimitType":"five_hour","utilization":0.91}}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"not whole yet"}]}}"#,
    );
    let notes = [
        "API Error",
        "The request failed (status 529); attempt 1 of 4 follows.",
        "91 % of the limit are used (five hour).",
    ];
    let mut expected =
        vec![Seen::Thinking("hm".to_owned()), text("I look[31m."), tool("Bash", r#"{"command":"ls"}"#)];
    expected.extend(notes.map(|note| Seen::Note(note.to_owned())));
    assert_eq!(seen(Claude, out), expected);
}

#[test]
fn the_others_are_followed() {
    let codex = concat!(
        r#"{"type":"item.started","item":{"type":"mcp_tool_call","server":"carillon","tool":"ask_agent","arguments":{"agent":"bob"}}}"#,
        "\n",
        r#"{"type":"item.completed","item":{"type":"agent_message","text":"4"}}"#,
        "\n",
    );
    assert_eq!(seen(Codex, codex), [tool("carillon.ask_agent", r#"{"agent":"bob"}"#), text("4")]);
    let gemini = concat!(
        r#"{"type":"message","role":"user","content":"x"}"#,
        "\n",
        r#"{"type":"message","role":"assistant","content":"It "}"#,
        "\n",
    );
    assert_eq!(seen(Gemini, gemini), [text("It ")]);
    let opencode = concat!(
        r#"{"type":"tool_use","part":{"tool":"bash","state":{"input":{"command":"ls"}}}}"#,
        "\n",
        r#"{"type":"carillon","event":"retry","message":"busy"}"#,
        "\n",
    );
    assert_eq!(
        seen(Opencode, opencode),
        [tool("bash", r#"{"command":"ls"}"#), Seen::Note("The request failed: busy".to_owned())]
    );
    assert_eq!(seen(Plain, "one\r\n\u{1b}[1mtwo\u{1b}[0m\nopen"), [text("one\n"), text("two\n")]);
}

#[test]
fn a_line_without_an_end_is_not_kept_for_ever() {
    let mut reader = Reader::new(Claude);
    for _ in 0..64 {
        assert_eq!(reader.feed(&vec![b'x'; 1024 * 1024]), []);
    }
    let next = "\n{\"type\":\"system\",\"subtype\":\"task_notification\",\"summary\":\"done\"}\n";
    assert_eq!(reader.feed(next.as_bytes()), [Seen::Note("done".to_owned())]);
}
