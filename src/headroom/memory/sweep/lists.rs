//! Short lists by recency, and their moves: one by one, or by vectors of 32 bytes.

#![allow(
    unsafe_code,
    reason = "loads and stores of vectors have no safe interface"
)]
#![allow(
    clippy::inline_always,
    reason = "compiled for the vectors of the caller"
)]

/// Number of a line in a list.
pub trait Slot: Copy + Eq + Default + Send + 'static {
    /// Return the slot of a number, which fits.
    fn of(number: usize) -> Self;
    /// Return its number.
    fn number(self) -> usize;
}

#[allow(clippy::cast_possible_truncation, reason = "a number that fits")]
impl Slot for u16 {
    #[inline(always)]
    fn of(number: usize) -> Self {
        number as Self
    }

    #[inline(always)]
    fn number(self) -> usize {
        usize::from(self)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a number that fits")]
impl Slot for u32 {
    #[inline(always)]
    fn of(number: usize) -> Self {
        number as Self
    }

    #[inline(always)]
    fn number(self) -> usize {
        self as usize
    }
}

/// Moves in lists of `WAYS` slots.
pub trait Moves: Copy {
    /// How many lists of a line are moved before it pays to look whether it is at the head: a wrong
    /// guess of the processor costs as much as some moves.
    const MOVES_BEFORE_LOOKING: usize;

    /// Return the first place of `slot`, `WAYS` if it is absent.
    fn place<S: Slot, const WAYS: usize>(self, list: &[S; WAYS], slot: S) -> usize;

    /// Move `slot` from its first place to the head; if it is absent, the last one leaves. Return
    /// its place before, `WAYS` if it was absent.
    fn move_to_head<S: Slot, const WAYS: usize>(self, list: &mut [S; WAYS], slot: S) -> usize;

    /// Put `slot` at the head; the last one leaves.
    fn push<S: Slot, const WAYS: usize>(self, list: &mut [S; WAYS], slot: S);
}

/// Moves one by one.
#[derive(Clone, Copy)]
pub struct Plain;

impl Moves for Plain {
    const MOVES_BEFORE_LOOKING: usize = 0;

    #[inline(always)]
    fn place<S: Slot, const WAYS: usize>(self, list: &[S; WAYS], slot: S) -> usize {
        let place = list.iter().position(|&one| one == slot);
        place.unwrap_or(WAYS)
    }

    #[inline(always)]
    fn move_to_head<S: Slot, const WAYS: usize>(self, list: &mut [S; WAYS], slot: S) -> usize {
        let place = self.place(list, slot);
        list.copy_within(..place.min(WAYS - 1), 1);
        list[0] = slot;
        place
    }

    #[inline(always)]
    fn push<S: Slot, const WAYS: usize>(self, list: &mut [S; WAYS], slot: S) {
        list.copy_within(..WAYS - 1, 1);
        list[0] = slot;
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use wide::Wide;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    use std::arch::x86_64::{
        __m256i, _mm256_alignr_epi8, _mm256_blendv_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_permute2x128_si256, _mm256_set1_epi16,
        _mm256_set1_epi32, _mm256_storeu_si256,
    };

    use super::{Moves, Slot};

    /// Bytes (B) of a vector.
    const BYTES: usize = 32;
    /// Ones, then zeros: the vector that begins n bytes before the zeros has n ones.
    static ONES: [u8; 4 * BYTES] = {
        let mut bytes = [0; 4 * BYTES];
        let mut at = 0;
        while at < 2 * BYTES {
            bytes[at] = u8::MAX;
            at += 1;
        }
        bytes
    };

    /// Moves by vectors, on a processor that has AVX2.
    ///
    /// The bytes of a list are whole vectors.
    #[derive(Clone, Copy)]
    pub struct Wide(());

    impl Wide {
        /// Return them if the processor has AVX2 and what came with it.
        pub fn detected() -> Option<Self> {
            let has_all = std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("bmi1")
                && std::arch::is_x86_feature_detected!("bmi2")
                && std::arch::is_x86_feature_detected!("popcnt");
            has_all.then_some(Self(()))
        }
    }

    #[inline(always)]
    const fn vectors<S, const WAYS: usize>() -> usize {
        let bytes = WAYS * size_of::<S>();
        assert!(bytes.is_multiple_of(BYTES), "whole vectors");
        bytes / BYTES
    }

    #[inline(always)]
    fn load<S: Slot, const WAYS: usize>(list: &[S; WAYS], index: usize) -> __m256i {
        assert!(index < vectors::<S, WAYS>());
        // SAFETY: the vector is within the list, and may begin at any address.
        unsafe { _mm256_loadu_si256(list.as_ptr().cast::<__m256i>().add(index)) }
    }

    #[inline(always)]
    fn store<S: Slot, const WAYS: usize>(list: &mut [S; WAYS], index: usize, vector: __m256i) {
        assert!(index < vectors::<S, WAYS>());
        // SAFETY: as for the load.
        unsafe { _mm256_storeu_si256(list.as_mut_ptr().cast::<__m256i>().add(index), vector) }
    }

    /// Return a vector of which the first bytes are ones, as many as asked, and the others zeros.
    #[inline(always)]
    fn ones(count: usize) -> __m256i {
        let from = 2 * BYTES - count.min(2 * BYTES);
        // SAFETY: it begins at byte 0 to 64 of 128.
        unsafe { _mm256_loadu_si256(ONES.as_ptr().add(from).cast()) }
    }

    /// Return a vector of one slot.
    #[inline(always)]
    #[allow(
        clippy::cast_possible_wrap,
        clippy::cast_possible_truncation,
        reason = "bits"
    )]
    fn all<S: Slot>(slot: S) -> __m256i {
        // SAFETY: only `Wide` calls this, which a processor with AVX2 has.
        unsafe {
            if size_of::<S>() == 2 {
                _mm256_set1_epi16(slot.number() as i16)
            } else {
                _mm256_set1_epi32(slot.number() as i32)
            }
        }
    }

    /// Return `vector` one slot further, behind the last slot of the one before.
    #[inline(always)]
    fn shifted<S: Slot>(before: __m256i, vector: __m256i) -> __m256i {
        // SAFETY: as in `all`.
        unsafe {
            let halves = _mm256_permute2x128_si256::<0x21>(before, vector);
            if size_of::<S>() == 2 {
                _mm256_alignr_epi8::<14>(vector, halves)
            } else {
                _mm256_alignr_epi8::<12>(vector, halves)
            }
        }
    }

    /// Return a bit for each byte of those slots of two vectors that are equal.
    #[inline(always)]
    fn equal<S: Slot>(one: __m256i, other: __m256i) -> u32 {
        // SAFETY: as in `all`.
        let bytes = unsafe {
            _mm256_movemask_epi8(if size_of::<S>() == 2 {
                _mm256_cmpeq_epi16(one, other)
            } else {
                _mm256_cmpeq_epi32(one, other)
            })
        };
        bytes.cast_unsigned()
    }

    /// Return the first byte of the first slot that equals those of `slots`; the bytes of the list
    /// if there is none.
    #[inline(always)]
    fn first_byte<S: Slot, const WAYS: usize>(list: &[S; WAYS], slots: __m256i) -> usize {
        let end = vectors::<S, WAYS>() - 1;
        let mut first = BYTES * end + equal::<S>(load(list, end), slots).trailing_zeros() as usize;
        for index in (0..end).rev() {
            let equal = equal::<S>(load(list, index), slots);
            if equal != 0 {
                first = BYTES * index + equal.trailing_zeros() as usize;
            }
        }
        first
    }

    impl Moves for Wide {
        const MOVES_BEFORE_LOOKING: usize = 5;

        #[inline(always)]
        fn place<S: Slot, const WAYS: usize>(self, list: &[S; WAYS], slot: S) -> usize {
            first_byte(list, all(slot)) / size_of::<S>()
        }

        #[inline(always)]
        fn move_to_head<S: Slot, const WAYS: usize>(self, list: &mut [S; WAYS], slot: S) -> usize {
            let slots = all(slot);
            let first = first_byte(list, slots);
            let mut before = slots;
            for index in 0..vectors::<S, WAYS>() {
                let vector = load(list, index);
                let moved = ones((first + size_of::<S>()).saturating_sub(BYTES * index));
                // SAFETY: as in `all`.
                let after =
                    unsafe { _mm256_blendv_epi8(vector, shifted::<S>(before, vector), moved) };
                store(list, index, after);
                before = vector;
            }
            first / size_of::<S>()
        }

        #[inline(always)]
        fn push<S: Slot, const WAYS: usize>(self, list: &mut [S; WAYS], slot: S) {
            let mut before = all(slot);
            for index in 0..vectors::<S, WAYS>() {
                let vector = load(list, index);
                store(list, index, shifted::<S>(before, vector));
                before = vector;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compare the moves of one list with those of a vector of slots.
    fn check<S: Slot + std::fmt::Debug, const WAYS: usize>(moves: impl Moves, used: &[usize]) {
        let mut list: [S; WAYS] = std::array::from_fn(S::of);
        let mut expected = list.to_vec();
        for (turn, &number) in used.iter().enumerate() {
            let slot = S::of(number);
            let place = expected.iter().position(|&one| one == slot);
            assert_eq!(moves.place(&list, slot), place.unwrap_or(WAYS));
            if turn % 5 == 4 {
                moves.push(&mut list, slot);
                expected.pop();
            } else {
                let before = moves.move_to_head(&mut list, slot);
                assert_eq!(before, place.unwrap_or(WAYS));
                expected.remove(before.min(WAYS - 1));
            }
            expected.insert(0, slot);
            assert_eq!(list[..], expected);
        }
    }

    fn check_all(moves: impl Moves, used: &[usize]) {
        check::<u16, 16>(moves, used);
        check::<u16, 32>(moves, used);
        check::<u16, 64>(moves, used);
        check::<u32, 16>(moves, used);
        check::<u32, 32>(moves, used);
        check::<u32, 64>(moves, used);
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[test]
    fn wide_lists_are_tried_where_the_processor_has_them() {
        if Wide::detected().is_none() {
            crate::memory::skip::skip("no wide instructions");
        }
    }

    proptest! {
        /// Oracle: a vector, in which a slot may be twice, as after a push.
        #[test]
        fn lists_move_as_vectors_of_slots_do(used in prop::collection::vec(0..80_usize, 1..100)) {
            check_all(Plain, &used);
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            if let Some(wide) = Wide::detected() {
                check_all(wide, &used);
            }
        }
    }
}
