//! A cell on this machine: the time of its runs, round by round.

#![allow(clippy::disallowed_methods, reason = "it measures: it reads the clock")]

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::cells::{Cell, Loaded, Runner};
use super::store::StoreError;
use super::store::touch::Silent;
use crate::memory::probe::counters::{Counters, Reading};

/// How long is measured.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Rounds that are timed one by one.
    pub count: usize,
    /// Time (s) of a round, at least: short runs are repeated.
    pub least_s: f64,
    /// Time (s) after which no further round begins.
    pub most_s: f64,
    /// Runs before, which are not timed.
    pub warm_up: usize,
    /// Whether each run begins with caches that hold other things.
    pub is_cold: bool,
}

/// Memory (B) that is read to fill the caches with other things: more than they hold.
const SWEPT_BYTES: usize = 128 << 20;

/// Results of a cell.
#[derive(Debug)]
pub struct Measured {
    /// Processor time (s) of a run, of each round.
    pub cpu_s: Vec<f64>,
    /// Time (s) of a run, of each round.
    pub wall_s: Vec<f64>,
    /// Records that a run visits.
    pub visits: u64,
    /// Runs that were timed.
    pub runs: u64,
    /// Hardware counters of all rounds.
    pub counters: Vec<Reading>,
}

fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Measure a cell.
///
/// # Errors
///
/// The table has no room for what the cell inserts.
pub fn measure(
    loaded: &mut Loaded,
    cell: Cell,
    rounds: Rounds,
    seed: u64,
) -> Result<Measured, StoreError> {
    let mut runner = Runner::new(cell, loaded, seed);
    for _ in 0..rounds.warm_up {
        runner.prepare(loaded);
        runner.run(loaded, &mut Silent)?;
    }
    let counters = Counters::open();
    counters.start();
    counters.pause();
    let mut measured = Measured {
        cpu_s: Vec::with_capacity(rounds.count),
        wall_s: Vec::with_capacity(rounds.count),
        visits: runner.visits(loaded),
        runs: 0,
        counters: Vec::new(),
    };
    let swept = vec![1_u64; if rounds.is_cold { SWEPT_BYTES / 8 } else { 0 }];
    let begun = Instant::now();
    for round in 0..rounds.count {
        if round > 0 && begun.elapsed().as_secs_f64() > rounds.most_s {
            break;
        }
        let (mut cpu, mut wall, mut runs) = (Duration::ZERO, Duration::ZERO, 0_u32);
        while runs == 0 || wall.as_secs_f64() < rounds.least_s {
            runner.prepare(loaded);
            std::hint::black_box(swept.iter().sum::<u64>());
            counters.resume();
            let (start, start_cpu) = (Instant::now(), thread_time());
            runner.run(loaded, &mut Silent)?;
            cpu += thread_time().saturating_sub(start_cpu);
            wall += start.elapsed();
            counters.pause();
            runs += 1;
        }
        measured.cpu_s.push(cpu.as_secs_f64() / f64::from(runs));
        measured.wall_s.push(wall.as_secs_f64() / f64::from(runs));
        measured.runs += u64::from(runs);
    }
    runner.finish(loaded);
    measured.counters = counters.stop();
    Ok(measured)
}
