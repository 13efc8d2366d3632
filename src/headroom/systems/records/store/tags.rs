//! Tags: a byte of the hash of each record number, so that one line tells which of about 60 records
//! may have a number.

#![allow(unsafe_code, reason = "loads of vectors have no safe interface")]
#![allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with the batch that calls them"
)]

/// Bytes (B) of a line.
pub const LINE_BYTES: usize = 64;
/// The tag of a slot without a record.
pub const NO_TAG: u8 = 0;

/// Return the tag of a number: the upper byte of its product with 2^32 divided by the golden ratio
/// (Knuth, volume 3, 6.4), which also spreads numbers that follow each other.
#[inline]
pub const fn tag_of(key: u32) -> u8 {
    let tag = (key.wrapping_mul(0x9E37_79B1) >> 24) as u8;
    // Tag 0 marks a free slot: its numbers share tag 1.
    if tag == NO_TAG { 1 } else { tag }
}

/// Return which bytes of a line are `tag`, as bits from the lowest on.
#[inline(always)]
pub fn matching(line: &[u8; LINE_BYTES], tag: u8) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
        };
        let (sixteens, _) = line.as_chunks::<16>();
        sixteens.iter().rev().fold(0, |bits, sixteen| {
            // SAFETY: 16 bytes that are borrowed, at any address; every x86-64 has SSE2.
            let equal = unsafe {
                let bytes = _mm_loadu_si128(sixteen.as_ptr().cast());
                _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(tag.cast_signed())))
            };
            bits << 16 | u64::from(equal.cast_unsigned())
        })
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    one_by_one(line, tag)
}

/// The same without vectors.
#[cfg(any(test, not(target_arch = "x86_64"), miri))]
fn one_by_one(line: &[u8; LINE_BYTES], tag: u8) -> u64 {
    line.iter()
        .rev()
        .fold(0, |bits, &byte| bits << 1 | u64::from(byte == tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: byte by byte.
    #[test]
    fn vectors_find_what_single_bytes_find() {
        for seed in 0..200_u32 {
            let mut line = [0; LINE_BYTES];
            for (byte, number) in line.iter_mut().zip(0..) {
                *byte = tag_of(seed * 64 + number) % 7;
            }
            for tag in 0..8 {
                assert_eq!(matching(&line, tag), one_by_one(&line, tag));
            }
        }
    }

    /// Property: numbers at equal distances have fewer than one wrong candidate for a look-up among
    /// 60 records.
    #[test]
    fn tags_of_regular_numbers_differ() {
        for step in [1, 2, 10, 64, 1000, 1024, 4096, 1 << 20] {
            let tags: Vec<u8> = (0..60_u32)
                .map(|place| tag_of(place.wrapping_mul(step)))
                .collect();
            let pairs = tags
                .iter()
                .flat_map(|one| tags.iter().map(move |other| one == other));
            let all = pairs.filter(|&are_equal| are_equal).count() - tags.len();
            assert!(all < 60, "{all} at {step}");
            assert!(!tags.contains(&NO_TAG));
        }
    }
}
