//! Random sequences of events keep the promises of asks, of their delivery and of messages, whatever
//! comes first.

use std::collections::BTreeSet;

use carillon_core::ask::{
    Ask, Child, ChildEnd, ChildId, Edge, Effect, Event, Route, State, TurnEnd, circle, due, route, step,
};
use carillon_core::id::{AgentId, TaskId, TurnId};
use carillon_core::{message, turn, wake};
use proptest::prelude::*;

/// What can happen around an ask with some children.
#[derive(Clone, Debug)]
enum Happening {
    TurnOver(TurnEnd),
    ChildStarted,
    ChildEnded(usize, ChildEnd),
    ChildSeen(usize),
    ChildRetried(usize),
    Cancelled,
    DeadlinePassed,
    AgentRemoved,
    /// The engine dies and looks at the rows anew.
    Boot,
    /// The way of the answer is looked for while these calls wait.
    LookedForAWay(Vec<bool>),
    /// A client says that it has the answer.
    CallHasIt,
}

fn child_end() -> impl Strategy<Value = ChildEnd> {
    prop_oneof![
        5 => Just(ChildEnd::Succeeded),
        1 => Just(ChildEnd::Failed),
        1 => Just(ChildEnd::Cancelled),
        1 => Just(ChildEnd::TimedOut),
        1 => Just(ChildEnd::Lost),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    let which = || 0..3_usize;
    prop_oneof![
        4 => "[a-z]{1,3}".prop_map(|text| Happening::TurnOver(TurnEnd::Final(text))),
        1 => Just(Happening::TurnOver(TurnEnd::NoAnswer)),
        1 => Just(Happening::TurnOver(TurnEnd::Failed { reason: "it died".into() })),
        6 => Just(Happening::ChildStarted),
        8 => (which(), child_end()).prop_map(|(child, end)| Happening::ChildEnded(child, end)),
        5 => which().prop_map(Happening::ChildSeen),
        2 => which().prop_map(Happening::ChildRetried),
        1 => Just(Happening::Cancelled),
        1 => Just(Happening::DeadlinePassed),
        1 => Just(Happening::AgentRemoved),
        2 => Just(Happening::Boot),
        3 => prop::collection::vec(any::<bool>(), 0..3).prop_map(Happening::LookedForAWay),
        1 => Just(Happening::CallHasIt),
    ]
}

/// An ask as an engine keeps it, with a record of what it did.
struct Kept {
    ask: Ask,
    caller_is_agent: bool,
    follow_ups: usize,
    by_call: usize,
    by_inbox: usize,
    stopped_children: BTreeSet<usize>,
}

impl Kept {
    fn new(follow_up: bool, caller_is_agent: bool) -> Self {
        Self {
            ask: Ask { state: State::Open, follow_up, children: vec![], has_turn: true, delivered: false },
            caller_is_agent,
            follow_ups: 0,
            by_call: 0,
            by_inbox: 0,
            stopped_children: BTreeSet::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.ask.state.is_terminal()
    }

    fn act(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::ReserveFollowUp => {
                    self.follow_ups += 1;
                    self.ask.has_turn = true;
                }
                Effect::EndTurn => self.ask.has_turn = false,
                Effect::CancelChildren => {
                    let open = |(_, child): &(usize, &Child)| child.end.is_none();
                    let children = self.ask.children.iter().enumerate();
                    self.stopped_children.extend(children.filter(open).map(|(at, _)| at));
                }
                Effect::Deliver => {}
            }
        }
    }

    fn step(&mut self, event: Event) {
        if matches!(event, Event::TurnOver(_)) {
            self.ask.has_turn = false;
        }
        if let Ok((state, effects)) = step(&self.ask, event) {
            self.ask.state = state;
            self.act(effects);
        } else if self.is_over() {
            self.act(due(&self.ask));
        }
    }

    fn happens(&mut self, happening: Happening) {
        let in_turn = self.ask.has_turn && !self.is_over();
        match happening {
            Happening::TurnOver(end) if self.ask.has_turn => self.step(Event::TurnOver(end)),
            Happening::ChildStarted if in_turn && self.ask.children.len() < 3 => {
                let at = self.ask.children.len();
                self.ask.children.push(Child {
                    id: ChildId::Task(TaskId::from_random([at as u8; 16])),
                    end: None,
                    excused: false,
                    words: format!("child {at}"),
                });
                self.step(Event::ChildrenChanged);
            }
            Happening::ChildEnded(at, end) => {
                if let Some(child) = self.ask.children.get_mut(at).filter(|child| child.end.is_none()) {
                    child.end = Some(end);
                    self.step(Event::ChildrenChanged);
                }
            }
            Happening::ChildSeen(at) if in_turn => {
                if let Some(child) = self.ask.children.get_mut(at) {
                    child.excused = true;
                    self.step(Event::ChildrenChanged);
                }
            }
            Happening::ChildRetried(at) if in_turn => {
                if let Some(child) = self.ask.children.get_mut(at).filter(|child| child.end.is_some()) {
                    (child.end, child.excused) = (None, false);
                    self.step(Event::ChildrenChanged);
                }
            }
            Happening::Cancelled => self.step(Event::CancelRequested { by: "user".into() }),
            Happening::DeadlinePassed => self.step(Event::DeadlinePassed),
            Happening::AgentRemoved => self.step(Event::AgentRemoved { who: "B".into() }),
            Happening::Boot => self.act(due(&self.ask)),
            Happening::LookedForAWay(calls) => self.look_for_a_way(&calls),
            Happening::CallHasIt if self.is_over() && !self.ask.delivered => {
                self.ask.delivered = true;
                self.by_call += 1;
            }
            Happening::TurnOver(_)
            | Happening::ChildStarted
            | Happening::ChildSeen(_)
            | Happening::ChildRetried(_)
            | Happening::CallHasIt => {}
        }
    }

    fn look_for_a_way(&mut self, calls: &[bool]) {
        if !due(&self.ask).contains(&Effect::Deliver) {
            return;
        }
        match route(self.caller_is_agent, calls) {
            Route::Call => assert!(calls.contains(&true)),
            Route::Keep => assert!(!self.caller_is_agent),
            Route::Inbox => {
                assert!(self.caller_is_agent && !calls.contains(&true));
                self.ask.delivered = true;
                self.by_inbox += 1;
            }
        }
    }
}

/// The end of an ask that a child's end means.
fn ends_like(end: ChildEnd, state: &State) -> bool {
    match end {
        ChildEnd::Succeeded => false,
        ChildEnd::Failed | ChildEnd::Lost => matches!(state, State::Failed { .. }),
        ChildEnd::Cancelled => matches!(state, State::Cancelled { .. }),
        ChildEnd::TimedOut => matches!(state, State::TimedOut { .. }),
    }
}

fn check_release(before: &Ask, after: &Ask, judged: bool) -> Result<(), TestCaseError> {
    let counts = |child: &&Child| !child.excused;
    match &after.state {
        State::Open | State::PendingFinal { .. } => {}
        State::Answered { .. } => {
            prop_assert!(judged, "{:?} was released without a final", before);
            prop_assert!(after.children.iter().all(|child| child.end.is_some()));
            let mut ends = after.children.iter().filter(counts).map(|child| child.end);
            prop_assert!(ends.all(|end| end == Some(ChildEnd::Succeeded)), "{:?}", after);
        }
        State::Failed { reason, .. } | State::Cancelled { reason, .. } | State::TimedOut { reason, .. } => {
            prop_assert!(!reason.is_empty());
            let named = |child: &Child| {
                child.words == *reason && child.end.is_some_and(|end| ends_like(end, &after.state))
            };
            prop_assert!(!judged || after.children.iter().filter(counts).any(named), "{:?}", after);
        }
    }
    Ok(())
}

fn agent(byte: u8) -> AgentId {
    AgentId::from_random([byte; 16])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// One end, which stands; a success only by a final and all children; a failure that names a child;
    /// one follow-up; one delivery in one way; always a next step; no child outlives the ask.
    #[test]
    fn an_ask_ends_once_and_well_and_is_delivered_once(
        follow_up in any::<bool>(),
        caller_is_agent in any::<bool>(),
        happenings in prop::collection::vec(happening(), 0..40),
    ) {
        let mut kept = Kept::new(follow_up, caller_is_agent);
        for happening in happenings {
            let before = kept.ask.clone();
            let judged = matches!(
                happening,
                Happening::TurnOver(TurnEnd::Final(_)) | Happening::ChildEnded(..)
            );
            kept.happens(happening);
            let ask = &kept.ask;
            if before.state.is_terminal() {
                prop_assert_eq!(&before.state, &ask.state);
            } else if ask.state.is_terminal() {
                check_release(&before, ask, judged)?;
                let open = ask.children.iter().enumerate().filter(|(_, child)| child.end.is_none());
                let open: BTreeSet<usize> = open.map(|(at, _)| at).collect();
                prop_assert!(kept.stopped_children.is_superset(&open));
                prop_assert!(!ask.has_turn);
            } else {
                let goes_on = ask.children.iter().any(|child| child.end.is_none());
                prop_assert!(ask.has_turn || goes_on, "nothing comes next: {:?}", ask);
                prop_assert!(!ask.delivered && due(ask).is_empty());
            }
            prop_assert!(kept.follow_ups <= usize::from(follow_up));
            prop_assert!(kept.by_call + kept.by_inbox <= 1);
            prop_assert_eq!(kept.by_call + kept.by_inbox == 1, kept.ask.delivered);
        }
        // Nobody interferes any more: what goes on ends, and no client waits.
        for _ in 0..2 {
            (0..3).for_each(|at| kept.happens(Happening::ChildEnded(at, ChildEnd::Succeeded)));
            kept.happens(Happening::TurnOver(TurnEnd::Final("end".into())));
        }
        kept.happens(Happening::LookedForAWay(vec![false]));
        prop_assert!(kept.is_over());
        prop_assert_eq!(kept.ask.delivered, caller_is_agent || kept.by_call == 1);
        prop_assert_eq!(due(&kept.ask).is_empty(), kept.ask.delivered);
    }

    /// Whichever of the racing events comes first decides alone, and the others change nothing.
    #[test]
    fn the_first_end_wins_in_every_order(
        pending in any::<bool>(),
        delivered in any::<bool>(),
        order in Just(vec![0, 1, 2, 3, 4, 5]).prop_shuffle(),
    ) {
        let mut kept = Kept::new(false, true);
        kept.happens(Happening::ChildStarted);
        if pending {
            kept.happens(Happening::TurnOver(TurnEnd::Final("final".into())));
        }
        let mut first = None;
        for event in order {
            let happening = match event {
                0 => Happening::ChildEnded(0, ChildEnd::Failed),
                1 => Happening::Cancelled,
                2 => Happening::DeadlinePassed,
                3 => Happening::TurnOver(TurnEnd::Failed { reason: "it died".into() }),
                4 => Happening::AgentRemoved,
                _ => Happening::LookedForAWay(vec![!delivered]),
            };
            kept.happens(happening);
            if kept.is_over() {
                let state = first.get_or_insert_with(|| (event, kept.ask.state.clone()));
                prop_assert_eq!(&kept.ask.state, &state.1);
            }
        }
        let right = match first {
            Some((0, State::Failed { reason, .. })) => pending && reason == "child 0",
            Some((1, State::Cancelled { reason, .. })) => reason == "cancelled by you",
            Some((2, State::TimedOut { .. })) => true,
            Some((3, State::Failed { reason, .. })) => !pending && reason == "it died",
            Some((4, State::Failed { reason, .. })) => reason == "B was removed",
            _ => false,
        };
        prop_assert!(right, "{:?}", kept.ask.state);
    }

    /// A circle is found if and only if one would be closed, and what is told is a way round.
    #[test]
    fn a_circle_is_found_if_there_is_one(
        edges in prop::collection::vec((0..6_u8, 0..6_u8), 0..14),
        caller in 0..6_u8,
        callee in 0..6_u8,
    ) {
        let mut reaches = [[false; 6]; 6];
        (0..6).for_each(|at| reaches[at][at] = true);
        edges.iter().for_each(|(from, to)| reaches[*from as usize][*to as usize] = true);
        for over in 0..6 {
            for from in 0..6 {
                for to in 0..6 {
                    reaches[from][to] |= reaches[from][over] && reaches[over][to];
                }
            }
        }
        let edge = |(caller, callee): &(u8, u8)| Edge { caller: agent(*caller), callee: agent(*callee) };
        let open: Vec<Edge> = edges.iter().map(edge).collect();
        let found = circle(&agent(caller), &agent(callee), &open);
        prop_assert_eq!(found.is_some(), reaches[callee as usize][caller as usize]);
        if let Some(way) = found {
            prop_assert_eq!((way.first(), way.last()), (Some(&agent(callee)), Some(&agent(caller))));
            for pair in way.windows(2) {
                prop_assert!(open.iter().any(|edge| edge.caller == pair[0] && edge.callee == pair[1]));
            }
            let different: BTreeSet<&AgentId> = way.iter().collect();
            prop_assert_eq!(different.len(), way.len());
        }
    }

    #[test]
    fn an_answer_has_one_way(caller_is_agent in any::<bool>(), calls in prop::collection::vec(any::<bool>(), 0..4)) {
        let expected = match (calls.contains(&true), caller_is_agent) {
            (true, _) => Route::Call,
            (false, true) => Route::Inbox,
            (false, false) => Route::Keep,
        };
        prop_assert_eq!(route(caller_is_agent, &calls), expected);
    }
}

fn turn_event() -> impl Strategy<Value = turn::Event> {
    let reason = || "why".to_owned();
    let end = prop_oneof![
        Just(turn::End::Final { text: "text".into() }),
        Just(turn::End::Failed { reason: reason() }),
        any::<bool>().prop_map(move |resume| turn::End::Interrupted { reason: reason(), resume }),
        Just(turn::End::Limited { reason: reason(), until_ms: None }),
    ];
    prop_oneof![
        3 => Just(turn::Event::Claimed),
        2 => Just(turn::Event::Began),
        1 => Just(turn::Event::NeverBegan),
        1 => end.prop_map(turn::Event::Over),
        1 => Just(turn::Event::Dropped { reason: reason() }),
    ]
}

fn message_event() -> impl Strategy<Value = message::Event> {
    prop_oneof![
        4 => (0..3_u8).prop_map(|byte| message::Event::Claimed { turn: TurnId::from_random([byte; 16]) }),
        2 => Just(message::Event::TurnOver),
        2 => any::<bool>().prop_map(|handed_over| message::Event::TurnFailed { handed_over }),
        1 => Just(message::Event::Carried),
        1 => Just(message::Event::Withdrawn { why: "why".into() }),
    ]
}

proptest! {
    /// A turn ends once; the agent is freed each time that it was taken, and never else; nothing that
    /// was known to run goes back in line.
    #[test]
    fn a_turn_ends_once_and_frees_its_agent(events in prop::collection::vec(turn_event(), 0..40)) {
        let (mut state, mut ran) = (turn::State::Queued, false);
        for event in events {
            let dropped = matches!(event, turn::Event::Dropped { .. });
            if let Ok((next, effects)) = turn::step(&state, event) {
                prop_assert!(!state.is_over());
                let freed = state.is_live() && !next.is_live();
                prop_assert_eq!(freed, effects.contains(&turn::Effect::NextTurn));
                let taken = !state.is_live() && next.is_live();
                prop_assert_eq!(taken, effects.contains(&turn::Effect::HandOver));
                prop_assert_eq!(dropped && state.is_live(), effects.contains(&turn::Effect::Stop));
                prop_assert!(!ran || next != turn::State::Queued);
                ran |= next == turn::State::Running;
                state = next;
            }
        }
    }

    /// A message is delivered once, by the turn that claimed it, and is never in two turns; a repeat is
    /// told if and only if the agent may have seen it before.
    #[test]
    fn a_message_is_in_one_turn_and_delivered_once(events in prop::collection::vec(message_event(), 0..40)) {
        let (mut state, mut repeats, mut seen) = (message::State::Pending, false, false);
        for event in events {
            let before = state.clone();
            let Ok((next, repeat)) = message::step(&state, event.clone()) else { continue };
            prop_assert!(!before.is_terminal());
            repeats |= repeat;
            seen |= event == message::Event::TurnFailed { handed_over: true };
            match (&before, &next) {
                (message::State::Claimed { .. }, message::State::Claimed { .. }) => prop_assert!(false, "two turns"),
                (message::State::Claimed { turn }, message::State::Delivered { turn: by }) => {
                    prop_assert_eq!(Some(turn), by.as_ref());
                }
                _ => {}
            }
            state = next;
            prop_assert_eq!(repeats, seen);
        }
    }

    /// Nobody is woken in mid-turn, against the user, at a limit, too early, too often or for nothing; and
    /// where nothing of that holds an agent is woken.
    #[test]
    fn a_wake_has_every_reason_and_no_hindrance(
        pending in 0..3_u32,
        flags in any::<[bool; 4]>(),
        failed in 0..10_u32,
        not_before_ms in 0..4_i64,
    ) {
        let [idle, stopped, limited, typing] = flags;
        let facts =
            wake::Facts { pending, idle, stopped, limited, typing, failed, not_before_ms, now_ms: 2 };
        let quiet = pending == 0 || !idle || stopped || limited || typing;
        let expected = match (quiet, failed >= carillon_core::limits::WAKE_ATTEMPTS, not_before_ms > 2) {
            (true, _, _) => wake::Decision::Nothing,
            (false, true, _) => wake::Decision::GivenUp,
            (false, false, true) => wake::Decision::Later { at_ms: not_before_ms },
            (false, false, false) => wake::Decision::Wake,
        };
        prop_assert_eq!(wake::decide(facts), expected);
    }

    #[test]
    fn pauses_between_wakes_grow_and_are_bounded(failed in any::<u32>()) {
        let (first, longest) = (carillon_core::limits::WAKE_PAUSE_MS, carillon_core::limits::WAKE_PAUSE_MAX_MS);
        let pause = wake::pause_ms(failed);
        prop_assert!((first..=longest).contains(&pause));
        prop_assert!(wake::pause_ms(failed.saturating_add(1)) >= pause);
    }
}
