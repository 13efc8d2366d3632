//! The grid of processors that a matrix or an ocean is divided among.

/// Processors in rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// Rows.
    pub rows: usize,
    /// Columns, no fewer than rows.
    pub columns: usize,
}

impl Processors {
    /// Return the grid of `threads` >= 1 processors that is nearest to a square.
    pub fn near_square(threads: usize) -> Self {
        let rows = (1..=threads.isqrt())
            .rev()
            .find(|rows| threads.is_multiple_of(*rows));
        let rows = rows.unwrap_or(1);
        Self {
            rows,
            columns: threads / rows,
        }
    }

    /// Return the row and the column of a thread.
    pub fn place(self, thread: usize) -> (usize, usize) {
        (thread / self.columns, thread % self.columns)
    }

    /// Return the thread in a row and a column.
    pub fn thread(self, row: usize, column: usize) -> usize {
        row * self.columns + column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_as_square_as_the_number_allows() {
        let grid = |threads| {
            let Processors { rows, columns } = Processors::near_square(threads);
            (rows, columns)
        };
        let grids = [1, 2, 4, 6, 7, 8, 12, 16].map(grid);
        assert_eq!(
            grids,
            [
                (1, 1),
                (1, 2),
                (2, 2),
                (2, 3),
                (1, 7),
                (2, 4),
                (3, 4),
                (4, 4)
            ]
        );
        let twelve = Processors::near_square(12);
        for thread in 0..12 {
            let (row, column) = twelve.place(thread);
            assert_eq!(twelve.thread(row, column), thread);
        }
    }
}
