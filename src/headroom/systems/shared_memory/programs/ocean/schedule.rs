//! The order of Ocean's phases, which the data decide: a solver ends once its residual is small.
//!
//! Invariant: the operation of a phase depends on ended phases alone, so all threads agree on it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Work of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bring the ocean to rest.
    Rest,
    /// A stage of a solver's cycle.
    Solve {
        /// Number of the solution: 0 before the first step, then two in each step.
        solution: usize,
        /// Number of the cycle.
        cycle: usize,
        /// Stage of the cycle.
        stage: Stage,
    },
    /// Keep the first solution: the baroclinic mode of a uniform boundary.
    Keep,
    /// Derive the vorticity from the stream function.
    Vorticity {
        /// Number of the step.
        step: usize,
    },
    /// Add up the sources of both modes.
    Sources {
        /// Number of the step.
        step: usize,
    },
    /// Integrate the baroclinic tendency.
    Integrate,
    /// Advance the stream function.
    Advance {
        /// Number of the step.
        step: usize,
    },
}

/// Stage of a cycle of the multigrid solver; level 0 is the finest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Relax the points of a colour.
    Relax {
        /// Level.
        level: usize,
        /// 0: red, 1: black.
        colour: usize,
    },
    /// Compute the residual.
    Residual {
        /// Level.
        level: usize,
    },
    /// Make the residual the source of the next coarser level; end the solution at level 0 if the
    /// residual is small.
    Restrict {
        /// Level of the residual.
        level: usize,
    },
    /// Add the correction of the next coarser level.
    Correct {
        /// Level that is corrected.
        level: usize,
    },
}

/// Stages of a level on the way down: relax twice, residual, restrict.
const DOWN: usize = 4;
/// Stages of a level on the way up: correct, relax twice.
const UP: usize = 3;
/// The end of a solution that is not known yet.
const UNKNOWN: usize = usize::MAX;

/// The schedule of a run.
#[derive(Debug)]
pub struct Schedule {
    levels: usize,
    coarsest_sweeps: usize,
    /// Number of the phase after each solution.
    ends: Vec<AtomicUsize>,
}

impl Schedule {
    /// Return the schedule of `steps`, with `levels` >= 2 and as many sweeps of the coarsest.
    pub fn new(steps: usize, levels: usize, coarsest_sweeps: usize) -> Self {
        Self {
            levels,
            coarsest_sweeps,
            ends: (0..=2 * steps).map(|_| AtomicUsize::new(UNKNOWN)).collect(),
        }
    }

    fn end_of(&self, solution: usize) -> usize {
        self.ends[solution].load(Ordering::Relaxed)
    }

    /// Return the phase of the first operation between a solution and the one before.
    fn start(&self, solution: usize) -> usize {
        solution
            .checked_sub(1)
            .map_or(0, |before| self.end_of(before))
    }

    /// Note that a solution ends in the first stages of its cycle of a number.
    pub fn end(&self, solution: usize, cycle: usize) {
        let first = self.start(solution) + singles(solution);
        let end = first + cycle * self.stages() + DOWN;
        self.ends[solution].store(end, Ordering::Relaxed);
    }

    /// Return the cycles of a solution with the incomplete last one, None if it has not ended.
    pub fn cycles(&self, solution: usize) -> Option<usize> {
        let end = self.end_of(solution);
        let phases = || end - self.start(solution) - singles(solution);
        (end != UNKNOWN).then(|| phases() / self.stages() + 1)
    }

    /// Return the number of solutions.
    pub fn solutions(&self) -> usize {
        self.ends.len()
    }

    /// Return whether a phase is before the first step.
    pub fn is_start_up(&self, phase: usize) -> bool {
        phase <= self.end_of(0)
    }

    /// Return the operation of a phase, None after the last one.
    pub fn operation(&self, phase: usize) -> Option<Operation> {
        let solution = self
            .ends
            .partition_point(|end| end.load(Ordering::Relaxed) <= phase);
        let place = phase - self.start(solution);
        if solution == self.solutions() {
            let is_in_last_step = place < ENDING;
            return is_in_last_step.then(|| single(solution, place));
        }
        let Some(place) = place.checked_sub(singles(solution)) else {
            return Some(single(solution, place));
        };
        Some(Operation::Solve {
            solution,
            cycle: place / self.stages(),
            stage: self.stage(place % self.stages()),
        })
    }

    /// Return the stages of a cycle.
    pub fn stages(&self) -> usize {
        (self.levels - 1) * (DOWN + UP) + 2 * self.coarsest_sweeps
    }

    /// Return a stage of a cycle.
    pub fn stage(&self, index: usize) -> Stage {
        let coarsest = self.levels - 1;
        if index < DOWN * coarsest {
            let level = index / DOWN;
            return match index % DOWN {
                colour @ 0..=1 => Stage::Relax { level, colour },
                2 => Stage::Residual { level },
                _ => Stage::Restrict { level },
            };
        }
        let index = index - DOWN * coarsest;
        if index < 2 * self.coarsest_sweeps {
            return Stage::Relax {
                level: coarsest,
                colour: index % 2,
            };
        }
        let index = index - 2 * self.coarsest_sweeps;
        let level = coarsest - 1 - index / UP;
        match index % UP {
            0 => Stage::Correct { level },
            later => Stage::Relax {
                level,
                colour: later - 1,
            },
        }
    }
}

/// Operations that end a step.
const ENDING: usize = 2;

/// Return the number of operations between a solution and the one before.
fn singles(solution: usize) -> usize {
    match solution {
        0 => 1,
        1 => 3,
        even if even % 2 == 0 => 0,
        _ => ENDING + 2,
    }
}

/// Return one of the operations between a solution and the one before.
fn single(solution: usize, place: usize) -> Operation {
    let step = solution / 2;
    match (solution, place) {
        (0, _) => Operation::Rest,
        (1, 0) => Operation::Keep,
        (1, 1) => Operation::Vorticity { step },
        (1, _) => Operation::Sources { step },
        (_, 0) => Operation::Integrate,
        (_, 1) => Operation::Advance { step: step - 1 },
        (_, 2) => Operation::Vorticity { step },
        _ => Operation::Sources { step },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_rest_one_solution_and_two_in_each_step() {
        let schedule = Schedule::new(2, 3, 2);
        assert_eq!(schedule.stages(), 2 * 7 + 4);
        // Cycles of each solution before that in which it ends.
        let complete = [1, 0, 2, 0, 1];
        let mut seen = Vec::new();
        let mut phase = 0;
        while let Some(operation) = schedule.operation(phase) {
            if let Operation::Solve {
                solution,
                cycle,
                stage,
            } = operation
            {
                if cycle == complete[solution] && stage == (Stage::Restrict { level: 0 }) {
                    schedule.end(solution, cycle);
                    assert_eq!(schedule.cycles(solution), Some(cycle + 1));
                    seen.push(operation);
                }
            } else {
                seen.push(operation);
            }
            // Unchanged by what was noted in the phase.
            assert_eq!(schedule.operation(phase), Some(operation));
            phase += 1;
        }
        let end = |solution: usize| Operation::Solve {
            solution,
            cycle: complete[solution],
            stage: Stage::Restrict { level: 0 },
        };
        let wanted = [
            Operation::Rest,
            end(0),
            Operation::Keep,
            Operation::Vorticity { step: 0 },
            Operation::Sources { step: 0 },
            end(1),
            end(2),
            Operation::Integrate,
            Operation::Advance { step: 0 },
            Operation::Vorticity { step: 1 },
            Operation::Sources { step: 1 },
            end(3),
            end(4),
            Operation::Integrate,
            Operation::Advance { step: 1 },
        ];
        assert_eq!(seen, wanted);
        assert_eq!(phase, 10 + 4 * 18 + 5 * DOWN);
        let start_up = (0..phase)
            .filter(|&phase| schedule.is_start_up(phase))
            .count();
        assert_eq!(start_up, 1 + 18 + DOWN + 1);
    }

    #[test]
    fn a_cycle_goes_down_to_the_coarsest_level_and_up_again() {
        let schedule = Schedule::new(1, 3, 1);
        let levels: Vec<usize> = (0..schedule.stages())
            .map(|index| match schedule.stage(index) {
                Stage::Relax { level, .. }
                | Stage::Residual { level }
                | Stage::Restrict { level }
                | Stage::Correct { level } => level,
            })
            .collect();
        assert_eq!(levels, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0]);
        assert_eq!(schedule.stage(10), Stage::Correct { level: 1 });
        assert_eq!(
            schedule.stage(12),
            Stage::Relax {
                level: 1,
                colour: 1
            }
        );
    }
}
