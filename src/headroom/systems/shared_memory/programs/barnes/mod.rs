//! Barnes: motion of bodies under gravity, by the method of Barnes and Hut.
//!
//! In each step the threads build an octree with locks on its cells, summarise masses and costs
//! from below, divide the bodies into zones of equal cost, walk the tree for the force on each
//! body, and advance their bodies. A slot of the tree has one body; leaves of SPLASH-2 have up to ten.
//!
//! Invariant: tree and forces are the same bits for any number of threads. Only the numbers of the
//! cells, and with them their addresses, depend on which thread is first to split a slot.

pub mod check;
pub mod force;
pub mod locks;
pub mod plummer;
pub mod records;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod zones;

use serde::Deserialize;

use self::locks::Locks;
use self::plummer::{Body, plummer};
use self::records::{BODY_COST, BODY_WORDS, CELL_WORDS, MASS, POSITION, Records, VELOCITY};
use self::tree::{CHUNK, STORE_LOCK};
use self::zones::Bounds;
use super::layout::Layout;
use super::shared::Shared;
use super::watch::{Silent, Watch};
use super::{Check, Program};

/// Three coordinates.
pub type Vector = [f64; 3];

/// Sizes, in the units of [`mod@plummer`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Bodies, 64 to 2^20, no fewer than threads.
    pub bodies: usize,
    /// Time steps, 1 to 10,000.
    pub steps: usize,
    /// Time step, above 0.
    pub time_step: f64,
    /// Distance within which gravity is softened, above 0.
    pub softening: f64,
    /// Size of a cell relative to its distance that is small enough, 0 to 2.
    pub tolerance: f64,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            bodies: 4096,
            steps: 4,
            time_step: 0.025,
            softening: 0.05,
            tolerance: 1.0,
        }
    }
}

/// In smaller clusters single encounters decide, and the bounds of the check do not hold.
const BODIES: std::ops::RangeInclusive<usize> = 64..=1 << 20;
const MOST_STEPS: usize = 10_000;
const MOST_TOLERANCE: f64 = 2.0;
/// Phases of a step.
const IN_STEP: usize = 6;
/// Words of the store: the last chunk that was taken, and the cube around all bodies.
const STORE_WORDS: usize = 5;
/// Least and greatest coordinates of a thread's bodies.
const BOUND_WORDS: usize = 6;

/// The program.
#[derive(Debug)]
pub struct Barnes {
    spec: Spec,
    threads: usize,
    input: Vec<Body>,
    layout: Layout,
    bodies: Records,
    cells: Records,
    cell_count: usize,
    store: Shared,
    bounds: Shared,
    bound_words: usize,
    /// Bodies of each thread: their count, then their numbers.
    lists: Vec<Shared>,
    /// Chunks of cells of each thread: their count, cells used of the last one, their numbers.
    chunks: Vec<Shared>,
    locks: Locks,
}

impl Barnes {
    /// Make the program for `threads` >= 1.
    ///
    /// # Errors
    ///
    /// The size that is invalid, and why; or there is no memory.
    pub fn new(spec: Spec, threads: usize, seed: u64) -> Result<Self, String> {
        check_sizes(spec, threads)?;
        // A random cluster needs about 0.6 cells for each body.
        let chunks = (2 * spec.bodies).div_ceil(CHUNK) + threads;
        Self::of_bodies(spec, threads, plummer(spec.bodies, seed), chunks)
    }

    /// Make the program for given bodies and a number of chunks of cells.
    fn of_bodies(
        spec: Spec,
        threads: usize,
        input: Vec<Body>,
        chunk_count: usize,
    ) -> Result<Self, String> {
        let mut layout = Layout::default();
        // The root has a chunk of its own.
        let cell_count = (chunk_count + 1) * CHUNK;
        let bodies = layout.shared("bodies", input.len() * BODY_WORDS)?;
        let cells = layout.shared("cells", cell_count * CELL_WORDS)?;
        let store = layout.shared("store of cells", STORE_WORDS)?;
        let (bounds, bound_words) = layout.parts("bounds of bodies", threads, BOUND_WORDS)?;
        let mut private = |name, words| -> Result<Vec<Shared>, String> {
            (0..threads)
                .map(|thread| layout.private(name, thread, words))
                .collect()
        };
        Ok(Self {
            spec,
            threads,
            bodies: Records::new(bodies, BODY_WORDS),
            cells: Records::new(cells, CELL_WORDS),
            cell_count,
            store,
            bounds,
            bound_words,
            lists: private("list of bodies", 1 + input.len())?,
            chunks: private("list of chunks", 2 + chunk_count)?,
            locks: Locks::new(STORE_LOCK + 1),
            input,
            layout,
        })
    }

    /// Write an equal part of the bodies, and give it to the thread.
    fn load<W: Watch>(&self, thread: usize, watch: &mut W) {
        let first = |thread: usize| thread * self.input.len() / self.threads;
        let mut bounds = Bounds::EMPTY;
        let own = first(thread)..first(thread + 1);
        self.lists[thread].set(0, own.len() as u64, watch);
        for (place, body) in own.enumerate() {
            let input = &self.input[body];
            self.bodies.set(body, MASS, input.mass, watch);
            self.bodies
                .set_vector(body, POSITION, input.position, watch);
            self.bodies
                .set_vector(body, VELOCITY, input.velocity, watch);
            self.bodies.set(body, BODY_COST, 1.0, watch);
            self.lists[thread].set(1 + place, body as u64, watch);
            bounds.add(input.position);
        }
        self.set_bounds(thread, bounds, watch);
    }
}

fn check_sizes(spec: Spec, threads: usize) -> Result<(), String> {
    let Spec {
        bodies,
        steps,
        time_step,
        softening,
        tolerance,
    } = spec;
    if !BODIES.contains(&bodies) || bodies < threads {
        return Err(format!(
            "Barnes with {bodies} bodies on {threads} threads: there are {} to {} bodies, at least \
             one for each thread",
            BODIES.start(),
            BODIES.end()
        ));
    }
    if !(1..=MOST_STEPS).contains(&steps) {
        return Err(format!(
            "Barnes with {steps} steps: it has 1 to {MOST_STEPS}"
        ));
    }
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    if !is_positive(time_step) || !is_positive(softening) {
        return Err(format!(
            "Barnes with a time step of {time_step} and a softening of {softening}: both are above \
             0"
        ));
    }
    if !(0.0..=MOST_TOLERANCE).contains(&tolerance) {
        return Err(format!(
            "Barnes with a tolerance of {tolerance}: it is 0 to {MOST_TOLERANCE}"
        ));
    }
    Ok(())
}

impl Program for Barnes {
    fn name(&self) -> &'static str {
        "barnes"
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn has_phase(&self, phase: usize) -> bool {
        phase <= IN_STEP * self.spec.steps
    }

    fn is_start_up(&self, phase: usize) -> bool {
        phase == 0
    }

    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
        let Some(phase) = phase.checked_sub(1) else {
            self.load(thread, watch);
            return;
        };
        match phase % IN_STEP {
            0 if thread == 0 => self.plant(watch),
            0 => {}
            1 => self.insert_all(thread, watch),
            2 => self.summarise_all(thread, watch),
            3 => self.divide(thread, watch),
            4 => self.attract_all(thread, watch),
            _ => self.advance_all(phase / IN_STEP, thread, watch),
        }
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn lock_count(&self) -> u32 {
        self.locks.count()
    }

    fn result(&self) -> Vec<f64> {
        let vectors =
            |body| [POSITION, VELOCITY].map(|field| self.bodies.vector(body, field, &mut Silent));
        (0..self.input.len()).flat_map(vectors).flatten().collect()
    }

    fn verify(&self) -> Result<Check, String> {
        self.check_motion()
    }
}
