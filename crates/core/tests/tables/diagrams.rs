//! The diagrams of `docs/machines.md`. With `CARILLON_DIAGRAMS=write` the file is written; without, the
//! test says whether it is as it should be.

use std::path::Path;

use crate::{Row, ask, message, run, task, turn};

const HEADER: &str = "\
# The machines

Generated from the tables in `crates/core/tests/tables`. Do not edit: `CARILLON_DIAGRAMS=write cargo nextest run -p carillon-core diagrams` writes it.

An arrow is an event that changes the state. What a state refuses, and what leaves it as it is, stands in the tables alone; so does
what has to be done after each step.
";

/// A state may carry words in brackets that are no part of its name.
fn name(state: &str) -> &str {
    state.split(" (").next().unwrap_or(state)
}

/// A name that the language of the diagrams takes.
fn key(state: &str) -> String {
    name(state).chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The value of a key in a list that keeps the order of its coming.
fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let at = list.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        list.push((key, V::default()));
        list.len() - 1
    });
    &mut list[at].1
}

/// An event and how things stand when it does this.
type Whens = Vec<(&'static str, Vec<&'static str>)>;

fn diagram(title: &str, about: &str, rows: &[Row]) -> String {
    let mut arrows: Vec<((String, String), Whens)> = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    for row in rows {
        let Ok((to, _)) = &row.to else { continue };
        *entry(&mut names, key(row.from)) = row.from.to_owned();
        *entry(&mut names, key(to)) = name(to).to_owned();
        if key(to) != key(row.from) {
            let whens = entry(&mut arrows, (key(row.from), key(to)));
            let when = entry(whens, row.event);
            if !when.contains(&row.when) {
                when.push(row.when);
            }
        }
    }
    let mut out = format!("\n## {title}\n\n{about}\n\n```mermaid\nstateDiagram-v2\n");
    for (key, name) in &names {
        out.push_str(&format!("    state \"{name}\" as {key}\n"));
    }
    out.push_str(&format!("    [*] --> {}\n", names[0].0));
    for ((from, to), whens) in &arrows {
        let events: Vec<String> = whens.iter().map(|(event, when)| in_words(event, when)).collect();
        // A second colon would end the words.
        out.push_str(&format!("    {from} --> {to}: {}\n", events.join(" · ").replace(": ", " ")));
    }
    for (key, _) in names.iter().filter(|(key, _)| !arrows.iter().any(|((from, _), _)| from == key)) {
        out.push_str(&format!("    {key} --> [*]\n"));
    }
    out + "```\n"
}

fn in_words(event: &str, when: &[&str]) -> String {
    match when {
        [""] => event.to_owned(),
        some => format!("{event} ({})", some.join("; ")),
    }
}

fn machines() -> String {
    let diagrams = [
        diagram("Run", "One supervised process tree.", &run::rows()),
        diagram("Task", "One attempt of a background command.", &task::rows()),
        diagram("Turn", "One prompt to one final.", &turn::rows()),
        diagram(
            "Ask",
            "A question and its one answer. In brackets: how the children stand when the event comes.",
            &ask::rows_to_draw(),
        ),
        diagram("Message", "A durable note to an agent.", &message::rows()),
    ];
    HEADER.to_owned() + &diagrams.concat()
}

#[test]
fn the_diagrams_are_drawn_from_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md");
    let drawn = machines();
    if std::env::var_os("CARILLON_DIAGRAMS").is_some_and(|what| what == "write") {
        std::fs::write(&path, &drawn).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("docs/machines.md is there");
    assert!(
        kept == drawn,
        "docs/machines.md is not what the tables say; its first lines tell how to write it"
    );
}
