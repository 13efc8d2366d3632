//! Counts of each level.

/// Counts of a cache or a TLB; a modification (read, then write) is a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads that came to this level.
    pub reads: u64,
    /// Writes that came to this level.
    pub writes: u64,
    /// Reads that missed.
    pub read_misses: u64,
    /// Writes that missed.
    pub write_misses: u64,
    /// Lines that were displaced.
    pub evictions: u64,
    /// Displaced lines that were dirty, so that they were written to the next level.
    pub write_backs: u64,
    /// Lines that were taken out because a larger level displaced them.
    pub invalidations: u64,
    /// Lines that were prefetched.
    pub prefetches: u64,
    /// Prefetched lines that were used.
    pub useful_prefetches: u64,
    /// Misses of lines that were never here before.
    pub compulsory_misses: u64,
    /// Other misses that a fully associative cache of this size with LRU would have too.
    pub capacity_misses: u64,
}

impl Counts {
    /// Names and values, in the order in which reports print them.
    pub const fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("reads", self.reads),
            ("writes", self.writes),
            ("read_misses", self.read_misses),
            ("write_misses", self.write_misses),
            ("evictions", self.evictions),
            ("write_backs", self.write_backs),
            ("invalidations", self.invalidations),
            ("prefetches", self.prefetches),
            ("useful_prefetches", self.useful_prefetches),
            ("compulsory_misses", self.compulsory_misses),
            ("capacity_misses", self.capacity_misses),
        ]
    }
}
