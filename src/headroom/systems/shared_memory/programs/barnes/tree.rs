//! The octree: threads insert their bodies at once, then summarise the cells from below.
//!
//! A cell has eight slots, one for each octant of its cube: nothing, a cell, or a body. A second
//! body in a slot splits the octant into a cell of its own; the slot gets the cell when that is
//! complete, so that other threads descend without locks. The tree is the same for any order of
//! insertion; only the numbers of its cells depend on it.
//!
//! Sources: Barnes & Hut (1986), *A hierarchical O(N log N) force-calculation algorithm*; Singh,
//! Holt, Totsuka, Gupta & Hennessy (1995), *Load balancing and data locality in adaptive
//! hierarchical N-body methods* (building in parallel).

use super::super::watch::Watch;
use super::records::{
    BODY_COST, CELL_COST, INNER, MASS, NEXT, PARENT, POSITION, Records, SLOTS, SUMMARISED,
};
use super::{Barnes, Vector};

/// The cell around all bodies.
pub const ROOT: usize = 0;
/// Cells that a thread takes from the common store at once: a page.
pub const CHUNK: usize = 32;
/// Deepest cells; bodies that are still together in one of their slots stay in a list.
pub const MOST_DEPTH: usize = 40;
/// The lock of the common store; those before are the cells'.
pub const STORE_LOCK: usize = 1024;

// Instructions that are neither loads nor stores.
/// Three comparisons with the centre, a branch on the slot, and the next centre.
const OF_DESCENT: u32 = 16;
/// Take a cell and prepare the branch.
const OF_SPLIT: u32 = 20;
/// Weigh a position, and control of the loop.
const OF_SUMMAND: u32 = 12;

/// Content of a slot, or of a link to the next body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing.
    Empty,
    /// A body, the first of a list.
    Body(usize),
    /// A cell.
    Cell(usize),
}

impl Slot {
    /// Return the slot that a word stands for.
    #[inline]
    pub fn of_word(word: u64) -> Self {
        match word {
            0 => Self::Empty,
            cell if cell % 2 == 1 => Self::Cell((cell / 2) as usize),
            body => Self::Body((body / 2 - 1) as usize),
        }
    }

    /// Return the word that stands for the slot.
    #[inline]
    pub fn into_word(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Body(body) => 2 * (body as u64 + 1),
            Self::Cell(cell) => 2 * cell as u64 + 1,
        }
    }
}

/// The cube of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cube {
    /// Centre.
    pub centre: Vector,
    /// Length of an edge.
    pub size: f64,
}

impl Cube {
    /// Return the octant that a position is in.
    #[inline]
    pub fn octant(&self, position: Vector) -> usize {
        let bit = |axis: usize| usize::from(position[axis] >= self.centre[axis]) << axis;
        bit(0) | bit(1) | bit(2)
    }

    /// Return the cube of an octant.
    #[inline]
    #[must_use]
    pub fn inner(&self, octant: usize) -> Self {
        let shift = |axis: usize| {
            let quarter = self.size / 4.0;
            if octant >> axis & 1 == 1 {
                quarter
            } else {
                -quarter
            }
        };
        Self {
            centre: [0, 1, 2].map(|axis| self.centre[axis] + shift(axis)),
            size: self.size / 2.0,
        }
    }
}

/// The place of a slot that a thread is about to change.
#[derive(Clone, Copy, Debug)]
struct Place {
    cell: usize,
    octant: usize,
    /// Cube of the octant.
    cube: Cube,
    /// Depth of the cell.
    depth: usize,
}

/// Cells that a thread has taken from the common store.
#[derive(Debug)]
pub struct Taken {
    thread: usize,
    chunks: usize,
    /// Cells of the last chunk that are in use.
    used: usize,
}

impl Barnes {
    /// Insert the bodies of a thread.
    pub(super) fn insert_all<W: Watch>(&self, thread: usize, watch: &mut W) {
        let root = self.cube(watch);
        let mut taken = Taken {
            thread,
            chunks: 0,
            used: CHUNK,
        };
        for body in self.own_bodies(thread, watch) {
            let body = self.lists[thread].get::<u64>(body, watch) as usize;
            self.insert(body, root, &mut taken, watch);
        }
        self.chunks[thread].set(0, taken.chunks as u64, watch);
        self.chunks[thread].set(1, taken.used as u64, watch);
    }

    fn insert<W: Watch>(&self, body: usize, root: Cube, taken: &mut Taken, watch: &mut W) {
        let position = self.bodies.vector(body, POSITION, watch);
        self.bodies.set(body, NEXT, Slot::Empty.into_word(), watch);
        let (mut cell, mut cube) = (ROOT, root);
        for depth in 0.. {
            let octant = cube.octant(position);
            cube = cube.inner(octant);
            watch.compute(OF_DESCENT);
            let found = Slot::of_word(self.cells.published(cell, SLOTS + octant, watch));
            let place = Place {
                cell,
                octant,
                cube,
                depth,
            };
            let inner = match found {
                Slot::Cell(inner) => Some(inner),
                _ => self.put(body, place, taken, watch),
            };
            match inner {
                Some(inner) => cell = inner,
                None => return,
            }
        }
    }

    /// Put a body into a slot, or return the cell in the slot: another thread may have been first.
    fn put<W: Watch>(
        &self,
        body: usize,
        place: Place,
        taken: &mut Taken,
        watch: &mut W,
    ) -> Option<usize> {
        self.locks.with(place.cell % STORE_LOCK, watch, |watch| {
            let slot = SLOTS + place.octant;
            match Slot::of_word(self.cells.get(place.cell, slot, watch)) {
                Slot::Cell(inner) => Some(inner),
                Slot::Empty => {
                    self.cells
                        .publish(place.cell, slot, Slot::Body(body).into_word(), watch);
                    None
                }
                Slot::Body(other) => {
                    let inner = self.split(other, place, taken, watch);
                    if inner.is_none() {
                        self.link(body, other, place, watch);
                    }
                    inner
                }
            }
        })
    }

    /// Replace the body in a slot by a cell that has it; None if the cell would be too deep, if the
    /// store is empty, or if the slot has a list already.
    fn split<W: Watch>(
        &self,
        body: usize,
        place: Place,
        taken: &mut Taken,
        watch: &mut W,
    ) -> Option<usize> {
        let next = Slot::of_word(self.bodies.get(body, NEXT, watch));
        if place.depth == MOST_DEPTH || next != Slot::Empty {
            return None;
        }
        let made = self.take(taken, watch)?;
        watch.compute(OF_SPLIT);
        self.clear(made, place.cell, watch);
        let octant = place.cube.octant(self.bodies.vector(body, POSITION, watch));
        self.cells
            .set(made, SLOTS + octant, Slot::Body(body).into_word(), watch);
        let inner: u64 = self.cells.get(place.cell, INNER, watch);
        self.cells.set(place.cell, INNER, inner + 1, watch);
        let slot = SLOTS + place.octant;
        self.cells
            .publish(place.cell, slot, Slot::Cell(made).into_word(), watch);
        Some(made)
    }

    /// Add a body to the list of a slot, which is in the order of the bodies' numbers.
    fn link<W: Watch>(&self, body: usize, first: usize, place: Place, watch: &mut W) {
        let link = Slot::Body(body).into_word();
        if body < first {
            self.bodies
                .set(body, NEXT, Slot::Body(first).into_word(), watch);
            self.cells
                .publish(place.cell, SLOTS + place.octant, link, watch);
            return;
        }
        let mut before = first;
        loop {
            let next: u64 = self.bodies.get(before, NEXT, watch);
            match Slot::of_word(next) {
                Slot::Body(after) if after < body => before = after,
                _ => {
                    self.bodies.set(body, NEXT, next, watch);
                    self.bodies.set(before, NEXT, link, watch);
                    return;
                }
            }
        }
    }

    /// Take a cell; None if the common store is empty.
    fn take<W: Watch>(&self, taken: &mut Taken, watch: &mut W) -> Option<usize> {
        let chunks = &self.chunks[taken.thread];
        if taken.used == CHUNK {
            let chunk = self.locks.with(STORE_LOCK, watch, |watch| {
                let chunk: u64 = self.store.get(0, watch);
                // The first chunk has the root alone.
                let is_there = (chunk as usize + 1) * CHUNK < self.cell_count;
                is_there.then(|| {
                    self.store.set(0, chunk + 1, watch);
                    chunk + 1
                })
            })?;
            chunks.set(2 + taken.chunks, chunk, watch);
            taken.chunks += 1;
            taken.used = 0;
        }
        let chunk: u64 = chunks.get(1 + taken.chunks, watch);
        taken.used += 1;
        Some(chunk as usize * CHUNK + taken.used - 1)
    }

    /// Empty a cell.
    pub(super) fn clear<W: Watch>(&self, cell: usize, parent: usize, watch: &mut W) {
        self.cells.set(cell, PARENT, parent as u64, watch);
        for field in [INNER, SUMMARISED] {
            self.cells.set(cell, field, 0_u64, watch);
        }
        for slot in SLOTS..SLOTS + 8 {
            self.cells.set(cell, slot, Slot::Empty.into_word(), watch);
        }
    }

    /// Summarise the cells that a thread made, and those around them that no other thread will.
    ///
    /// The thread that summarises the last cell inside of another continues with that one: no
    /// thread waits for another, and each cell adds its slots in their order.
    pub(super) fn summarise_all<W: Watch>(&self, thread: usize, watch: &mut W) {
        if thread == 0 {
            self.summarise_from(ROOT, watch);
        }
        let chunks: u64 = self.chunks[thread].get(0, watch);
        let used: u64 = self.chunks[thread].get(1, watch);
        for number in 1..=chunks {
            let chunk: u64 = self.chunks[thread].get(1 + number as usize, watch);
            let cells = if number == chunks { used } else { CHUNK as u64 };
            for cell in 0..cells {
                self.summarise_from((chunk * CHUNK as u64 + cell) as usize, watch);
            }
        }
    }

    /// Summarise a cell that has no cells inside, and those around it as far as they are complete.
    fn summarise_from<W: Watch>(&self, cell: usize, watch: &mut W) {
        if self.cells.get::<u64, W>(cell, INNER, watch) > 0 {
            return;
        }
        let mut cell = cell;
        loop {
            self.summarise(cell, watch);
            if cell == ROOT {
                return;
            }
            let parent = self.cells.get::<u64, W>(cell, PARENT, watch) as usize;
            let is_complete = self.locks.with(parent % STORE_LOCK, watch, |watch| {
                let summarised = self.cells.get::<u64, W>(parent, SUMMARISED, watch) + 1;
                self.cells.set(parent, SUMMARISED, summarised, watch);
                summarised == self.cells.get::<u64, W>(parent, INNER, watch)
            });
            if !is_complete {
                return;
            }
            cell = parent;
        }
    }

    fn summarise<W: Watch>(&self, cell: usize, watch: &mut W) {
        let (mut mass, mut cost, mut moment) = (0.0, 0.0, [0.0; 3]);
        let mut add = |records: &Records, record: usize, cost_field: usize, watch: &mut W| {
            let own: f64 = records.get(record, MASS, watch);
            let position = records.vector(record, POSITION, watch);
            cost += records.get::<f64, W>(record, cost_field, watch);
            mass += own;
            for (sum, part) in moment.iter_mut().zip(position) {
                *sum += own * part;
            }
            watch.compute(OF_SUMMAND);
        };
        for octant in 0..8 {
            match Slot::of_word(self.cells.get(cell, SLOTS + octant, watch)) {
                Slot::Cell(inner) => add(&self.cells, inner, CELL_COST, watch),
                first => self.for_each_body(first, watch, |body, watch| {
                    add(&self.bodies, body, BODY_COST, watch);
                }),
            }
        }
        self.cells.set(cell, MASS, mass, watch);
        self.cells
            .set_vector(cell, POSITION, moment.map(|sum| sum / mass), watch);
        self.cells.set(cell, CELL_COST, cost, watch);
    }

    /// Visit the bodies of a list.
    #[inline]
    pub(super) fn for_each_body<W: Watch>(
        &self,
        first: Slot,
        watch: &mut W,
        mut visit: impl FnMut(usize, &mut W),
    ) {
        let mut slot = first;
        while let Slot::Body(body) = slot {
            visit(body, watch);
            slot = Slot::of_word(self.bodies.get(body, NEXT, watch));
        }
    }
}
