//! A part of the target from which addresses are drawn.
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
    /// Return how many addresses a request of `length` (B) can have; 0 if it does not fit.
    #[inline]
    pub const fn places(self, length: u64) -> u64 {
        match (self.end - self.first).checked_sub(length) {
            // A division takes as long as all else together, and is hardly ever needed.
            Some(room) if self.align.is_power_of_two() => (room >> self.align.trailing_zeros()) + 1,
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
        if self.align.is_power_of_two() {
            return (address + (self.align - 1)) & !(self.align - 1);
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: the definitions, by division and by counting on.
        #[test]
        fn places_and_alignment_agree_with_their_definitions(
            align in prop_oneof![1..5000_u64, (0..13_u32).prop_map(|bits| 1 << bits)],
            first in 0..1000_u64,
            range in 1..10_000_000_u64,
            length in 1..10_000_u64,
            address in 0..10_000_000_u64,
        ) {
            let first = first * align;
            let region = Region { first, end: first + range, align };
            let places = region.places(length);
            prop_assert_eq!(places == 0, length > range);
            if places > 0 {
                prop_assert!(region.holds(region.address(places - 1), length));
                prop_assert!(!region.holds(region.address(places), length));
            }
            let aligned = region.aligned(address);
            prop_assert_eq!(aligned % align, 0);
            prop_assert!((address..address + align).contains(&aligned));
        }
    }
}
