//! Where the time of a processor goes, and what it did.

use super::server::Time;

/// Kinds of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Instructions without memory.
    Compute,
    /// Private memory.
    Private,
    /// Shared memory of this node.
    Local,
    /// The network cache.
    Hit,
    /// Other nodes.
    Remote,
    /// Barriers and locks.
    Waiting,
}

/// Kinds of time.
pub const KINDS: usize = 6;

/// Times and counts of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Time of each kind.
    pub times: [Time; KINDS],
    /// Accesses of each kind; for computing, instructions; for waiting, how often.
    pub counts: [u64; KINDS],
    /// Accesses that the second level of the processor's caches answered.
    pub near: u64,
    /// Accesses that their third level answered.
    pub last: u64,
    /// Accesses of shared memory whose home is another node, wherever they were answered.
    pub to_others: u64,
    /// Lines that were given up for others.
    pub evictions: u64,
}

impl Account {
    /// Add time.
    #[inline]
    pub fn spend(&mut self, kind: Spent, time: Time) {
        self.times[kind as usize] += time;
        self.counts[kind as usize] += 1;
    }

    /// Return the accesses that the first level of the processor's caches did not answer.
    pub fn first_level_misses(&self) -> u64 {
        let beyond = [Spent::Private, Spent::Local, Spent::Hit, Spent::Remote];
        self.near
            + self.last
            + beyond
                .iter()
                .map(|&kind| self.counts[kind as usize])
                .sum::<u64>()
    }

    /// Return all time.
    pub fn total(&self) -> Time {
        self.times.iter().sum()
    }
}
