//! Ocean: currents of a wind-driven basin, from stencils on grids and a multigrid solver.
//!
//! Grids are divided among a grid of threads. A thread computes its own points from copies of its
//! neighbours' outermost points, which it fetches at the start of a phase. Sums over all points are
//! added in the order of the threads, so that every run has the same bits.
//!
//! [`dynamics`] has the equations, [`solver`] the multigrid method, [`schedule`] their order.

pub mod dynamics;
pub mod grid;
pub mod schedule;
pub mod solver;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use self::dynamics::{LOWER, SCREENING, UPPER, check_stability};
use self::grid::Grid;
use self::schedule::{Operation, Schedule, Stage};
use self::solver::{Problem, Solver};
use super::layout::Layout;
use super::processors::Processors;
use super::shared::Shared;
use super::watch::Watch;
use super::{Check, Program};

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Rows and columns of points, with the boundary: best a power of two plus 2, 10 to 4098.
    pub grid: usize,
    /// Time steps, 1 to 10,000.
    pub steps: usize,
    /// Residual of a solution relative to its source, 1e-11 to 0.1.
    pub tolerance: f64,
    /// Distance (m) of the points.
    pub spacing_m: f64,
    /// Time step (s).
    pub time_step_s: f64,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            grid: 66,
            steps: 6,
            tolerance: 1e-7,
            spacing_m: 20_000.0,
            time_step_s: 28_800.0,
        }
    }
}

const LEAST_GRID: usize = 10;
const MOST_GRID: usize = 4098;
const MOST_STEPS: usize = 10_000;
const TOLERANCES: std::ops::RangeInclusive<f64> = 1e-11..=0.1;
/// A solution ends after this number of cycles, and the check fails.
const MOST_CYCLES: usize = 50;

const BAROTROPIC: usize = 0;
const BAROCLINIC: usize = 1;

/// Sums over a thread's points that all threads read.
#[derive(Clone, Copy, Debug)]
enum Partial {
    /// Squares of the source of a mode.
    Source(usize),
    /// Squares of the residual.
    Residual,
    /// Baroclinic tendency.
    Tendency,
    /// Baroclinic mode of a uniform boundary.
    UniformMode,
}

const PARTIALS: usize = 5;

impl Partial {
    fn place(self) -> usize {
        match self {
            Self::Source(mode) => mode,
            Self::Residual => 2,
            Self::Tendency => 3,
            Self::UniformMode => 4,
        }
    }
}

/// The program.
#[derive(Debug)]
pub struct Ocean {
    spec: Spec,
    processors: Processors,
    layout: Layout,
    schedule: Schedule,
    solver: Solver,
    /// Stream functions (m²/s) of both layers in even and in odd steps.
    streams: [[Grid; 2]; 2],
    /// Vorticities (1/s), likewise.
    vorticities: [[Grid; 2]; 2],
    /// Of vorticity and stream function in both layers, and of the two stream functions.
    jacobians: [Grid; 3],
    /// Source (1/s²) of the upper layer.
    wind: Grid,
    /// T that is 1 on the boundary.
    uniform_mode: Grid,
    /// Sources (1/s²) of both modes.
    sources: [Grid; 2],
    /// Tendencies (m²/s²) of both modes.
    tendencies: [Grid; 2],
    partials: Shared,
    partial_words: usize,
}

impl Ocean {
    /// Make the program for `threads` >= 1.
    ///
    /// # Errors
    ///
    /// The size that is invalid, and why; or there is no memory.
    pub fn new(spec: Spec, threads: usize) -> Result<Self, String> {
        check(spec)?;
        let interior = spec.grid - 2;
        let processors = Processors::near_square(threads);
        let mut layout = Layout::default();
        let solver = Solver::new(&mut layout, interior, spec.spacing_m, processors)
            .map_err(|why| format!("Ocean of {} x {}: {why}", spec.grid, spec.grid))?;
        let mut grid = |name| Grid::new(&mut layout, name, interior, processors);
        let mut pair = |name| Ok::<_, String>([grid(name)?, grid(name)?]);
        let streams = [
            pair("upper stream function")?,
            pair("lower stream function")?,
        ];
        let vorticities = [pair("upper vorticity")?, pair("lower vorticity")?];
        let (sources, tendencies) = (pair("sources")?, pair("tendencies")?);
        let jacobians = [grid("Jacobians")?, grid("Jacobians")?, grid("Jacobians")?];
        let (wind, uniform_mode) = (grid("wind")?, grid("uniform mode")?);
        let (partials, partial_words) = layout.parts("partial sums", threads, PARTIALS)?;
        Ok(Self {
            spec,
            processors,
            schedule: Schedule::new(spec.steps, solver.levels(), solver.coarsest_sweeps),
            solver,
            streams,
            vorticities,
            jacobians,
            wind,
            uniform_mode,
            sources,
            tendencies,
            partials,
            partial_words,
            layout,
        })
    }

    /// Write a thread's sum.
    fn note<W: Watch>(&self, thread: usize, partial: Partial, value: f64, watch: &mut W) {
        self.partials
            .set(thread * self.partial_words + partial.place(), value, watch);
    }

    /// Add the sums of all threads in their order.
    fn total<W: Watch>(&self, partial: Partial, watch: &mut W) -> f64 {
        let threads = 0..self.threads();
        let word = |thread| thread * self.partial_words + partial.place();
        let values = threads.map(|thread| self.partials.get::<f64>(word(thread), watch));
        values.sum()
    }

    /// Return the mode of a solution: the first is baroclinic, then both take turns.
    fn mode(solution: usize) -> usize {
        if solution % 2 == 1 {
            BAROTROPIC
        } else {
            BAROCLINIC
        }
    }

    fn problem(&self, mode: usize) -> Problem<'_> {
        Problem {
            unknown: &self.tendencies[mode],
            source: &self.sources[mode],
            screening: if mode == BAROCLINIC { SCREENING } else { 0.0 },
        }
    }

    fn solve<W: Watch>(
        &self,
        (solution, cycle): (usize, usize),
        stage: Stage,
        thread: usize,
        watch: &mut W,
    ) {
        let mode = Self::mode(solution);
        let problem = self.problem(mode);
        match stage {
            Stage::Relax { level, colour } => {
                self.solver.relax(problem, (level, colour), thread, watch);
            }
            Stage::Residual { level } => {
                let squares = self.solver.residual(problem, level, thread, watch);
                if level == 0 {
                    self.note(thread, Partial::Residual, squares, watch);
                }
            }
            Stage::Restrict { level } => {
                if level == 0 && self.has_ended(mode, cycle, watch) {
                    // The order of later phases; the program itself compares the sums alone.
                    self.schedule.end(solution, cycle);
                } else {
                    self.solver.restrict(level, thread, watch);
                }
            }
            Stage::Correct { level } => self.solver.correct(problem, level, thread, watch),
        }
    }

    /// Compare the residual of a mode with its source; all threads come to the same conclusion.
    fn has_ended<W: Watch>(&self, mode: usize, cycle: usize, watch: &mut W) -> bool {
        let residual = self.total(Partial::Residual, watch);
        let source = self.total(Partial::Source(mode), watch);
        let squared = self.spec.tolerance * self.spec.tolerance;
        residual <= squared * source || cycle + 1 == MOST_CYCLES
    }

    fn final_stream(&self, layer: usize) -> &Grid {
        &self.streams[layer][self.spec.steps % 2]
    }

    /// Return the residual of the last solution of a mode relative to its source, at all points.
    fn relative_residual(&self, mode: usize) -> f64 {
        let problem = self.problem(mode);
        let (unknown, source) = (problem.unknown.whole(), problem.source.whole());
        let square = self.spec.spacing_m * self.spec.spacing_m;
        let (mut residuals, mut sources) = (0.0, 0.0);
        for row in 1..self.spec.grid - 1 {
            for column in 1..self.spec.grid - 1 {
                let own = unknown[row][column];
                let sum = unknown[row - 1][column] + unknown[row + 1][column];
                let sum = sum + unknown[row][column - 1] + unknown[row][column + 1];
                let found = (sum - 4.0 * own) / square - problem.screening * own;
                residuals += (found - source[row][column]).powi(2);
                sources += source[row][column].powi(2);
            }
        }
        f64::sqrt(residuals / sources)
    }
}

fn check(spec: Spec) -> Result<(), String> {
    let Spec {
        grid,
        steps,
        tolerance,
        spacing_m,
        time_step_s,
    } = spec;
    if !(LEAST_GRID..=MOST_GRID).contains(&grid) {
        return Err(format!(
            "Ocean of {grid} x {grid}: it has {LEAST_GRID} to {MOST_GRID} rows; use a power of \
             two plus 2"
        ));
    }
    if !(1..=MOST_STEPS).contains(&steps) {
        return Err(format!("Ocean of {steps} steps: it has 1 to {MOST_STEPS}"));
    }
    if !TOLERANCES.contains(&tolerance) {
        return Err(format!(
            "Ocean with a tolerance of {tolerance:e}: it is 1e-11 to 0.1"
        ));
    }
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    if !is_positive(spacing_m) || !is_positive(time_step_s) {
        return Err(format!(
            "Ocean with a point every {spacing_m} m and a step every {time_step_s} s: both are \
             above 0"
        ));
    }
    check_stability(spacing_m, time_step_s, spacing_m * (grid - 1) as f64)
}

impl Program for Ocean {
    fn name(&self) -> &'static str {
        "ocean"
    }

    fn threads(&self) -> usize {
        self.processors.rows * self.processors.columns
    }

    fn has_phase(&self, phase: usize) -> bool {
        self.schedule.operation(phase).is_some()
    }

    fn is_start_up(&self, phase: usize) -> bool {
        self.schedule.is_start_up(phase)
    }

    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
        match self.schedule.operation(phase) {
            Some(Operation::Rest) => self.rest(thread, watch),
            Some(Operation::Solve {
                solution,
                cycle,
                stage,
            }) => self.solve((solution, cycle), stage, thread, watch),
            Some(Operation::Keep) => self.keep(thread, watch),
            Some(Operation::Vorticity { step }) => self.vorticity(step, thread, watch),
            Some(Operation::Sources { step }) => self.sources(step, thread, watch),
            Some(Operation::Integrate) => self.integrate(thread, watch),
            Some(Operation::Advance { step }) => self.advance(step, thread, watch),
            None => {}
        }
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn result(&self) -> Vec<f64> {
        let layers = [UPPER, LOWER].into_iter();
        layers
            .flat_map(|layer| self.final_stream(layer).whole().concat())
            .collect()
    }

    fn verify(&self) -> Result<Check, String> {
        let solutions = 0..self.schedule.solutions();
        let most_cycles = solutions
            .filter_map(|solution| self.schedule.cycles(solution))
            .max();
        // The residual of the black points is not 0 but that of rounding.
        let bound = 1.01 * self.spec.tolerance;
        Check::of(vec![
            (
                "number of cycles of a solution",
                most_cycles.unwrap_or(0) as f64,
                MOST_CYCLES as f64 - 1.0,
            ),
            (
                "residual of the barotropic mode",
                self.relative_residual(BAROTROPIC),
                bound,
            ),
            (
                "residual of the baroclinic mode",
                self.relative_residual(BAROCLINIC),
                bound,
            ),
            ("water exchanged by the layers", self.exchanged(), 1e-9),
        ])
    }
}
