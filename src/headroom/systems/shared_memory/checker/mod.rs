//! Model checker: visits all states of a protocol with a few caches and lines.
//!
//! Messages arrive in any order. Caches have no names: states that differ by a renaming are one.
//! What holds in each state is in [`invariants`]; a state from which no sequence of arrivals ends all
//! operations is a deadlock or a livelock. The search is breadth first, so a path is the shortest.
//!
//! A state is known by a hash of 64 bits: with n states a wrong one hides another with a chance of
//! about n² / 2^65, which is below 1 in 10^5 up to ten million.

pub mod chart;
pub mod invariants;
#[cfg(test)]
mod mutant;
mod progress;
mod search;
#[cfg(test)]
mod tests;
mod world;

pub use search::check;
pub use world::Event;

/// Size of the system that is searched.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Caches, from 1 to [`super::protocol::MOST_CHECKED`].
    pub caches: usize,
    /// Lines, from 1; more than one matters only if they compete for entries.
    pub lines: usize,
    /// Entries of the snoop filter; None for one for each line.
    pub entries: Option<usize>,
    /// Whether the home has a processor that uses the line.
    pub has_local: bool,
    /// States at which the search gives up.
    pub most_states: usize,
}

/// What went wrong, and the shortest way there.
#[derive(Clone, Debug)]
pub struct Violation<B> {
    /// The sentence that does not hold.
    pub sentence: String,
    /// Events from the state without copies.
    pub path: Vec<Event<B>>,
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Found<B> {
    /// States up to renaming.
    pub state_count: usize,
    /// Events that were tried.
    pub step_count: u64,
    /// Events on the longest shortest path.
    pub depth: usize,
    /// How often each rule was used.
    pub used: Vec<u64>,
    /// Whether all states were visited.
    pub is_complete: bool,
    /// The first violation.
    pub violation: Option<Violation<B>>,
}
