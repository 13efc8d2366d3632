//! Random inputs, the same in every run.

/// A generator of 64-bit numbers (`SplitMix64`, Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    /// Return a generator with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Return the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Return a number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap();
        usize::try_from(self.next() % limit).unwrap()
    }

    /// Return at most `max_count` bytes.
    pub fn bytes(&mut self, max_count: usize) -> Vec<u8> {
        let count = self.below(max_count + 1);
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    /// Return at most `max_count` bytes of an alphabet.
    pub fn bytes_of(&mut self, max_count: usize, alphabet: &[u8]) -> Vec<u8> {
        let count = self.below(max_count + 1);
        (0..count)
            .map(|_| alphabet[self.below(alphabet.len())])
            .collect()
    }
}
