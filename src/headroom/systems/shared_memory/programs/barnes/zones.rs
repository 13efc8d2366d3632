//! Partition of the bodies into zones of equal cost, and the cube around all of them.
//!
//! The costs of all bodies in the order of the tree are a line; each thread gets an equal piece of
//! it. A body's cost is the number of its interactions in the step before.
//!
//! Source: Singh, Holt, Totsuka, Gupta & Hennessy (1995), *Load balancing and data locality in
//! adaptive hierarchical N-body methods* (costzones).

use super::super::watch::Watch;
use super::records::{BODY_COST, CELL_COST, SLOTS};
use super::tree::{Cube, ROOT, Slot};
use super::{Barnes, Vector};

/// Instructions for a slot that are neither loads nor stores: two comparisons, a sum, a branch.
const OF_SLOT: u32 = 10;
/// Instructions for the bounds of a thread.
const OF_BOUNDS: u32 = 12;
/// The cube is larger than the bodies need, so that none is on its upper faces.
const MARGIN: f64 = 1.000_01;

/// Least and greatest coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    low: Vector,
    high: Vector,
}

impl Bounds {
    /// Bounds of nothing.
    pub const EMPTY: Self = Self {
        low: [f64::INFINITY; 3],
        high: [f64::NEG_INFINITY; 3],
    };

    /// Extend the bounds to a position.
    pub fn add(&mut self, position: Vector) {
        self.join(&Self {
            low: position,
            high: position,
        });
    }

    /// Extend the bounds to others.
    fn join(&mut self, other: &Self) {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
    }

    /// Return the smallest cube around the bounds, and a little more.
    fn cube(&self) -> Cube {
        let sizes = [0, 1, 2].map(|axis| self.high[axis] - self.low[axis]);
        let size = sizes.into_iter().fold(f64::MIN_POSITIVE, f64::max);
        Cube {
            centre: [0, 1, 2].map(|axis| self.low[axis] + sizes[axis] / 2.0),
            size: size * MARGIN,
        }
    }
}

/// The piece of the line of costs that a thread gets: a share of all costs.
#[derive(Clone, Copy, Debug)]
struct Zone {
    /// Costs before and up to the end of the piece, times the number of threads: whole numbers.
    first: f64,
    end: f64,
    threads: f64,
}

impl Zone {
    fn has(&self, before: f64) -> bool {
        let place = before * self.threads;
        place >= self.first && place < self.end
    }

    fn overlaps(&self, before: f64, cost: f64) -> bool {
        (before + cost) * self.threads > self.first && before * self.threads < self.end
    }
}

impl Barnes {
    /// Write the bounds of a thread's bodies.
    pub(super) fn set_bounds<W: Watch>(&self, thread: usize, bounds: Bounds, watch: &mut W) {
        let start = thread * self.bound_words;
        for axis in 0..3 {
            self.bounds.set(start + axis, bounds.low[axis], watch);
            self.bounds.set(start + 3 + axis, bounds.high[axis], watch);
        }
    }

    /// Set the cube around all bodies, and the empty root of the tree in it.
    pub(super) fn plant<W: Watch>(&self, watch: &mut W) {
        let mut bounds = Bounds::EMPTY;
        for thread in 0..self.threads {
            let start = thread * self.bound_words;
            let [low, high] = [start, start + 3]
                .map(|start| [0, 1, 2].map(|axis| self.bounds.get::<f64>(start + axis, watch)));
            bounds.join(&Bounds { low, high });
            watch.compute(OF_BOUNDS);
        }
        let cube = bounds.cube();
        for (axis, part) in cube.centre.into_iter().enumerate() {
            self.store.set(1 + axis, part, watch);
        }
        self.store.set(4, cube.size, watch);
        self.store.set(0, 0_u64, watch);
        self.clear(ROOT, ROOT, watch);
    }

    /// Return the cube around all bodies.
    pub(super) fn cube<W: Watch>(&self, watch: &mut W) -> Cube {
        Cube {
            centre: [1, 2, 3].map(|word| self.store.get(word, watch)),
            size: self.store.get(4, watch),
        }
    }

    /// Return the places of a thread's list that name its bodies.
    pub(super) fn own_bodies<W: Watch>(
        &self,
        thread: usize,
        watch: &mut W,
    ) -> std::ops::RangeInclusive<usize> {
        1..=self.lists[thread].get::<u64>(0, watch) as usize
    }

    /// Set a thread's list to the bodies in its zone.
    pub(super) fn divide<W: Watch>(&self, thread: usize, watch: &mut W) {
        let total: f64 = self.cells.get(ROOT, CELL_COST, watch);
        let zone = Zone {
            first: thread as f64 * total,
            end: (thread + 1) as f64 * total,
            threads: self.threads as f64,
        };
        let mut count = 0;
        self.collect(ROOT, 0.0, (thread, zone), &mut count, watch);
        self.lists[thread].set(0, count as u64, watch);
    }

    /// Add the bodies of a cell that are in a thread's zone to its list.
    fn collect<W: Watch>(
        &self,
        cell: usize,
        before: f64,
        (thread, zone): (usize, Zone),
        count: &mut usize,
        watch: &mut W,
    ) {
        let mut before = before;
        for octant in 0..8 {
            watch.compute(OF_SLOT);
            match Slot::of_word(self.cells.get(cell, SLOTS + octant, watch)) {
                Slot::Cell(inner) => {
                    let cost: f64 = self.cells.get(inner, CELL_COST, watch);
                    if zone.overlaps(before, cost) {
                        self.collect(inner, before, (thread, zone), count, watch);
                    }
                    before += cost;
                }
                first => self.for_each_body(first, watch, |body, watch| {
                    if zone.has(before) {
                        *count += 1;
                        self.lists[thread].set(*count, body as u64, watch);
                    }
                    before += self.bodies.get::<f64, W>(body, BODY_COST, watch);
                }),
            }
        }
    }
}
