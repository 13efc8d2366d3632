//! Choice among weighted alternatives in constant time.
//!
//! Source: Vose (1991), *A linear algorithm for generating random numbers with a given
//! distribution* (Walker's alias method).

use rand::Rng;

use crate::simulation::kernel::random::stream::Stream;

/// A table from which an index is drawn with one random number.
#[derive(Clone, Debug)]
pub struct AliasTable {
    cells: Vec<Cell>,
}

/// Keep the cell's own index below `threshold`, take `alias` otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    threshold: u64,
    alias: u32,
}

/// A place in a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    cell: u32,
    fraction: u64,
}

impl AliasTable {
    /// Build the table for `weights`: at least one, finite, not negative, not all zero.
    ///
    /// # Panics
    ///
    /// Panics if the weights are not as described; the model is checked before.
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0 && total.is_finite(), "weights sum to {total}");
        let count = u32::try_from(weights.len()).expect("fewer than 2^32 alternatives");
        let mut share: Vec<f64> = weights
            .iter()
            .map(|weight| weight * f64::from(count) / total)
            .collect();
        let mut cells: Vec<Cell> = (0..count)
            .map(|own| Cell {
                threshold: u64::MAX,
                alias: own,
            })
            .collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&index| share[index as usize] < 1.0);
        while let (Some(&donor), Some(poor)) = (large.last(), small.pop()) {
            cells[poor as usize] = Cell {
                threshold: threshold(share[poor as usize]),
                alias: donor,
            };
            share[donor as usize] -= 1.0 - share[poor as usize];
            if share[donor as usize] < 1.0 {
                small.extend(large.pop());
            }
        }
        // A remaining cell has a full share, up to rounding.
        Self { cells }
    }

    /// Draw an index.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        self.index_at(self.throw(stream))
    }

    /// Draw a point of the table.
    #[inline]
    pub fn throw(&self, stream: &mut Stream) -> Point {
        let product = u128::from(stream.next_u64()) * self.cells.len() as u128;
        let (cell, fraction) = high_and_low(product);
        Point { cell, fraction }
    }

    /// Return the index at `point`.
    #[inline]
    pub fn index_at(&self, point: Point) -> u32 {
        let cell = self.cells[point.cell as usize];
        if point.fraction < cell.threshold {
            point.cell
        } else {
            cell.alias
        }
    }

    /// Return the cell that [`Self::index_at`] reads.
    #[inline]
    pub fn cell_at(&self, point: Point) -> &Cell {
        &self.cells[point.cell as usize]
    }
}

/// Split a 128-bit product into the cell (its high half) and the position in it (its low half).
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the high half is below the number of cells; the low half is meant"
)]
const fn high_and_low(product: u128) -> (u32, u64) {
    ((product >> 64) as u32, product as u64)
}

/// Return `share`, in [0, 1], on the scale of a 64-bit fraction.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share lies in [0, 1] and `as` saturates"
)]
fn threshold(share: f64) -> u64 {
    (share * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simulation::kernel::random::stream;

    proptest! {
        /// Each cell keeps its own share and gives the rest away: together the weights return.
        #[test]
        fn the_cells_add_up_to_the_weights(weights in prop::collection::vec(0.0..10.0_f64, 1..40)) {
            prop_assume!(weights.iter().sum::<f64>() > 1e-6);
            let table = AliasTable::new(&weights);
            let total: f64 = weights.iter().sum();
            let mut share = vec![0.0; weights.len()];
            for (own, cell) in table.cells.iter().enumerate() {
                let kept = cell.threshold as f64 / 18_446_744_073_709_551_616.0;
                share[own] += kept / weights.len() as f64;
                share[cell.alias as usize] += (1.0 - kept) / weights.len() as f64;
            }
            for (share, weight) in share.iter().zip(&weights) {
                prop_assert!((share - weight / total).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn impossible_alternatives_are_never_drawn() {
        let table = AliasTable::new(&[0.0, 1.0, 0.0, 3.0]);
        let mut stream = stream::open(1, 1);
        assert!((0..10_000).all(|_| matches!(table.draw(&mut stream), 1 | 3)));
    }
}
