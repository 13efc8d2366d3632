//! LU: factorisation of a dense matrix in blocks, without pivoting.
//!
//! Blocks are scattered over a grid of processors in both dimensions. Step k factors the diagonal
//! block, then divides the blocks of its column and row by it, then subtracts their products from
//! the blocks to the lower right. A block is written by its owner alone. The owner of the next
//! diagonal block updates it last itself, so a step has two barriers.
//!
//! Source: Golub & Van Loan (2013), *Matrix computations*, section 3.2 (block outer product LU).

#![allow(unsafe_code, reason = "rows of a block are slices of shared memory")]

#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::layout::{Layout, WORD_BYTES};
use super::processors::Processors;
use super::shared::Shared;
use super::watch::{Silent, Watch};
use super::{Check, Program, uniform};

/// Storage of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// Each block in one place, and all blocks of a thread together.
    Contiguous,
    /// One array by rows: a line may have words of two blocks, and rows are a power of two apart.
    Array,
}

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Rows and columns of the matrix: a multiple of the block's, at most 16,384.
    pub order: usize,
    /// Rows and columns of a block.
    pub block: usize,
    /// Storage of the matrix.
    pub storage: Storage,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            order: 256,
            block: 16,
            storage: Storage::Contiguous,
        }
    }
}

const MOST_ORDER: usize = 16_384;

// Instructions of the compiled loops that are neither loads nor stores.
/// Multiply, subtract, increment, compare and branch.
const OF_ELEMENT: u32 = 5;
/// Call, return, addresses of the two rows, and control of the loop around.
const OF_ROW: u32 = 20;
/// Draw, scale and place a number.
const OF_INPUT: u32 = 30;

/// The program.
#[derive(Debug)]
pub struct Lu {
    spec: Spec,
    processors: Processors,
    seed: u64,
    layout: Layout,
    matrix: Shared,
    /// Words between the parts of threads, of a contiguous matrix.
    part_words: usize,
}

/// A block by its row and its column.
type Block = (usize, usize);

/// The words of a block.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// Word of its first element.
    first: usize,
    /// Words from one row to the next.
    step: usize,
}

impl Rows {
    /// Return the first word of a row.
    #[inline]
    fn row(self, row: usize) -> usize {
        self.first + row * self.step
    }
}

impl Lu {
    /// Make the program for `threads` >= 1.
    ///
    /// # Errors
    ///
    /// The size that is invalid, and why; or there is no memory.
    pub fn new(spec: Spec, threads: usize, seed: u64) -> Result<Self, String> {
        let Spec {
            order,
            block,
            storage,
        } = spec;
        if block == 0 || !(1..=MOST_ORDER).contains(&order) || !order.is_multiple_of(block) {
            return Err(format!(
                "LU of {order} x {order} in blocks of {block} x {block}: the matrix has 1 to \
                 {MOST_ORDER} rows, a multiple of the block's"
            ));
        }
        let processors = Processors::near_square(threads);
        let blocks = order / block;
        if processors.columns > blocks {
            return Err(format!(
                "LU on {} x {} threads: each needs a block, but a row has {blocks}; use fewer \
                 threads or smaller blocks",
                processors.rows, processors.columns
            ));
        }
        let mut layout = Layout::default();
        let (matrix, part_words) = match storage {
            Storage::Contiguous => {
                let part_rows = blocks.div_ceil(processors.rows);
                let part_columns = blocks.div_ceil(processors.columns);
                layout.parts("matrix", threads, part_rows * part_columns * block * block)?
            }
            Storage::Array => (layout.shared("matrix", order * order)?, 0),
        };
        Ok(Self {
            spec,
            processors,
            seed,
            layout,
            matrix,
            part_words,
        })
    }

    fn blocks(&self) -> usize {
        self.spec.order / self.spec.block
    }

    fn owner_of(&self, (row, column): Block) -> usize {
        let Processors { rows, columns } = self.processors;
        self.processors.thread(row % rows, column % columns)
    }

    fn rows(&self, (row, column): Block) -> Rows {
        let Spec { order, block, .. } = self.spec;
        match self.spec.storage {
            Storage::Array => Rows {
                first: row * block * order + column * block,
                step: order,
            },
            Storage::Contiguous => {
                let Processors { rows, columns } = self.processors;
                let part_columns = self.blocks().div_ceil(columns);
                let number = row / rows * part_columns + column / columns;
                let part = self.owner_of((row, column)) * self.part_words;
                Rows {
                    first: part + number * block * block,
                    step: block,
                }
            }
        }
    }

    /// Return the word of an element of the matrix.
    fn element(&self, row: usize, column: usize) -> usize {
        let block = self.spec.block;
        let rows = self.rows((row / block, column / block));
        rows.row(row % block) + column % block
    }

    /// Return an element of the matrix that is factored: strictly diagonally dominant, so that
    /// pivots are not necessary.
    fn input(&self, row: usize, column: usize) -> f64 {
        let order = self.spec.order;
        let element = uniform(self.seed, (row * order + column) as u64);
        if row == column {
            element + order as f64
        } else {
            element
        }
    }

    fn own_blocks(&self, thread: usize, first: usize) -> impl Iterator<Item = Block> {
        let blocks = first..self.blocks();
        let all = blocks
            .clone()
            .flat_map(move |row| blocks.clone().map(move |column| (row, column)));
        all.filter(move |block| self.owner_of(*block) == thread)
    }

    fn fill<W: Watch>(&self, thread: usize, watch: &mut W) {
        let size = self.spec.block;
        for block in self.own_blocks(thread, 0) {
            let rows = self.rows(block);
            for row in 0..size {
                for column in 0..size {
                    let value = self.input(block.0 * size + row, block.1 * size + column);
                    watch.compute(OF_INPUT);
                    self.matrix.set(rows.row(row) + column, value, watch);
                }
            }
        }
    }

    /// Subtract `factor` times `count` words at `source` from those at `target`.
    #[inline]
    fn subtract<W: Watch>(
        &self,
        target: usize,
        source: usize,
        count: usize,
        factor: f64,
        watch: &mut W,
    ) {
        let (from, to) = (self.matrix.address(source), self.matrix.address(target));
        for offset in (0..count as u64 * WORD_BYTES).step_by(WORD_BYTES as usize) {
            watch.read(from + offset, WORD_BYTES as u32);
            watch.read(to + offset, WORD_BYTES as u32);
            watch.write(to + offset, WORD_BYTES as u32);
            watch.compute(OF_ELEMENT);
        }
        watch.compute(OF_ROW);
        // SAFETY: no thread writes the block of `source` in this phase but this one, if it owns it.
        let source = unsafe { self.matrix.reals(source..source + count) };
        // SAFETY: this thread owns the block of `target`, which no other accesses in this phase;
        // `source` is another row.
        let target = unsafe { self.matrix.reals_mut(target..target + count) };
        for (element, &subtracted) in target.iter_mut().zip(source) {
            *element -= factor * subtracted;
        }
    }

    /// Divide an element by a pivot; return the quotient.
    #[inline]
    fn divide<W: Watch>(&self, element: usize, pivot: f64, watch: &mut W) -> f64 {
        let quotient = self.matrix.get::<f64>(element, watch) / pivot;
        watch.compute(1);
        self.matrix.set(element, quotient, watch);
        quotient
    }

    /// Replace a diagonal block by its own factors.
    fn factor<W: Watch>(&self, block: Rows, watch: &mut W) {
        let size = self.spec.block;
        for k in 0..size {
            let upper = block.row(k) + k;
            let pivot = self.matrix.get(upper, watch);
            for i in k + 1..size {
                let lower = block.row(i) + k;
                let factor = self.divide(lower, pivot, watch);
                self.subtract(lower + 1, upper + 1, size - k - 1, factor, watch);
            }
        }
    }

    /// Replace A, below a diagonal block with the factors L and U, by A U⁻¹.
    fn divide_by_upper<W: Watch>(&self, block: Rows, diagonal: Rows, watch: &mut W) {
        let size = self.spec.block;
        for k in 0..size {
            let upper = diagonal.row(k) + k;
            let pivot = self.matrix.get(upper, watch);
            for i in 0..size {
                let element = block.row(i) + k;
                let factor = self.divide(element, pivot, watch);
                self.subtract(element + 1, upper + 1, size - k - 1, factor, watch);
            }
        }
    }

    /// Replace A, right of a diagonal block with the factors L and U, by L⁻¹ A.
    fn divide_by_lower<W: Watch>(&self, block: Rows, diagonal: Rows, watch: &mut W) {
        let size = self.spec.block;
        for k in 0..size {
            let solved = block.row(k);
            for i in k + 1..size {
                let factor = self.matrix.get(diagonal.row(i) + k, watch);
                self.subtract(block.row(i), solved, size, factor, watch);
            }
        }
    }

    /// Subtract the product of `left` and `upper` from a block.
    fn update<W: Watch>(&self, block: Rows, left: Rows, upper: Rows, watch: &mut W) {
        let size = self.spec.block;
        for i in 0..size {
            let (target, factors) = (block.row(i), left.row(i));
            for k in 0..size {
                let factor = self.matrix.get(factors + k, watch);
                self.subtract(target, upper.row(k), size, factor, watch);
            }
        }
    }

    /// End step `k` - 1, and factor the diagonal block of step `k`.
    fn end_step_and_factor<W: Watch>(&self, k: usize, thread: usize, watch: &mut W) {
        if k > 0 {
            for (i, j) in self.own_blocks(thread, k) {
                let [block, left, upper] = [(i, j), (i, k - 1), (k - 1, j)].map(|it| self.rows(it));
                self.update(block, left, upper, watch);
            }
        }
        if self.owner_of((k, k)) == thread {
            self.factor(self.rows((k, k)), watch);
        }
    }

    fn divide_perimeter<W: Watch>(&self, k: usize, thread: usize, watch: &mut W) {
        let diagonal = self.rows((k, k));
        for other in k + 1..self.blocks() {
            if self.owner_of((other, k)) == thread {
                self.divide_by_upper(self.rows((other, k)), diagonal, watch);
            }
            if self.owner_of((k, other)) == thread {
                self.divide_by_lower(self.rows((k, other)), diagonal, watch);
            }
        }
    }
}

impl Program for Lu {
    fn name(&self) -> &'static str {
        "lu"
    }

    fn threads(&self) -> usize {
        self.processors.rows * self.processors.columns
    }

    fn has_phase(&self, phase: usize) -> bool {
        phase < 2 * self.blocks()
    }

    fn is_start_up(&self, phase: usize) -> bool {
        phase == 0
    }

    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
        match phase {
            0 => self.fill(thread, watch),
            odd if odd % 2 == 1 => self.end_step_and_factor(odd / 2, thread, watch),
            even => self.divide_perimeter(even / 2 - 1, thread, watch),
        }
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn owner(&self, address: u64) -> Option<usize> {
        if self.spec.storage == Storage::Contiguous {
            return self.layout.owner(address);
        }
        let Spec { order, block, .. } = self.spec;
        let word = (address.checked_sub(self.matrix.address(0))? / WORD_BYTES) as usize;
        let block = (word / order / block, word % order / block);
        (word < order * order).then(|| self.owner_of(block))
    }

    fn result(&self) -> Vec<f64> {
        let order = self.spec.order;
        let elements = (0..order * order).map(|place| self.element(place / order, place % order));
        elements
            .map(|element| self.matrix.get(element, &mut Silent))
            .collect()
    }

    fn verify(&self) -> Result<Check, String> {
        let order = self.spec.order;
        let factors = self.result();
        let (mut residual, mut largest) = (0.0_f64, 0.0_f64);
        for i in 0..order {
            let (lower, upper) = factors[i * order..(i + 1) * order].split_at(i);
            // Row i of L U, where L has ones on its diagonal.
            let mut product = vec![0.0; order];
            product[i..].copy_from_slice(upper);
            for (k, factor) in lower.iter().enumerate() {
                let row = &factors[k * order + k..(k + 1) * order];
                for (sum, element) in product[k..].iter_mut().zip(row) {
                    *sum += factor * element;
                }
            }
            for (j, sum) in product.iter().enumerate() {
                let wanted = self.input(i, j);
                residual = residual.max((sum - wanted).abs());
                largest = largest.max(wanted.abs());
                if sum.is_nan() {
                    residual = f64::INFINITY;
                }
            }
        }
        // Higham (2002), theorem 9.3; the elements of a diagonally dominant matrix at most double.
        let bound = 2.0 * order as f64 * f64::EPSILON;
        Check::of(vec![(
            "largest residual of L U relative to A",
            residual / largest,
            bound,
        )])
    }
}
