//! What turns have used of a model: tokens, and their price where the agent's program knows it.
//!
//! What nobody told is unknown, which is not the same as nothing. Counts come from the output of foreign
//! programs, so each is cut to a bound before it is kept: a sum of them then never overflows.

use crate::limits::{USAGE_OF_TURN_MAX, USAGE_SUM_MAX};

/// Tokens and price. `None`: nobody told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens that the model read, from caches too.
    pub input_tokens: Option<u64>,
    /// Those of them that came from a cache.
    pub cached_tokens: Option<u64>,
    /// Tokens that it wrote, its thinking too.
    pub output_tokens: Option<u64>,
    /// Those of them that it thought with.
    pub reasoning_tokens: Option<u64>,
    /// Price in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}

impl Usage {
    /// Whether anything was told.
    pub fn is_known(&self) -> bool {
        *self != Self::default()
    }

    /// What one turn can have used: every count cut to its bound.
    #[must_use]
    pub fn of_turn(self) -> Self {
        self.each(Self::default(), |told, _| told.map(|told| told.min(USAGE_OF_TURN_MAX)))
    }

    /// What a whole conversation can have used: every count cut to the bound of a sum.
    #[must_use]
    pub fn of_session(self) -> Self {
        self.each(Self::default(), |told, _| told.map(|told| told.min(USAGE_SUM_MAX)))
    }

    /// What is new in a count that goes over a whole conversation, of which `counted` was counted before. A
    /// count that went down is one that began anew, or that was cut: it adds nothing.
    #[must_use]
    pub fn since(self, counted: Self) -> Self {
        self.each(counted, |told, counted| told.map(|told| told.saturating_sub(counted.unwrap_or(0))))
    }

    /// How far a conversation is counted once it has told this: never less than before.
    #[must_use]
    pub fn counted_with(self, counted: Self) -> Self {
        self.each(counted, Option::max)
    }

    /// Both together. Unknown is the sum only where both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, |one, other| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0)).min(USAGE_SUM_MAX)),
        })
    }

    fn each(self, other: Self, take: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            input_tokens: take(self.input_tokens, other.input_tokens),
            cached_tokens: take(self.cached_tokens, other.cached_tokens),
            output_tokens: take(self.output_tokens, other.output_tokens),
            reasoning_tokens: take(self.reasoning_tokens, other.reasoning_tokens),
            cost_micro_usd: take(self.cost_micro_usd, other.cost_micro_usd),
        }
    }
}

/// What a conversation has used so far, as its program counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCount {
    /// The session of the agent's program.
    pub session: String,
    /// All of it, this turn and those before.
    pub usage: Usage,
}

/// What turns have used together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageSum {
    /// Turns that told what they used.
    pub turns: u64,
    /// Those of them that told their price: with fewer than all, the price is the least that it was.
    pub priced_turns: u64,
    /// What they used.
    pub usage: Usage,
}

impl UsageSum {
    /// One turn; nothing when it told nothing.
    pub fn of_turn(usage: Usage) -> Option<Self> {
        let priced_turns = u64::from(usage.cost_micro_usd.is_some());
        usage.is_known().then_some(Self { turns: 1, priced_turns, usage })
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            priced_turns: self.priced_turns.saturating_add(other.priced_turns),
            usage: self.usage.plus(other.usage),
        }
    }
}

/// A price in US dollars, in millionths; nothing when it is none.
pub fn micro_usd(usd: f64) -> Option<u64> {
    let micro = (usd * 1e6).round();
    // A float becomes an integer by cutting it to the integer's range.
    (usd.is_finite() && usd >= 0.0).then_some(micro as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Usage {
        Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() }
    }

    #[test]
    fn a_conversation_is_counted_once_and_never_backwards() {
        let first = tokens(400, 80);
        assert_eq!(first.since(Usage::default()), first, "a new conversation begins at zero");
        let second = tokens(1_000, 90);
        assert_eq!(second.since(first), tokens(600, 10));
        let counted = second.counted_with(first);
        assert_eq!(counted, second);
        assert_eq!(second.since(counted), tokens(0, 0), "told once more, it adds nothing");
        let smaller = tokens(10, 95);
        assert_eq!(smaller.since(counted), tokens(0, 5), "never negative");
        assert_eq!(smaller.counted_with(counted), tokens(1_000, 95));
        let silent = Usage { output_tokens: Some(100), ..Usage::default() };
        assert_eq!(silent.since(counted).input_tokens, None, "what it does not tell stays unknown");
        assert_eq!(silent.counted_with(counted), tokens(1_000, 100), "and what it told stays counted");
    }

    #[test]
    fn unknown_is_not_nothing() {
        let priced = Usage { cost_micro_usd: Some(5), ..tokens(1, 2) };
        let both = priced.plus(tokens(0, 4));
        assert_eq!((both.output_tokens, both.cost_micro_usd, both.cached_tokens), (Some(6), Some(5), None));
        assert_eq!(Usage::default().plus(Usage::default()), Usage::default());
        assert_eq!(UsageSum::of_turn(Usage::default()), None);
        let sum = UsageSum::of_turn(priced).zip(UsageSum::of_turn(tokens(0, 4)));
        let (one, other) = sum.expect("both told something");
        assert_eq!(one.plus(other), UsageSum { turns: 2, priced_turns: 1, usage: both });
        assert!(tokens(0, 0).is_known() && !Usage::default().is_known());
    }

    #[test]
    fn no_count_is_too_large_to_be_kept() {
        let huge = tokens(u64::MAX, 3).of_turn();
        assert_eq!(huge, tokens(USAGE_OF_TURN_MAX, 3));
        let sum = tokens(USAGE_SUM_MAX, 1).plus(tokens(USAGE_SUM_MAX, 1));
        assert_eq!(sum, tokens(USAGE_SUM_MAX, 2));
        assert!(i64::try_from(USAGE_SUM_MAX + USAGE_OF_TURN_MAX).is_ok());
    }

    #[test]
    fn a_price_is_counted_in_whole_millionths() {
        assert_eq!(micro_usd(0.0016), Some(1_600));
        assert_eq!(micro_usd(0.000_000_4), Some(0));
        assert_eq!(micro_usd(1.999_999_9), Some(2_000_000));
        assert_eq!([-1.0, f64::NAN, f64::INFINITY].map(micro_usd), [None; 3]);
    }
}
