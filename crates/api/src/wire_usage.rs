//! The shape of what turns have used. Part of the wire, as [`crate::wire`].

use carillon_core::usage;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Tokens and price of one turn, or of many together. Where nobody told anything there is none of it; a single
/// count is `null` when nobody told that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Usage {
    /// Turns that told what they used: 1 for one turn.
    #[ts(type = "number")]
    pub turns: u64,
    /// Those of them that told a price. With fewer than all, the price is the least that it was.
    #[ts(type = "number")]
    pub priced_turns: u64,
    /// Tokens that the model read, from caches too.
    #[ts(type = "number | null")]
    pub input_tokens: Option<u64>,
    /// Those of them that came from a cache.
    #[ts(type = "number | null")]
    pub cached_tokens: Option<u64>,
    /// Tokens that it wrote, its thinking too.
    #[ts(type = "number | null")]
    pub output_tokens: Option<u64>,
    /// Those of them that it thought with.
    #[ts(type = "number | null")]
    pub reasoning_tokens: Option<u64>,
    /// Price in millionths of a US dollar.
    #[ts(type = "number | null")]
    pub cost_micro_usd: Option<u64>,
}

impl From<usage::UsageSum> for Usage {
    fn from(sum: usage::UsageSum) -> Self {
        Self {
            turns: sum.turns,
            priced_turns: sum.priced_turns,
            input_tokens: sum.usage.input_tokens,
            cached_tokens: sum.usage.cached_tokens,
            output_tokens: sum.usage.output_tokens,
            reasoning_tokens: sum.usage.reasoning_tokens,
            cost_micro_usd: sum.usage.cost_micro_usd,
        }
    }
}

impl Usage {
    /// Of one turn; nothing when it told nothing.
    pub fn of_turn(used: usage::Usage) -> Option<Self> {
        usage::UsageSum::of_turn(used).map(Self::from)
    }
}
