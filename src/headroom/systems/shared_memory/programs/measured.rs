//! Native runs that are long enough to be timed.
//!
//! Invariant: a round consists of whole runs, so its times by their number are those of one run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::run::{ThreadTime, run_threads};
use super::{Check, Program};

/// Runs to make.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Runs before, which are not timed.
    pub warm_runs: usize,
    /// Rounds, at least 1.
    pub rounds: usize,
    /// Time (s) of a round, at least: shorter runs are repeated.
    pub round_s: f64,
}

/// Times of one run, the mean of those of a round.
#[derive(Clone, Debug)]
pub struct Round {
    /// Runs of the round.
    pub runs: usize,
    /// Time (s) from the first thread's start to the last thread's end.
    pub wall_s: f64,
    /// Times of each thread.
    pub threads: Vec<ThreadTime>,
}

/// Times of a program, and the check of its last result.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Phases of a run that were timed.
    pub phases: usize,
    /// Rounds.
    pub rounds: Vec<Round>,
    /// Deviations, or the one that exceeds its bound.
    pub check: Result<Check, String>,
}

/// Run copies of a program at once, which share no data, and measure the first: the others keep
/// the processors as busy as its own threads would.
///
/// # Panics
///
/// If there is no copy, and as of [`measure`].
pub fn measure_beside<P: Program>(copies: &[P], plan: Plan) -> Measured {
    let (first, others) = copies.split_first().expect("there is a copy");
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        for other in others {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    run_threads(other);
                }
            });
        }
        // A panic of the first copy must not leave the others running.
        let _end = Sets(is_over);
        measure(first, plan)
    })
}

/// Sets a flag when it goes.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Run a program natively in rounds.
///
/// # Panics
///
/// If there is no round, if two runs have not the same phases, or if a thread of the program
/// panics.
pub fn measure<P: Program>(program: &P, plan: Plan) -> Measured {
    for _ in 0..plan.warm_runs {
        run_threads(program);
    }
    let rounds: Vec<_> = (0..plan.rounds)
        .map(|_| run_round(program, plan.round_s))
        .collect();
    let phases = rounds.first().expect("a plan has a round").0;
    Measured {
        phases,
        rounds: rounds
            .into_iter()
            .map(|(found, round)| {
                assert_eq!(found, phases, "all runs have the same phases");
                round
            })
            .collect(),
        check: program.verify(),
    }
}

/// Return the phases of a run, and its times.
fn run_round<P: Program>(program: &P, round_s: f64) -> (usize, Round) {
    let mut total = run_threads(program);
    let mut runs = 1;
    while total.wall_s < round_s {
        let timed = run_threads(program);
        assert_eq!(timed.phases, total.phases, "all runs have the same phases");
        total.wall_s += timed.wall_s;
        for (sum, thread) in total.threads.iter_mut().zip(&timed.threads) {
            sum.busy_s += thread.busy_s;
            sum.cpu_s += thread.cpu_s;
            for (sum, count) in sum.counts.iter_mut().zip(thread.counts) {
                *sum = sum.zip(count).map(|(sum, count)| sum + count);
            }
        }
        runs += 1;
    }
    let of_one = |total: f64| total / runs as f64;
    let thread_time = |sum: &ThreadTime| ThreadTime {
        busy_s: of_one(sum.busy_s),
        cpu_s: of_one(sum.cpu_s),
        counts: sum.counts.map(|count| count.map(of_one)),
    };
    let round = Round {
        runs,
        wall_s: of_one(total.wall_s),
        threads: total.threads.iter().map(thread_time).collect(),
    };
    (total.phases, round)
}

#[cfg(test)]
mod tests {
    use super::super::{AnyProgram, ProgramSpec, build, fft};
    use super::*;

    fn small(threads: usize) -> AnyProgram {
        build(ProgramSpec::Fft(fft::Spec { points: 64 }), threads, 7).expect("a program")
    }

    fn plan(round_s: f64) -> Plan {
        Plan {
            warm_runs: 1,
            rounds: 2,
            round_s,
        }
    }

    #[test]
    fn a_short_run_is_repeated_until_the_round_is_long_enough() {
        let measured = measure(&small(2), plan(1e-3));
        assert_eq!(measured.rounds.len(), 2);
        for round in &measured.rounds {
            assert!(round.wall_s * round.runs as f64 >= 0.999e-3, "{round:?}");
            assert_eq!(round.threads.len(), 2);
            for thread in &round.threads {
                assert!(thread.busy_s <= round.wall_s, "{round:?}");
            }
        }
        assert!(measured.check.is_ok());
    }

    #[test]
    fn copies_beside_a_program_end_with_it() {
        let copies = [small(1), small(1), small(1)];
        let measured = measure_beside(&copies, plan(1e-3));
        assert_eq!(measured.rounds.len(), 2);
        assert!(measured.check.is_ok());
        for copy in &copies[1..] {
            assert_eq!(copy.result(), copies[0].result());
        }
    }

    #[test]
    fn a_round_without_a_least_time_is_one_run() {
        let measured = measure(&small(1), plan(0.0));
        assert!(measured.rounds.iter().all(|round| round.runs == 1));
        assert!(measured.phases > 0);
    }
}
