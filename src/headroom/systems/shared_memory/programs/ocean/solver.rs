//! Multigrid solver of (∇² - s) q = source with q = 0 on the boundary.
//!
//! A V-cycle relaxes once on the way down and once on the way up, red points then black ones.
//! Each level has half as many points in each direction on the same square, so its points are not
//! among those of the finer level: corrections are interpolated linearly, and residuals restricted
//! with the same weights. Once the black points are relaxed only red ones have a residual.
//!
//! Source: Trottenberg, Oosterlee & Schueller (2001), *Multigrid*, sections 2.2 and 2.4.

use std::f64::consts::PI;

use super::super::layout::Layout;
use super::super::processors::Processors;
use super::super::watch::Watch;
use super::grid::{Grid, Points};

/// Points whose row and column add up to an even number.
const RED: usize = 0;
const BLACK: usize = 1;
const RED_EDGES: Points = Points {
    colour: Some(RED),
    with_corners: false,
};
const BLACK_EDGES: Points = Points {
    colour: Some(BLACK),
    with_corners: false,
};
const RED_RING: Points = Points {
    colour: Some(RED),
    with_corners: true,
};
/// The whole ring.
pub const RING: Points = Points {
    colour: None,
    with_corners: true,
};

/// The interior of the coarsest level has at least and at most this number of rows.
const COARSEST: std::ops::RangeInclusive<usize> = 4..=16;

// Instructions that are neither loads nor stores; an operation on a number in memory is its load.
/// Six operations on numbers, an address, and control of the loop.
const OF_RELAXED: u32 = 10;
/// Six operations on numbers, an address, and control of the loop.
const OF_RESIDUAL: u32 = 10;
/// A weight (five operations), two products and a sum, and control of the loop.
const OF_WEIGHTED: u32 = 11;
/// Four weights of rows, control of their loops, and scaling.
const OF_RESTRICTED: u32 = 36;
/// A place and its weight (five operations), nine operations on numbers, an address, and control of
/// the loop.
const OF_CORRECTED: u32 = 18;

/// A problem.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The solution; what it holds before is the first guess.
    pub unknown: &'a Grid,
    /// The right side.
    pub source: &'a Grid,
    /// s (1/m²), at least 0.
    pub screening: f64,
}

/// A level below the finest.
#[derive(Debug)]
struct Coarse {
    correction: Grid,
    source: Grid,
}

/// The solver.
#[derive(Debug)]
pub struct Solver {
    coarse: Vec<Coarse>,
    /// Residuals of all levels but the coarsest; those of black points stay 0.
    residuals: Vec<Grid>,
    /// Distance (m) of the points of each level.
    spacings: Vec<f64>,
    /// Sweeps of the coarsest level.
    pub coarsest_sweeps: usize,
}

impl Solver {
    /// Make a solver for `interior` x `interior` points at a distance of `spacing` (m).
    ///
    /// # Errors
    ///
    /// The points cannot be divided, and why; or there is no memory.
    pub fn new(
        layout: &mut Layout,
        interior: usize,
        spacing: f64,
        processors: Processors,
    ) -> Result<Self, String> {
        let interiors = levels(interior, processors)?;
        let finer = &interiors[..interiors.len() - 1];
        let coarsest = interiors[interiors.len() - 1];
        let coarse = interiors[1..].iter().map(|&interior| {
            Ok(Coarse {
                correction: Grid::new(layout, "corrections", interior, processors)?,
                source: Grid::new(layout, "sources of corrections", interior, processors)?,
            })
        });
        let coarse = coarse.collect::<Result<_, String>>()?;
        let residual = |&interior| Grid::new(layout, "residuals", interior, processors);
        Ok(Self {
            coarse,
            residuals: finer.iter().map(residual).collect::<Result<_, _>>()?,
            spacings: interiors
                .iter()
                .map(|&points| spacing * ratio(interior, points))
                .collect(),
            coarsest_sweeps: coarsest / 2 + 2,
        })
    }

    /// Return the number of levels, at least 2.
    pub fn levels(&self) -> usize {
        self.spacings.len()
    }

    fn unknown<'a>(&'a self, problem: Problem<'a>, level: usize) -> &'a Grid {
        level
            .checked_sub(1)
            .map_or(problem.unknown, |below| &self.coarse[below].correction)
    }

    fn source<'a>(&'a self, problem: Problem<'a>, level: usize) -> &'a Grid {
        level
            .checked_sub(1)
            .map_or(problem.source, |below| &self.coarse[below].source)
    }

    /// Return the squared spacing (m²) of a level, and the diagonal of its operator times that.
    fn operator(&self, problem: Problem<'_>, level: usize) -> (f64, f64) {
        let square = self.spacings[level] * self.spacings[level];
        (square, 4.0 + problem.screening * square)
    }

    /// Solve for each point of a colour (Gauss and Seidel), over-relaxed on the coarsest level.
    pub fn relax<W: Watch>(
        &self,
        problem: Problem<'_>,
        (level, colour): (usize, usize),
        thread: usize,
        watch: &mut W,
    ) {
        let (unknown, source) = (self.unknown(problem, level), self.source(problem, level));
        let (square, diagonal) = self.operator(problem, level);
        let weight = self.relaxation(level, unknown.interior());
        unknown.fetch(
            thread,
            if colour == RED {
                BLACK_EDGES
            } else {
                RED_EDGES
            },
            watch,
        );
        for row in 1..=unknown.rows {
            for column in unknown.coloured(thread, row, colour) {
                let sum = unknown.sum_around(thread, row, column, watch);
                let before = unknown.get(thread, row, column, watch);
                let source = source.get(thread, row, column, watch);
                let change = (sum - square * source) / diagonal - before;
                watch.compute(OF_RELAXED);
                unknown.set(thread, (row, column), before + weight * change, watch);
            }
        }
    }

    /// Young's weight on the coarsest level, whose problem has to be solved; else 1.
    fn relaxation(&self, level: usize, interior: usize) -> f64 {
        if level + 1 < self.levels() {
            return 1.0;
        }
        2.0 / (1.0 + libm::sin(PI / (interior + 1) as f64))
    }

    /// Set the residual of a thread's red points; return the sum of its squares.
    pub fn residual<W: Watch>(
        &self,
        problem: Problem<'_>,
        level: usize,
        thread: usize,
        watch: &mut W,
    ) -> f64 {
        let (unknown, source) = (self.unknown(problem, level), self.source(problem, level));
        let (square, diagonal) = self.operator(problem, level);
        unknown.fetch(thread, BLACK_EDGES, watch);
        let mut squares = 0.0;
        for row in 1..=unknown.rows {
            for column in unknown.coloured(thread, row, RED) {
                let sum = unknown.sum_around(thread, row, column, watch);
                let own = diagonal * unknown.get(thread, row, column, watch);
                let residual = source.get(thread, row, column, watch) - (sum - own) / square;
                squares += residual * residual;
                watch.compute(OF_RESIDUAL);
                self.residuals[level].set(thread, (row, column), residual, watch);
            }
        }
        squares
    }

    /// Make the residual of a level the source of the next coarser one, whose correction is 0 then.
    pub fn restrict<W: Watch>(&self, level: usize, thread: usize, watch: &mut W) {
        let residual = &self.residuals[level];
        let Coarse { correction, source } = &self.coarse[level];
        let weights = Weights::of_coarse(source.interior());
        residual.fetch(thread, RED_RING, watch);
        let (top, left) = source.origin(thread);
        let (fine_top, fine_left) = residual.origin(thread);
        for row in 1..=source.rows {
            for column in 1..=source.columns {
                let mut sum = 0.0;
                for fine_row in weights.near(top + row) {
                    let row_weight = weights.weight(fine_row, top + row);
                    for fine_column in weights.near(left + column) {
                        if (fine_row + fine_column) % 2 == RED {
                            let weight = row_weight * weights.weight(fine_column, left + column);
                            let place = (fine_row - fine_top, fine_column - fine_left);
                            sum += weight * residual.get(thread, place.0, place.1, watch);
                            watch.compute(OF_WEIGHTED);
                        }
                    }
                }
                watch.compute(OF_RESTRICTED);
                // The weights of all points near a coarse one add up to the squared ratio.
                let value = weights.shrink * weights.shrink * sum;
                source.set(thread, (row, column), value, watch);
                correction.set(thread, (row, column), 0.0, watch);
            }
        }
    }

    /// Add the correction of the next coarser level, linearly interpolated.
    pub fn correct<W: Watch>(
        &self,
        problem: Problem<'_>,
        level: usize,
        thread: usize,
        watch: &mut W,
    ) {
        let unknown = self.unknown(problem, level);
        let correction = &self.coarse[level].correction;
        let weights = Weights::of_coarse(correction.interior());
        correction.fetch(thread, RING, watch);
        let (top, left) = unknown.origin(thread);
        let (coarse_top, coarse_left) = correction.origin(thread);
        for row in 1..=unknown.rows {
            let (below, up) = weights.between(top + row);
            for column in 1..=unknown.columns {
                let (before, along) = weights.between(left + column);
                let mut on_line = |line: usize| {
                    let (line, place) = (line - coarse_top, before - coarse_left);
                    let first = correction.get(thread, line, place, watch);
                    first + along * (correction.get(thread, line, place + 1, watch) - first)
                };
                let (lower, upper) = (on_line(below), on_line(below + 1));
                let value = unknown.get(thread, row, column, watch) + lower + up * (upper - lower);
                watch.compute(OF_CORRECTED);
                unknown.set(thread, (row, column), value, watch);
            }
        }
    }
}

/// Return the interiors of all levels, from the finest.
fn levels(interior: usize, processors: Processors) -> Result<Vec<usize>, String> {
    let Processors { rows, columns } = processors;
    let is_divided = |points: usize| points.is_multiple_of(rows) && points.is_multiple_of(columns);
    if !is_divided(interior) {
        return Err(format!(
            "{rows} x {columns} threads cannot divide {interior} x {interior} points inside of \
             the boundary equally; use a power of two"
        ));
    }
    let halved = |&points: &usize| {
        let half = points / 2;
        (points % 2 == 0 && is_divided(half) && COARSEST.start() <= &half).then_some(half)
    };
    let levels: Vec<usize> = std::iter::successors(Some(interior), halved).collect();
    let coarsest = levels[levels.len() - 1];
    if levels.len() == 1 || !COARSEST.contains(&coarsest) {
        return Err(format!(
            "{interior} x {interior} points inside of the boundary cannot be halved down to {} to \
             {} in a row on {rows} x {columns} threads; use a power of two and fewer threads",
            COARSEST.start(),
            COARSEST.end()
        ));
    }
    Ok(levels)
}

/// Return the spacing of coarse points relative to that of fine ones on the same square.
fn ratio(fine: usize, coarse: usize) -> f64 {
    (fine + 1) as f64 / (coarse + 1) as f64
}

/// Weights of linear interpolation between a level and one with twice as many rows.
#[derive(Clone, Copy, Debug)]
struct Weights {
    /// Rows of the coarse level inside of the boundary.
    coarse: usize,
    /// Spacing of fine rows in that of coarse ones: a little more than 1/2.
    shrink: f64,
}

impl Weights {
    fn of_coarse(coarse: usize) -> Self {
        Self {
            coarse,
            shrink: 1.0 / ratio(2 * coarse, coarse),
        }
    }

    /// Return the fine rows less than a coarse spacing away from a coarse row.
    fn near(self, row: usize) -> std::ops::RangeInclusive<usize> {
        (2 * row - 2).max(1)..=(2 * row + 1).min(2 * self.coarse)
    }

    /// Return the weight of a fine row for a coarse one: 1 where they meet, 0 a coarse spacing away.
    fn weight(self, fine_row: usize, row: usize) -> f64 {
        1.0 - (fine_row as f64 * self.shrink - row as f64).abs()
    }

    /// Return the coarse row before a fine one, and how far the fine row is from it to the next.
    fn between(self, fine_row: usize) -> (usize, f64) {
        let row = fine_row / 2;
        (row, fine_row as f64 * self.shrink - row as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed forms against the definition in whole numbers.
    #[test]
    fn rows_are_near_if_they_are_less_than_a_spacing_away() {
        for coarse in [1, 2, 5, 16, 100] {
            let weights = Weights::of_coarse(coarse);
            let fine = 1..=2 * coarse;
            for row in 1..=coarse {
                let distance =
                    |fine_row: usize| (fine_row * (coarse + 1)).abs_diff(row * (2 * coarse + 1));
                let is_near = |fine_row: &usize| distance(*fine_row) < 2 * coarse + 1;
                let near: Vec<usize> = fine.clone().filter(is_near).collect();
                assert_eq!(weights.near(row).collect::<Vec<_>>(), near);
                for fine_row in near {
                    let wanted = 1.0 - distance(fine_row) as f64 / (2 * coarse + 1) as f64;
                    assert!((weights.weight(fine_row, row) - wanted).abs() < 1e-12);
                }
            }
            for fine_row in fine {
                let (row, share) = weights.between(fine_row);
                assert_eq!(row, fine_row * (coarse + 1) / (2 * coarse + 1));
                assert!((0.0..1.0).contains(&share));
                let back = row as f64 + share;
                assert!((back - fine_row as f64 * weights.shrink).abs() < 1e-12);
            }
        }
    }
}
