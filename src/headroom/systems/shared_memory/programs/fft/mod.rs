//! FFT: discrete Fourier transform of complex numbers in six steps, for memory that is far away.
//!
//! The points are a square matrix by rows, divided among the threads in bands of rows: transpose,
//! transform each row and multiply it by roots of unity, transpose, transform each row, transpose.
//! Only the transpositions read rows of other threads, each word once.
//!
//! Source: Bailey (1990), *FFTs in external or hierarchical memory*.

#![allow(unsafe_code, reason = "rows of the matrix are slices of shared memory")]

#[cfg(test)]
mod tests;

use std::f64::consts::TAU;

use serde::Deserialize;

use super::layout::{Layout, WORD_BYTES};
use super::shared::Shared;
use super::watch::{Silent, Watch};
use super::{Check, Program, uniform};

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Complex numbers: a power of four from 4 to 4^12.
    pub points: usize,
}

impl Default for Spec {
    fn default() -> Self {
        Self { points: 1024 }
    }
}

const MOST_POINTS: usize = 1 << 24;
/// Rows and columns that are transposed at once: two lines of four complex numbers.
const TILE: usize = 8;
const WORD: u32 = WORD_BYTES as u32;

// Instructions of the compiled loops that are neither loads nor stores.
/// Ten operations on numbers, four addresses, and control of the loop.
const OF_BUTTERFLY: u32 = 20;
/// Six operations on numbers, and control of the loop.
const OF_PRODUCT: u32 = 10;
/// Two addresses, and control of the loop.
const OF_COPY: u32 = 6;
/// Reverse the bits, compare, and control of the loop.
const OF_REVERSAL: u32 = 8;
/// Draw and scale two numbers.
const OF_INPUT: u32 = 60;
/// Sine and cosine.
const OF_ROOT: u32 = 80;

/// A complex number.
type Complex = (f64, f64);

fn product((a, b): Complex, (c, d): Complex) -> Complex {
    (a * c - b * d, a * d + b * c)
}

/// Return exp(-2πi `power` / `order`).
fn root(power: usize, order: usize) -> Complex {
    let (sine, cosine) = libm::sincos(TAU * (power % order) as f64 / order as f64);
    (cosine, -sine)
}

/// The program.
#[derive(Debug)]
pub struct Fft {
    /// Rows and columns of the matrix.
    side: usize,
    /// Rows of a thread.
    rows: usize,
    threads: usize,
    seed: u64,
    layout: Layout,
    /// Holds the input, then the matrix after the second transposition.
    data: Shared,
    /// Holds the matrix after the first transposition, then the result.
    transposed: Shared,
    /// Roots by which the rows are multiplied.
    twiddles: Shared,
    /// Roots of the transform of a row, of each thread.
    roots: Vec<Shared>,
    /// Words between the bands of threads.
    part_words: usize,
}

impl Fft {
    /// Make the program for `threads` >= 1.
    ///
    /// # Errors
    ///
    /// The size that is invalid, and why; or there is no memory.
    pub fn new(Spec { points }: Spec, threads: usize, seed: u64) -> Result<Self, String> {
        let side = points.isqrt();
        if !(4..=MOST_POINTS).contains(&points) || !side.is_power_of_two() || side * side != points
        {
            return Err(format!(
                "FFT of {points} points: their number is a power of four from 4 to {MOST_POINTS}"
            ));
        }
        if !side.is_multiple_of(threads) {
            return Err(format!(
                "FFT on {threads} threads: they must divide the {side} rows of {points} points \
                 equally; use a power of two, at most {side}"
            ));
        }
        let rows = side / threads;
        let mut layout = Layout::default();
        let words = rows * side * 2;
        let (data, part_words) = layout.parts("data", threads, words)?;
        let (transposed, _) = layout.parts("transposed data", threads, words)?;
        let (twiddles, _) = layout.parts("roots of the matrix", threads, words)?;
        let roots = (0..threads).map(|thread| layout.private("roots of a row", thread, side));
        Ok(Self {
            side,
            rows,
            threads,
            seed,
            data,
            transposed,
            twiddles,
            roots: roots.collect::<Result<_, _>>()?,
            part_words,
            layout,
        })
    }

    /// Return the first word of an element of a matrix.
    #[inline]
    fn element(&self, row: usize, column: usize) -> usize {
        row / self.rows * self.part_words + (row % self.rows * self.side + column) * 2
    }

    fn own_rows(&self, thread: usize) -> std::ops::Range<usize> {
        thread * self.rows..(thread + 1) * self.rows
    }

    fn input(&self, point: usize) -> Complex {
        let place = 2 * point as u64;
        (uniform(self.seed, place), uniform(self.seed, place + 1))
    }

    fn fill<W: Watch>(&self, thread: usize, watch: &mut W) {
        let roots = &self.roots[thread];
        for power in 0..self.side / 2 {
            watch.compute(OF_ROOT);
            set(roots, power * 2, root(power, self.side), watch);
        }
        let points = self.side * self.side;
        for row in self.own_rows(thread) {
            for column in 0..self.side {
                let element = self.element(row, column);
                watch.compute(OF_INPUT + OF_ROOT);
                set(
                    &self.data,
                    element,
                    self.input(row * self.side + column),
                    watch,
                );
                set(&self.twiddles, element, root(row * column, points), watch);
            }
        }
    }

    /// Set a thread's rows of a matrix to the columns of another.
    ///
    /// Each thread begins with its own patch, so that no two read from the same thread at once.
    fn transpose<W: Watch>(&self, from: &Shared, to: &Shared, thread: usize, watch: &mut W) {
        for distance in 0..self.threads {
            let source = self.own_rows((thread + distance) % self.threads);
            for first_row in self.own_rows(thread).step_by(TILE) {
                for first_column in source.clone().step_by(TILE) {
                    let tile = TILE.min(self.rows);
                    for row in first_row..first_row + tile {
                        for column in first_column..first_column + tile {
                            watch.compute(OF_COPY);
                            let value = get(from, self.element(column, row), watch);
                            set(to, self.element(row, column), value, watch);
                        }
                    }
                }
            }
        }
    }

    /// Transform each row of a thread in its place (Cooley and Tukey, radix 2).
    fn transform_rows<W: Watch>(&self, matrix: &Shared, thread: usize, watch: &mut W) {
        for row in self.own_rows(thread) {
            let start = self.element(row, 0);
            // SAFETY: only this thread accesses its rows of the matrix in this phase, after it has
            // set them.
            let numbers = unsafe { matrix.reals_mut(start..start + 2 * self.side) };
            let address = matrix.address(start);
            reverse(numbers, address, watch);
            let mut half = 1;
            while half < self.side {
                self.combine(numbers, address, half, thread, watch);
                half *= 2;
            }
        }
    }

    /// Combine transforms of `half` points to transforms of twice as many.
    #[inline]
    fn combine<W: Watch>(
        &self,
        numbers: &mut [f64],
        address: u64,
        half: usize,
        thread: usize,
        watch: &mut W,
    ) {
        let table = &self.roots[thread];
        // SAFETY: the roots are written in the start-up phase alone.
        let roots = unsafe { table.reals(0..self.side) };
        let step = self.side / half;
        for (group, points) in numbers.chunks_exact_mut(4 * half).enumerate() {
            let (lower, upper) = points.split_at_mut(2 * half);
            let pairs = lower
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip(upper.as_chunks_mut::<2>().0);
            for (index, (one, other)) in pairs.enumerate() {
                let root = index * step;
                let first = address + ((group * 2 * half + index) * 2) as u64 * WORD_BYTES;
                let second = first + (2 * half) as u64 * WORD_BYTES;
                report_complex(watch, table.address(root), first, second);
                let turned = product((roots[root], roots[root + 1]), (other[0], other[1]));
                let before = *one;
                *one = [before[0] + turned.0, before[1] + turned.1];
                *other = [before[0] - turned.0, before[1] - turned.1];
            }
        }
    }

    /// Multiply each element of a thread's rows by its root.
    fn multiply_rows<W: Watch>(&self, matrix: &Shared, thread: usize, watch: &mut W) {
        for row in self.own_rows(thread) {
            for column in 0..self.side {
                let element = self.element(row, column);
                let value = get(matrix, element, watch);
                let turned = product(value, get(&self.twiddles, element, watch));
                watch.compute(OF_PRODUCT);
                set(matrix, element, turned, watch);
            }
        }
    }

    fn spectrum(&self) -> Vec<Complex> {
        let points = 0..self.side * self.side;
        let element = |point: usize| self.element(point / self.side, point % self.side);
        points
            .map(|point| get(&self.transposed, element(point), &mut Silent))
            .collect()
    }
}

#[inline]
fn get<W: Watch>(matrix: &Shared, element: usize, watch: &mut W) -> Complex {
    (matrix.get(element, watch), matrix.get(element + 1, watch))
}

#[inline]
fn set<W: Watch>(matrix: &Shared, element: usize, value: Complex, watch: &mut W) {
    matrix.set(element, value.0, watch);
    matrix.set(element + 1, value.1, watch);
}

/// Report a butterfly: it reads a root and two numbers, and writes the two.
#[inline]
fn report_complex<W: Watch>(watch: &mut W, root: u64, first: u64, second: u64) {
    for address in [root, second, first] {
        watch.read(address, WORD);
        watch.read(address + WORD_BYTES, WORD);
    }
    watch.compute(OF_BUTTERFLY);
    for address in [first, second] {
        watch.write(address, WORD);
        watch.write(address + WORD_BYTES, WORD);
    }
}

/// Bring the numbers of a row into the order of their reversed indices.
fn reverse<W: Watch>(numbers: &mut [f64], address: u64, watch: &mut W) {
    let count = numbers.len() / 2;
    let unused_bits = usize::BITS - count.trailing_zeros();
    for index in 0..count {
        let other = index.reverse_bits() >> unused_bits;
        watch.compute(OF_REVERSAL);
        if index < other {
            for part in 0..2 {
                let places = (2 * index + part, 2 * other + part);
                let addresses = (
                    address + places.0 as u64 * WORD_BYTES,
                    address + places.1 as u64 * WORD_BYTES,
                );
                watch.read(addresses.0, WORD);
                watch.read(addresses.1, WORD);
                watch.write(addresses.0, WORD);
                watch.write(addresses.1, WORD);
                numbers.swap(places.0, places.1);
            }
        }
    }
}

/// Return the inverse transform by plain recursion, unscaled; shares no code with the program's.
fn inverse(spectrum: &[Complex]) -> Vec<Complex> {
    let count = spectrum.len();
    if count == 1 {
        return spectrum.to_vec();
    }
    let every_second = |first: usize| -> Vec<Complex> {
        inverse(
            &spectrum[first..]
                .iter()
                .copied()
                .step_by(2)
                .collect::<Vec<_>>(),
        )
    };
    let (even, odd) = (every_second(0), every_second(1));
    let at = |point: usize| {
        let (cosine, sine) = root(point, count);
        let (even, odd) = (even[point % (count / 2)], odd[point % (count / 2)]);
        // The conjugate of the forward root.
        let turned = (cosine * odd.0 + sine * odd.1, cosine * odd.1 - sine * odd.0);
        (even.0 + turned.0, even.1 + turned.1)
    };
    (0..count).map(at).collect()
}

impl Program for Fft {
    fn name(&self) -> &'static str {
        "fft"
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn has_phase(&self, phase: usize) -> bool {
        phase < 4
    }

    fn is_start_up(&self, phase: usize) -> bool {
        phase == 0
    }

    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
        match phase {
            0 => self.fill(thread, watch),
            1 => {
                self.transpose(&self.data, &self.transposed, thread, watch);
                self.transform_rows(&self.transposed, thread, watch);
                self.multiply_rows(&self.transposed, thread, watch);
            }
            2 => {
                self.transpose(&self.transposed, &self.data, thread, watch);
                self.transform_rows(&self.data, thread, watch);
            }
            _ => self.transpose(&self.data, &self.transposed, thread, watch),
        }
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn result(&self) -> Vec<f64> {
        self.spectrum()
            .into_iter()
            .flat_map(|(real, imaginary)| [real, imaginary])
            .collect()
    }

    fn verify(&self) -> Result<Check, String> {
        let count = self.side * self.side;
        let back = inverse(&self.spectrum());
        let (mut error, mut energy) = (0.0, 0.0);
        for (point, value) in back.iter().enumerate() {
            let input = self.input(point);
            let (real, imaginary) = (
                value.0 / count as f64 - input.0,
                value.1 / count as f64 - input.1,
            );
            error += real * real + imaginary * imaginary;
            energy += input.0 * input.0 + input.1 * input.1;
        }
        // Higham (2002), theorem 24.2: about log2(count) roundings in each direction.
        let bound = 8.0 * f64::from(count.ilog2()) * f64::EPSILON;
        let relative = f64::sqrt(error / energy);
        Check::of(vec![(
            "relative error of the inverse transform",
            relative,
            bound,
        )])
    }
}
