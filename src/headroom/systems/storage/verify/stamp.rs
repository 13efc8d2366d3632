//! Stamped cells: data that identify their position and their write, and reveal tearing.
//!
//! A cell is the smallest unit that is judged separately, a sector or a block. Its checksum covers
//! all of it, so a cell that mixes two writes is recognised as torn. Bytes:
//! `docs/background/formats.md`.

use crate::simulation::kernel::random::stream::mix;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 40;
/// The first eight bytes of a cell.
const MAGIC: u64 = u64::from_le_bytes(*b"headroom");

/// The stamp of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// A whole cell.
    Whole(Origin),
    /// The cell has a header, but its checksum does not match: parts of several writes.
    Torn,
    /// The cell was not written by a verifying run.
    Foreign,
}

/// The write that a cell comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Number of the run.
    pub run: u64,
    /// First byte (B) of the cell on the target.
    pub offset: u64,
    /// Number of the write within the run, from 1 on.
    pub generation: u64,
}

/// Fill `cell` for the write `origin`.
///
/// # Panics
///
/// If the cell is shorter than its header or not a multiple of 8 B.
pub fn stamp(cell: &mut [u8], origin: Origin) {
    assert!(
        cell.len() >= HEADER_BYTES && cell.len().is_multiple_of(8),
        "a cell of {} B cannot be stamped",
        cell.len()
    );
    put(cell, 0, MAGIC);
    put(cell, 8, origin.run);
    put(cell, 16, origin.offset);
    put(cell, 24, origin.generation);
    put(cell, 32, (cell.len() as u64) << 32);
    let mut state = mix(origin.run ^ mix(origin.offset ^ mix(origin.generation)));
    for word in cell[HEADER_BYTES..].chunks_exact_mut(8) {
        // Xorshift: a few cycles a word, and no block of the run is like another.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
    let checksum = crc32c::crc32c(cell);
    cell[32..36].copy_from_slice(&checksum.to_le_bytes());
}

/// Return the stamp of `cell`.
pub fn read(cell: &[u8]) -> Stamp {
    if cell.len() < HEADER_BYTES || get(cell, 0) != MAGIC {
        return Stamp::Foreign;
    }
    let checksum = u32::from_le_bytes([cell[32], cell[33], cell[34], cell[35]]);
    let mut expected = crc32c::crc32c(&cell[..32]);
    expected = crc32c::crc32c_append(expected, &[0; 4]);
    expected = crc32c::crc32c_append(expected, &cell[36..]);
    if checksum != expected || get(cell, 32) >> 32 != cell.len() as u64 {
        return Stamp::Torn;
    }
    Stamp::Whole(Origin {
        run: get(cell, 8),
        offset: get(cell, 16),
        generation: get(cell, 24),
    })
}

fn put(cell: &mut [u8], at: usize, value: u64) {
    cell[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn get(cell: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&cell[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamped(length: usize, origin: Origin) -> Vec<u8> {
        let mut cell = vec![0xaa; length];
        stamp(&mut cell, origin);
        cell
    }

    proptest! {
        #[test]
        fn a_cell_tells_its_origin(
            run: u64, offset: u64, generation: u64, words in 5_usize..600,
        ) {
            let origin = Origin { run, offset, generation };
            prop_assert_eq!(read(&stamped(8 * words, origin)), Stamp::Whole(origin));
        }

        #[test]
        fn a_changed_byte_is_found(at in 8_usize..512, by in 1_u8..) {
            let mut cell = stamped(512, Origin { run: 1, offset: 512, generation: 3 });
            cell[at] ^= by;
            prop_assert_eq!(read(&cell), Stamp::Torn);
        }

        #[test]
        fn two_writes_in_one_cell_are_torn(cut in 1_usize..512) {
            let origin = |generation| Origin { run: 1, offset: 0, generation };
            let (old, mut new) = (stamped(512, origin(1)), stamped(512, origin(2)));
            let was_changed = new[cut..] != old[cut..];
            new[cut..].copy_from_slice(&old[cut..]);
            prop_assert!(was_changed);
            // Up to the generation, what is left is the old cell as a whole.
            let is_old = new == old;
            prop_assert_eq!(read(&new) == Stamp::Torn, !is_old);
        }
    }

    #[test]
    fn foreign_data_are_known() {
        assert_eq!(read(&[0; 512]), Stamp::Foreign);
        assert_eq!(read(&[]), Stamp::Foreign);
    }
}
