use carillon_agents::Adapter::Plain;
use carillon_agents::turn::{Exit, Session, TurnEnd, TurnOrder, plan};

use crate::support::{BAD, KILLED, OK, UUID, answer, ended, failed, order};

#[test]
fn the_whole_output_is_the_answer() {
    let found = ended(Plain, OK, "\u{1b}[1mfour\u{1b}[0m\r\nand more\n\n", "noise");
    assert_eq!(found.end, answer("four\nand more"));
    assert_eq!((found.session, found.usage), (None, None));
    assert_eq!(ended(Plain, OK, " \n", "").end, TurnEnd::NoAnswer);
}

#[test]
fn any_other_end_is_a_failure_with_the_last_words_of_its_errors() {
    assert_eq!(
        ended(Plain, BAD, "an answer?", "one\n\nno such model\n").end,
        failed("exited 1: one\nno such model")
    );
    assert_eq!(ended(Plain, KILLED, "an answer?", "").end, failed("killed by signal 9"));
    let unknown = Exit { code: None, signal: None };
    assert_eq!(ended(Plain, unknown, "", "").end, failed("ended in an unknown way"));
}

#[test]
fn the_role_stands_before_the_first_prompt_alone() {
    let args = ["-x".to_owned()];
    let first =
        plan(&TurnOrder { role: Some("You are alice."), args: &args, ..order(Plain) }).expect("a plan");
    assert_eq!(first.argv, ["/opt/agent", "-x"]);
    assert_eq!(first.stdin, "You are alice.\n\nWhat is 2+2?");
    assert_eq!(first.session, None);
    let session = Session::Resume { id: UUID };
    let next = plan(&TurnOrder { role: Some("You are alice."), session, ..order(Plain) }).expect("a plan");
    assert_eq!(next.stdin, "What is 2+2?");
}
