//! A part of the target in which addresses are drawn.
//!
//! Invariant: a request never crosses the end of its region; every address is a multiple of the
//! alignment.

/// A part of the target; its first byte is a multiple of the alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte (B).
    pub first: u64,
    /// Byte behind the last one (B).
    pub end: u64,
    /// Alignment of addresses (B), >= 1.
    pub align: u64,
}

impl Region {
    /// Return how many addresses a request of `length` (B) can have; 0 where it does not fit.
    #[inline]
    pub const fn places(self, length: u64) -> u64 {
        match (self.end - self.first).checked_sub(length) {
            Some(room) => room / self.align + 1,
            None => 0,
        }
    }

    /// Return the address (B) of `place`.
    #[inline]
    pub const fn address(self, place: u64) -> u64 {
        self.first + place * self.align
    }

    /// Return `address` (B), in the region, rounded up to the alignment.
    #[inline]
    pub const fn aligned(self, address: u64) -> u64 {
        // Alignments are nearly always the power of two that the address already obeys.
        match address % self.align {
            0 => address,
            rest => address + (self.align - rest),
        }
    }

    /// Whether a request at `address` of `length` (B) ends inside.
    #[inline]
    pub const fn holds(self, address: u64, length: u64) -> bool {
        match self.end.checked_sub(length) {
            Some(last) => address <= last,
            None => false,
        }
    }
}
