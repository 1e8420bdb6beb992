//! Lists are bounded as a whole: what is shown of each thing in one is the less the more there is.

use carillon_core::ask::State;
use carillon_core::limits;

use crate::requests::asks::AskView;

/// Takes the texts of an ask off the room that a list has left. What finds none is cut; a look at the ask alone has
/// it whole.
pub(crate) fn bound_texts(view: &mut AskView, room: &mut usize) {
    let state = match &mut view.row.state {
        State::Open => None,
        State::PendingFinal { text, .. } | State::Answered { text } => Some(text),
        State::Failed { text, .. } | State::Cancelled { text, .. } | State::TimedOut { text, .. } => {
            text.as_mut()
        }
    };
    bound_text(&mut view.row.prompt, room);
    state.into_iter().for_each(|text| bound_text(text, room));
    for (child, tail) in &mut view.children {
        child.final_text.as_mut().into_iter().for_each(|text| bound_text(text, room));
        match tail {
            // There may be any number of them.
            Some(text) if text.len() > *room => *tail = None,
            Some(text) => *room -= text.len(),
            None => {}
        }
    }
}

fn bound_text(text: &mut String, room: &mut usize) {
    if text.len() > *room && text.len() > limits::ASK_LIST_TEXT_MAX_BYTES {
        text.truncate(text.floor_char_boundary(limits::ASK_LIST_TEXT_MAX_BYTES));
        text.push('…');
    }
    *room = room.saturating_sub(text.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_whole_while_there_is_room_and_then_cut_between_characters() {
        let most = limits::ASK_LIST_TEXT_MAX_BYTES;
        let long = "é".repeat(most);
        let (mut first, mut second, mut short) = (long.clone(), long.clone(), "short".to_owned());
        let mut room = long.len() + 1;
        bound_text(&mut first, &mut room);
        bound_text(&mut second, &mut room);
        bound_text(&mut short, &mut room);
        assert_eq!((first, short.as_str(), room), (long, "short", 0));
        assert_eq!(second, format!("{}…", "é".repeat(most / 2)));
    }
}
