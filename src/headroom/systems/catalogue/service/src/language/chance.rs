//! Random choices of tests: the same in every run.

/// A generator after Vigna's `SplitMix64`.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut found = self.0;
        found = (found ^ (found >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        found = (found ^ (found >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        found ^ (found >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("64 bits");
        usize::try_from(self.number() % limit).expect("less than the limit")
    }

    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Return a text of at most `length` characters of `alphabet`.
    pub fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let length = self.below(length + 1);
        (0..length).map(|_| *self.one_of(&alphabet)).collect()
    }
}
