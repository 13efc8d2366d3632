//! Forces from a walk of the tree, and the motion of the bodies.
//!
//! A cell acts as its mass in its centre if its size is less than the tolerance times its distance;
//! else its slots act. A cell that has the body itself is always opened: with a tolerance above
//! 1/√3 the body could attract itself.
//!
//! Sources: Barnes & Hut (1986), *A hierarchical O(N log N) force-calculation algorithm*; Salmon &
//! Warren (1994), *Skeletons from the treecode closet* (self-attraction).

use super::super::watch::Watch;
use super::records::{ACCELERATION, BODY_COST, MASS, POSITION, SLOTS, VELOCITY};
use super::tree::{Cube, ROOT, Slot};
use super::zones::Bounds;
use super::{Barnes, Vector};

// Instructions that are neither loads nor stores.
/// A branch on the slot, and control of the loop.
const OF_SLOT: u32 = 6;
/// Three differences, their squares, and the comparison with the size.
const OF_DISTANCE: u32 = 14;
/// Distance, root and quotient, three products and sums, and the count.
const OF_ATTRACTION: u32 = 22;
/// Nine products and sums, six comparisons for the bounds, and control of the loop.
const OF_ADVANCE: u32 = 24;

/// A cell whose slots have to be visited.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    cell: usize,
    size: f64,
    /// The octant of the cell around it, if the body is in this cell.
    octant_with_body: Option<usize>,
}

/// The pull on a body.
#[derive(Clone, Copy, Debug)]
struct Pull {
    position: Vector,
    softening_square: f64,
    acceleration: Vector,
    interactions: u32,
}

impl Pull {
    #[inline]
    fn add(&mut self, mass: f64, position: Vector) {
        let [x, y, z] = difference(position, self.position);
        let square = x * x + y * y + z * z + self.softening_square;
        let factor = mass / (square * f64::sqrt(square));
        for (sum, part) in self.acceleration.iter_mut().zip([x, y, z]) {
            *sum += factor * part;
        }
        self.interactions += 1;
    }
}

#[inline]
fn difference(to: Vector, from: Vector) -> Vector {
    [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
}

impl Barnes {
    /// Set the accelerations of a thread's bodies.
    pub(super) fn attract_all<W: Watch>(&self, thread: usize, watch: &mut W) {
        let root = self.cube(watch);
        let mut open = Vec::new();
        for place in self.own_bodies(thread, watch) {
            let body = self.lists[thread].get::<u64>(place, watch) as usize;
            let mut pull = Pull {
                position: self.bodies.vector(body, POSITION, watch),
                softening_square: self.spec.softening * self.spec.softening,
                acceleration: [0.0; 3],
                interactions: 0,
            };
            self.walk(body, root, &mut pull, &mut open, watch);
            self.bodies
                .set_vector(body, ACCELERATION, pull.acceleration, watch);
            self.bodies
                .set(body, BODY_COST, f64::from(pull.interactions), watch);
        }
    }

    /// Add the pull of all other bodies.
    fn walk<W: Watch>(
        &self,
        body: usize,
        root: Cube,
        pull: &mut Pull,
        open: &mut Vec<Open>,
        watch: &mut W,
    ) {
        // The smallest cube with the body among those of the opened cells.
        let mut cube = root;
        open.push(Open {
            cell: ROOT,
            size: root.size,
            octant_with_body: None,
        });
        while let Some(next) = open.pop() {
            if let Some(octant) = next.octant_with_body {
                cube = cube.inner(octant);
            }
            let has_body = next.cell == ROOT || next.octant_with_body.is_some();
            let own_octant = has_body.then(|| cube.octant(pull.position));
            for octant in 0..8 {
                watch.compute(OF_SLOT);
                match Slot::of_word(self.cells.get(next.cell, SLOTS + octant, watch)) {
                    Slot::Cell(cell) => {
                        let size = next.size / 2.0;
                        if own_octant == Some(octant) {
                            open.push(Open {
                                cell,
                                size,
                                octant_with_body: own_octant,
                            });
                        } else if !self.attract_from_afar(cell, size, pull, watch) {
                            open.push(Open {
                                cell,
                                size,
                                octant_with_body: None,
                            });
                        }
                    }
                    first => self.for_each_body(first, watch, |other, watch| {
                        if other != body {
                            let position = self.bodies.vector(other, POSITION, watch);
                            pull.add(self.bodies.get(other, MASS, watch), position);
                            watch.compute(OF_ATTRACTION);
                        }
                    }),
                }
            }
        }
    }

    /// Add the pull of a cell's mass if the cell is far away; return whether it is.
    #[inline]
    fn attract_from_afar<W: Watch>(
        &self,
        cell: usize,
        size: f64,
        pull: &mut Pull,
        watch: &mut W,
    ) -> bool {
        let position = self.cells.vector(cell, POSITION, watch);
        let [x, y, z] = difference(position, pull.position);
        let reach = self.spec.tolerance * self.spec.tolerance * (x * x + y * y + z * z);
        watch.compute(OF_DISTANCE);
        let is_far = size * size < reach;
        if is_far {
            pull.add(self.cells.get(cell, MASS, watch), position);
            watch.compute(OF_ATTRACTION);
        }
        is_far
    }

    /// Advance a thread's bodies by a step (leapfrog), and set the bounds of their new positions.
    pub(super) fn advance_all<W: Watch>(&self, step: usize, thread: usize, watch: &mut W) {
        let time_step = self.spec.time_step;
        // Before the first step velocities and positions are of the same time.
        let kick = if step == 0 {
            time_step / 2.0
        } else {
            time_step
        };
        let mut bounds = Bounds::EMPTY;
        for place in self.own_bodies(thread, watch) {
            let body = self.lists[thread].get::<u64>(place, watch) as usize;
            let acceleration = self.bodies.vector(body, ACCELERATION, watch);
            let before = self.bodies.vector(body, VELOCITY, watch);
            let velocity = [0, 1, 2].map(|axis| before[axis] + kick * acceleration[axis]);
            let from = self.bodies.vector(body, POSITION, watch);
            let position = [0, 1, 2].map(|axis| from[axis] + time_step * velocity[axis]);
            self.bodies.set_vector(body, VELOCITY, velocity, watch);
            self.bodies.set_vector(body, POSITION, position, watch);
            bounds.add(position);
            watch.compute(OF_ADVANCE);
        }
        self.set_bounds(thread, bounds, watch);
    }
}
