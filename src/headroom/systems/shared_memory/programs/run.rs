//! Runs of a program: natively on threads, or one thread after another for a simulator.
//!
//! Invariant: in both, all threads end a phase before any begins the next.

#![allow(
    clippy::disallowed_methods,
    reason = "native runs are measured: they read the clock"
)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::Program;
use super::watch::{Silent, Watch};
use crate::memory::probe::counters::{Counters, NAMES};

/// Times of one thread, from the end of the start-up phases.
#[derive(Clone, Copy, Debug)]
pub struct ThreadTime {
    /// Time (s) in phases, without waiting at barriers.
    pub busy_s: f64,
    /// Processor time (s); waiting threads spin before they yield, so it includes some waiting.
    pub cpu_s: f64,
    /// Hardware counters in the order of [`NAMES`], each None where the machine has none; waiting at
    /// barriers is included.
    pub counts: [Option<f64>; NAMES.len()],
}

/// Times of a native run, from the end of the start-up phases.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Time (s) from the first thread's start to the last thread's end.
    pub wall_s: f64,
    /// Phases that were timed.
    pub phases: usize,
    /// Times of each thread.
    pub threads: Vec<ThreadTime>,
}

/// Run a program natively, with a thread for each of its threads; it may be run again.
///
/// # Panics
///
/// If a thread of the program does.
pub fn run_threads<P: Program>(program: &P) -> Timed {
    let barrier = &Barrier::new(program.threads());
    let runs: Vec<Run> = thread::scope(|scope| {
        let start = |thread| scope.spawn(move || run_thread(program, thread, barrier));
        let running: Vec<_> = (0..program.threads()).map(start).collect();
        let end = |thread: thread::ScopedJoinHandle<'_, Option<Run>>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        running.into_iter().filter_map(end).collect()
    });
    let begun = runs.iter().map(|run| run.begun).min();
    let ended = runs.iter().map(|run| run.ended).max();
    let wall = begun
        .zip(ended)
        .map_or(Duration::ZERO, |(begun, ended)| ended - begun);
    Timed {
        wall_s: wall.as_secs_f64(),
        phases: runs.first().map_or(0, |run| run.phases),
        threads: runs.iter().map(Run::times).collect(),
    }
}

/// Run a program on this thread: in each phase its threads run one after another, each with its
/// own watcher; `at_barrier` gets the phase and all watchers at its end.
///
/// # Panics
///
/// If there is not one watcher for each thread.
pub fn run_phases<P: Program, W: Watch>(
    program: &P,
    watches: &mut [W],
    mut at_barrier: impl FnMut(usize, &mut [W]),
) {
    assert_eq!(
        watches.len(),
        program.threads(),
        "each thread has a watcher"
    );
    let mut phase = 0;
    while program.has_phase(phase) {
        for (thread, watch) in watches.iter_mut().enumerate() {
            program.run_phase(phase, thread, watch);
        }
        at_barrier(phase, watches);
        phase += 1;
    }
}

/// Times of a thread after the start-up phases.
struct Run {
    begun: Instant,
    ended: Instant,
    busy: Duration,
    cpu: Duration,
    counts: [Option<f64>; NAMES.len()],
    phases: usize,
}

impl Run {
    fn times(&self) -> ThreadTime {
        ThreadTime {
            busy_s: self.busy.as_secs_f64(),
            cpu_s: self.cpu.as_secs_f64(),
            counts: self.counts,
        }
    }
}

/// Run one thread; None if another one panics.
fn run_thread<P: Program>(program: &P, thread: usize, barrier: &Barrier) -> Option<Run> {
    let _guard = BreakOnPanic(barrier);
    let mut phase = 0;
    while program.has_phase(phase) && program.is_start_up(phase) {
        program.run_phase(phase, thread, &mut Silent);
        barrier.wait()?;
        phase += 1;
    }
    let first = phase;
    // Opened after the start-up, outside of what is timed.
    let counters = Counters::open();
    counters.start();
    let (begun, cpu) = (Instant::now(), thread_time());
    let mut busy = Duration::ZERO;
    while program.has_phase(phase) {
        let start = Instant::now();
        program.run_phase(phase, thread, &mut Silent);
        busy += start.elapsed();
        barrier.wait()?;
        phase += 1;
    }
    let (ended, cpu) = (Instant::now(), thread_time().saturating_sub(cpu));
    Some(Run {
        begun,
        ended,
        busy,
        cpu,
        counts: counted(&counters),
        phases: phase - first,
    })
}

fn counted(counters: &Counters) -> [Option<f64>; NAMES.len()] {
    let mut counts = [None; NAMES.len()];
    for (count, reading) in counts.iter_mut().zip(counters.stop()) {
        *count = reading.count.ok();
    }
    counts
}

fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// How often a waiting thread looks before it yields its processor.
const SPINS: u32 = 1000;

/// Holds threads until all have come; for any number of rounds.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    is_broken: AtomicBool,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Wait for the other threads; None if one of them panics.
    fn wait(&self) -> Option<()> {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return Some(());
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.is_broken.load(Ordering::Relaxed) {
                return None;
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        Some(())
    }
}

/// Ends the waiting of the other threads if this one panics.
struct BreakOnPanic<'a>(&'a Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Check, layout::Layout};
    use super::*;

    /// Each thread adds 1 to its number in each phase, if all others have done so before.
    struct InStep {
        counts: Vec<AtomicUsize>,
        layout: Layout,
        panics_in: usize,
    }

    const PHASES: usize = 300;

    fn in_step(panics_in: usize) -> InStep {
        InStep {
            counts: (0..4).map(|_| AtomicUsize::new(0)).collect(),
            layout: Layout::default(),
            panics_in,
        }
    }

    impl Program for InStep {
        fn name(&self) -> &'static str {
            "in step"
        }
        fn threads(&self) -> usize {
            self.counts.len()
        }
        fn has_phase(&self, phase: usize) -> bool {
            phase < PHASES
        }
        fn is_start_up(&self, phase: usize) -> bool {
            phase < 10
        }
        fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
            assert!(
                thread != 1 || phase != self.panics_in,
                "phase {phase} fails"
            );
            for count in &self.counts {
                let count = count.load(Ordering::Relaxed);
                assert!(
                    count == phase || count == phase + 1,
                    "{count} in phase {phase}"
                );
            }
            watch.compute(1);
            self.counts[thread].fetch_add(1, Ordering::Relaxed);
        }
        fn layout(&self) -> &Layout {
            &self.layout
        }
        fn result(&self) -> Vec<f64> {
            Vec::new()
        }
        fn verify(&self) -> Result<Check, String> {
            Check::of(Vec::new())
        }
    }

    #[test]
    fn threads_stay_in_step() {
        let program = in_step(PHASES);
        let timed = run_threads(&program);
        assert_eq!((timed.phases, timed.threads.len()), (PHASES - 10, 4));
        for thread in &timed.threads {
            assert!(thread.busy_s <= timed.wall_s && thread.cpu_s >= 0.0);
        }
        for count in &program.counts {
            assert_eq!(count.load(Ordering::Relaxed), PHASES);
        }
    }

    #[test]
    #[should_panic(expected = "phase 7 fails")]
    fn a_thread_that_panics_ends_the_run() {
        run_threads(&in_step(7));
    }

    #[test]
    fn a_simulated_run_visits_each_thread_of_each_phase_in_order() {
        let mut barriers = Vec::new();
        let mut counts = vec![super::super::counts::Counts::new(&[]); 4];
        run_phases(&in_step(PHASES), &mut counts, |phase, watches| {
            let seen: Vec<u64> = watches.iter().map(|watch| watch.computed).collect();
            assert_eq!(seen, [phase as u64 + 1; 4]);
            barriers.push(phase);
        });
        assert_eq!(barriers, (0..PHASES).collect::<Vec<_>>());
    }
}
