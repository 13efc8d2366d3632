//! A square grid of points, divided among a grid of threads.
//!
//! A part is a thread's own points in one place, with a ring of points around them: copies of
//! points of its neighbours, or the boundary of the ocean.
//!
//! Invariant: a part, its ring included, is written by its own thread alone. Other threads read its
//! outermost points, in phases that do not write these.

#![allow(unsafe_code, reason = "rows of a part are slices of shared memory")]

use std::ops::RangeInclusive;

use super::super::layout::{Layout, WORD_BYTES};
use super::super::processors::Processors;
use super::super::shared::Shared;
use super::super::watch::{Silent, Watch};

const WORD: u32 = WORD_BYTES as u32;
/// Instructions for a copied point: two addresses, and control of the loop.
const OF_COPY: u32 = 5;

/// Points of the ring that are copied from the neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Points {
    /// Only those of this colour, 0 (red) or 1 (black), None for both.
    pub colour: Option<usize>,
    /// Also the four corners.
    pub with_corners: bool,
}

/// A grid.
#[derive(Debug)]
pub struct Grid {
    words: Shared,
    part_words: usize,
    processors: Processors,
    /// Own rows of a part.
    pub rows: usize,
    /// Own columns of a part.
    pub columns: usize,
}

impl Grid {
    /// Make a grid of `interior` x `interior` points, which the processors divide equally.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub fn new(
        layout: &mut Layout,
        name: &'static str,
        interior: usize,
        processors: Processors,
    ) -> Result<Self, String> {
        let (rows, columns) = (interior / processors.rows, interior / processors.columns);
        let threads = processors.rows * processors.columns;
        let (words, part_words) = layout.parts(name, threads, (rows + 2) * (columns + 2))?;
        Ok(Self {
            words,
            part_words,
            processors,
            rows,
            columns,
        })
    }

    /// Return the points of a row of the whole grid, without the boundary.
    pub fn interior(&self) -> usize {
        self.rows * self.processors.rows
    }

    /// Return the row and the column in the whole grid of row 0 and column 0 of a part.
    #[inline]
    pub fn origin(&self, thread: usize) -> (usize, usize) {
        let (row, column) = self.processors.place(thread);
        (row * self.rows, column * self.columns)
    }

    #[inline]
    fn word(&self, thread: usize, row: usize, column: usize) -> usize {
        thread * self.part_words + row * (self.columns + 2) + column
    }

    /// Read a point of a part; row and column 0 are in its ring.
    #[inline]
    pub fn get<W: Watch>(&self, thread: usize, row: usize, column: usize, watch: &mut W) -> f64 {
        self.words.get(self.word(thread, row, column), watch)
    }

    /// Write a point of a part.
    #[inline]
    pub fn set<W: Watch>(
        &self,
        thread: usize,
        (row, column): (usize, usize),
        value: f64,
        watch: &mut W,
    ) {
        self.words.set(self.word(thread, row, column), value, watch);
    }

    /// Return the sum of the four neighbours of a point.
    #[inline]
    pub fn sum_around<W: Watch>(
        &self,
        thread: usize,
        row: usize,
        column: usize,
        watch: &mut W,
    ) -> f64 {
        let word = self.word(thread, row, column);
        let width = self.columns + 2;
        let mut at = |word: usize| -> f64 { self.words.get(word, watch) };
        at(word - width) + at(word + width) + at(word - 1) + at(word + 1)
    }

    /// Return the columns of a row that have a colour.
    #[inline]
    pub fn coloured(
        &self,
        thread: usize,
        row: usize,
        colour: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        let (top, left) = self.origin(thread);
        let first = 1 + (top + row + left + 1 + colour) % 2;
        (first..=self.columns).step_by(2)
    }

    /// Return the rows and the columns of a part, with those of its ring that are the boundary.
    pub fn with_boundary(&self, thread: usize) -> (RangeInclusive<usize>, RangeInclusive<usize>) {
        let (row, column) = self.processors.place(thread);
        let range = |place: usize, parts: usize, own: usize| {
            usize::from(place > 0)..=own + usize::from(place + 1 == parts)
        };
        (
            range(row, self.processors.rows, self.rows),
            range(column, self.processors.columns, self.columns),
        )
    }

    /// Write a value to all points of a part, its ring included.
    pub fn fill<W: Watch>(&self, thread: usize, value: f64, watch: &mut W) {
        for row in 0..self.rows + 2 {
            for column in 0..self.columns + 2 {
                self.set(thread, (row, column), value, watch);
            }
        }
    }

    /// Copy points of the neighbours to the ring of a part.
    pub fn fetch<W: Watch>(&self, thread: usize, points: Points, watch: &mut W) {
        let (row, column) = self.processors.place(thread);
        for (down, right) in (0..3).flat_map(|down| (0..3).map(move |right| (down, right))) {
            let is_corner = down != 1 && right != 1;
            let is_own = down == 1 && right == 1;
            // Neighbours by their place plus 1, so that none is below 0.
            let (row, column) = (row + down, column + right);
            let is_there = (1..=self.processors.rows).contains(&row)
                && (1..=self.processors.columns).contains(&column);
            if is_there && !is_own && (points.with_corners || !is_corner) {
                let source = self.processors.thread(row - 1, column - 1);
                self.copy(thread, source, (down, right), points.colour, watch);
            }
        }
    }

    /// Copy a side or a corner of the ring from the thread that owns its points.
    fn copy<W: Watch>(
        &self,
        thread: usize,
        source: usize,
        (down, right): (usize, usize),
        colour: Option<usize>,
        watch: &mut W,
    ) {
        let (top, left) = self.origin(thread);
        let (rows, from_row) = side(down, self.rows);
        let (columns, from_column) = side(right, self.columns);
        for row in rows {
            for column in columns.clone() {
                let is_skipped = colour.is_some_and(|it| (top + row + left + column) % 2 != it);
                if !is_skipped {
                    let from = (from_row.unwrap_or(row), from_column.unwrap_or(column));
                    let value = self.get(source, from.0, from.1, watch);
                    watch.compute(OF_COPY);
                    self.set(thread, (row, column), value, watch);
                }
            }
        }
    }

    /// Return a row of a part and the two next to it.
    ///
    /// # Safety
    ///
    /// No thread writes these rows while the slices live.
    #[inline]
    pub unsafe fn around(&self, thread: usize, row: usize) -> Rows<'_> {
        let width = self.columns + 2;
        let line = |row: usize| {
            let word = self.word(thread, row, 0);
            // SAFETY: the caller excludes writers.
            unsafe { self.words.reals(word..word + width) }
        };
        Rows {
            lines: [line(row - 1), line(row), line(row + 1)],
            address: self.words.address(self.word(thread, row - 1, 0)),
        }
    }

    /// Return a row of a part for writing.
    ///
    /// # Safety
    ///
    /// There is no other access to the row while the slice lives.
    #[inline]
    pub unsafe fn line(&self, thread: usize, row: usize) -> Line<'_> {
        let word = self.word(thread, row, 0);
        Line {
            // SAFETY: the caller excludes other accesses.
            numbers: unsafe { self.words.reals_mut(word..word + self.columns + 2) },
            address: self.words.address(word),
        }
    }

    /// Return the whole grid by rows, with its boundary.
    pub fn whole(&self) -> Vec<Vec<f64>> {
        let size = self.interior() + 2;
        let mut whole = vec![vec![0.0; size]; size];
        for thread in 0..self.processors.rows * self.processors.columns {
            let (top, left) = self.origin(thread);
            let (rows, columns) = self.with_boundary(thread);
            for row in rows {
                for column in columns.clone() {
                    whole[top + row][left + column] = self.get(thread, row, column, &mut Silent);
                }
            }
        }
        whole
    }
}

/// Return the places of a side of the ring (0 before the own points, 1 along them, 2 after), and
/// the place of the copied points in their own part, None if it is the same.
fn side(place: usize, own: usize) -> (RangeInclusive<usize>, Option<usize>) {
    match place {
        0 => (0..=0, Some(own)),
        1 => (1..=own, None),
        _ => (own + 1..=own + 1, Some(1)),
    }
}

/// A row of a part between two others.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    lines: [&'a [f64]; 3],
    address: u64,
}

impl Rows<'_> {
    /// Read a point of the row before (0), of the row itself (1), or of the row after (2).
    #[inline]
    pub fn get<W: Watch>(&self, line: usize, column: usize, watch: &mut W) -> f64 {
        let place = line * self.lines[line].len() + column;
        watch.read(self.address + place as u64 * WORD_BYTES, WORD);
        self.lines[line][column]
    }

    /// Return the sum of the four neighbours of a point, minus four times the point.
    #[inline]
    pub fn curvature<W: Watch>(&self, column: usize, watch: &mut W) -> f64 {
        let sides = self.get(1, column - 1, watch) + self.get(1, column + 1, watch);
        let sum = self.get(0, column, watch) + self.get(2, column, watch) + sides;
        sum - 4.0 * self.get(1, column, watch)
    }
}

/// A row of a part that is written.
#[derive(Debug)]
pub struct Line<'a> {
    numbers: &'a mut [f64],
    address: u64,
}

impl Line<'_> {
    /// Write a point.
    #[inline]
    pub fn set<W: Watch>(&mut self, column: usize, value: f64, watch: &mut W) {
        watch.write(self.address + column as u64 * WORD_BYTES, WORD);
        self.numbers[column] = value;
    }
}
