//! Chance that can be repeated.

/// Random numbers that a seed repeats (xorshift).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub fn often(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
