//! The data to write: random bytes, a share of which can be compressed away.
//!
//! A run writes different parts of one block of random data, so that no two files and no two pieces
//! of a file are alike, and writing needs no random numbers.

use rand::Rng;

use crate::simulation::kernel::random::stream::Stream;

/// Random bytes beyond the largest piece: pieces begin at ever different places in it.
const SPARE_BYTES: usize = 1 << 18;
/// Bytes between the places at which two pieces begin, no divisor of the spare bytes.
const STEP_BYTES: usize = 4_099;
/// Part of the data of which one share is random and the rest the same byte.
const CELL_BYTES: usize = 512;
/// Printable characters, as the original writes: blank to tilde.
const PRINTABLE: u8 = b'~' - b' ' + 1;

/// Data to write.
#[derive(Clone, Debug)]
pub struct Data {
    bytes: Vec<u8>,
    place: usize,
}

impl Data {
    /// Return data for pieces of at most `piece_bytes`.
    ///
    /// Of each 512 B, `compressible_share` (0..1) is one repeated byte and the rest random; None:
    /// random printable characters, like the original.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 512 is a small number, and a character a byte"
    )]
    pub fn new(piece_bytes: usize, compressible_share: Option<f64>, stream: &mut Stream) -> Self {
        let mut bytes = vec![0; piece_bytes + SPARE_BYTES];
        stream.fill_bytes(&mut bytes);
        match compressible_share {
            None => bytes
                .iter_mut()
                .for_each(|byte| *byte = b' ' + *byte % PRINTABLE),
            Some(share) => {
                let same = (share * CELL_BYTES as f64).round() as usize;
                for cell in bytes.chunks_mut(CELL_BYTES) {
                    let same = same.min(cell.len());
                    cell[..same].fill(0);
                }
            }
        }
        Self { bytes, place: 0 }
    }

    /// Return the next piece.
    pub fn piece(&mut self, length: usize) -> &[u8] {
        let from = self.place;
        self.place = (from + STEP_BYTES) % SPARE_BYTES;
        &self.bytes[from..from + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::kernel::random::stream::open;

    #[test]
    fn a_share_of_each_cell_is_the_same_byte() {
        for (share, same) in [(0.0, 0), (0.5, 256), (1.0, 512)] {
            let data = Data::new(4096, Some(share), &mut open(1, 2));
            for cell in data.bytes.chunks_exact(CELL_BYTES) {
                assert!(cell[..same].iter().all(|&byte| byte == 0));
                // Of 256 random bytes some 160 differ, of 512 some 220.
                let mut distinct = cell[same..].to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                assert!(
                    distinct.len() * 3 >= cell.len() - same,
                    "{}",
                    distinct.len()
                );
            }
        }
    }

    #[test]
    fn pieces_begin_at_different_places() {
        let mut data = Data::new(100, None, &mut open(1, 2));
        let mut pieces: Vec<Vec<u8>> = (0..1000).map(|_| data.piece(100).to_vec()).collect();
        assert!(
            pieces
                .iter()
                .flatten()
                .all(|byte| (b' '..=b'~').contains(byte))
        );
        pieces.sort_unstable();
        pieces.dedup();
        assert_eq!(pieces.len(), 1000);
    }
}
