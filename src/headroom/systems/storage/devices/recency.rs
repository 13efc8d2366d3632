//! Items in the order of their last use, each operation in constant time.
//!
//! A doubly linked list through a table of slots; the owner of the slots keeps their numbers.
//!
//! Invariant: a slot is in the list at most once; the list goes from the use longest ago to the
//! latest.

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// Slots in the order of their last use.
#[derive(Clone, Debug)]
pub struct Recency {
    links: Vec<Link>,
    oldest: u32,
    latest: u32,
}

impl Recency {
    /// Make an empty list for slots below `slots`.
    pub fn new(slots: u32) -> Self {
        let apart = Link {
            before: NONE,
            after: NONE,
        };
        Self {
            links: vec![apart; slots as usize],
            oldest: NONE,
            latest: NONE,
        }
    }

    /// Return the least recently used slot.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Put a slot that is not in the list at its latest end.
    pub fn push(&mut self, slot: u32) {
        self.links[slot as usize] = Link {
            before: self.latest,
            after: NONE,
        };
        match self.latest {
            NONE => self.oldest = slot,
            latest => self.links[latest as usize].after = slot,
        }
        self.latest = slot;
    }

    /// Remove a slot from the list.
    pub fn remove(&mut self, slot: u32) {
        let Link { before, after } = self.links[slot as usize];
        match before {
            NONE => self.oldest = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.latest = before,
            after => self.links[after as usize].before = before,
        }
    }
}
