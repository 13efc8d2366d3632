//! Search among sorted keys of a node.

use super::region::{At, Region, WORD_BYTES};
use super::touch::{Touch, Work};

/// Keys that are compared one after the other, without branches: more are halved first.
const AT_ONCE: usize = 32;

/// Return how many of `count` sorted keys at `at` are below `key`.
#[allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with its caller: a call would keep to one"
)]
#[inline(always)]
pub fn rank(region: &Region, at: At, count: usize, key: u32, touch: &mut impl Touch) -> usize {
    let keys = region.words(at, count);
    let (mut first, mut left) = (0, count);
    while left > AT_ONCE {
        let half = left / 2;
        let middle = first + half;
        touch.read(
            region.area(),
            (u64::from(at) + middle as u64 - 1) * WORD_BYTES,
            WORD_BYTES,
        );
        touch.work(Work::Comparisons, 1);
        // Compiles to a conditional move: the outcome cannot be predicted.
        first = if keys[middle - 1] < key {
            middle
        } else {
            first
        };
        left -= half;
    }
    touch.read(
        region.area(),
        (u64::from(at) + first as u64) * WORD_BYTES,
        left as u64 * WORD_BYTES,
    );
    touch.work(Work::Comparisons, left as u64);
    first + below(&keys[first..first + left], key)
}

/// Words of keys, and one more, that [`rank_fixed`] compares: those of an index node of 256 B.
pub const FIXED_WORDS: usize = 32;

/// Return how many of the sorted keys at `at`, one fewer than [`FIXED_WORDS`], are below `key`.
///
/// A count that is known when this is compiled leaves no loop and no rest, which look-ups in a table
/// that the caches hold would notice.
///
/// # Panics
///
/// Never: it borrows as many words as it compares.
#[allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with its caller: a call would keep to one"
)]
#[inline(always)]
pub fn rank_fixed(region: &Region, at: At, key: u32, touch: &mut impl Touch) -> u32 {
    let bytes = FIXED_WORDS as u64 * WORD_BYTES;
    touch.read(region.area(), u64::from(at) * WORD_BYTES, bytes);
    touch.work(Work::Comparisons, FIXED_WORDS as u64);
    let words = region.words(at, FIXED_WORDS);
    let words: &[u32; FIXED_WORDS] = words.try_into().expect("that many words");
    let count: u32 = words.iter().map(|&one| u32::from(one < key)).sum();
    // The word behind the keys is a value.
    count - u32::from(words[FIXED_WORDS - 1] < key)
}

/// Count the keys below `key`, eight at once: as many steps for every key, so nothing to mispredict.
#[allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with its caller: a call would keep to one"
)]
#[inline(always)]
fn below(keys: &[u32], key: u32) -> usize {
    let (eights, rest) = keys.as_chunks::<8>();
    let mut counts = [0_u32; 8];
    for eight in eights {
        for (count, one) in counts.iter_mut().zip(eight) {
            *count += u32::from(*one < key);
        }
    }
    if let Some(last) = keys.last_chunk::<8>() {
        // Those of the last eight that no whole eight has counted.
        let counted = 8 - rest.len() as u32;
        for ((count, one), lane) in counts.iter_mut().zip(last).zip(0..) {
            *count += u32::from(*one < key) & u32::from(lane >= counted);
        }
        return counts.iter().sum::<u32>() as usize;
    }
    rest.iter().map(|one| usize::from(*one < key)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::probe::buffer::Pages;
    use crate::systems::records::store::touch::{Area, Silent};

    /// Oracle: `partition_point` of the standard library.
    #[test]
    #[allow(unsafe_code, reason = "who makes a region answers for its addresses")]
    fn a_rank_is_the_partition_point() {
        // SAFETY: the words below are the first thousand.
        let region = unsafe { Region::mapped(Area::Index, 1 << 20, Pages::Small) };
        let mut region = region.expect("memory");
        for count in [0, 1, 7, 8, 9, 31, 32, 33, 64, 127, 1000] {
            for (key, place) in region.words_mut(0, count).iter_mut().zip(1..) {
                *key = 3 * place;
            }
            for key in 0..=3 * count as u32 + 4 {
                let expected = region.words(0, count).partition_point(|one| *one < key);
                assert_eq!(rank(&region, 0, count, key, &mut Silent), expected);
                if count + 1 == FIXED_WORDS {
                    for value in [0, key, u32::MAX] {
                        region.set_word(count as u32, value, &mut Silent);
                        let found = rank_fixed(&region, 0, key, &mut Silent);
                        assert_eq!(found as usize, expected);
                    }
                }
            }
        }
    }
}
