//! Programs with shared memory: LU, FFT, Ocean and Barnes, and reads alone, run natively or watched
//! by a simulator.
//!
//! Each of the four is an own implementation of an algorithm of the SPLASH-2 suite, for any number of
//! threads that its data can be divided among.
//!
//! Invariant: a program is a sequence of phases between barriers. The same phases of the same
//! number of threads compute the same bits, natively and simulated.
//!
//! Accesses at the sizes of Oh and Chung, one thread, without the start-up, and those of Splash-3
//! (compiled with -O2; those of Barnes to shared memory; instructions with the start-up). The tests
//! compare them and say why they differ:
//!
//! | program | accesses | of Splash-3 | writes | of Splash-3 | instructions | of Splash-3 |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | LU | 17.08 M | 17.19 M | 32.8% | 32.5% | 52.2 M | 59.1 M |
//! | FFT | 75.8 k | 82.3 k | 41.9% | 38.7% | 0.22 M | 0.78 M, mostly start-up |
//! | Ocean | 13.39 M | 10.15 M | 14.5% | 17.3% | 47.5 M | 25.8 M |
//! | Barnes | 27.00 M | 27.3 M | 1.3% | 2.5% | 211 M | 448 M |
//!
//! Sources: Woo, Ohara, Torrie, Singh & Gupta (1995), *The SPLASH-2 programs*, for the algorithms;
//! Oh & Chung (2004), *Design and implementation of an SCI-based network cache coherent NUMA system*,
//! table 2, for the sizes. Each program names the source of its method.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::many_single_char_names,
    clippy::similar_names,
    reason = "sizes are checked when a program is built; formulas keep the names of their sources"
)]

pub mod barnes;
#[cfg(feature = "python")]
pub(super) mod bindings;
pub mod counts;
pub mod fft;
pub mod layout;
pub mod lu;
pub mod measured;
pub mod ocean;
pub mod processors;
pub mod reads;
pub mod run;
pub mod shared;
#[cfg(test)]
mod tests;
pub mod watch;

use serde::Deserialize;

use self::barnes::Barnes;
use self::fft::Fft;
use self::layout::{Allocation, Layout};
use self::lu::Lu;
use self::ocean::Ocean;
use self::reads::Reads;
use self::watch::Watch;
use crate::simulation::kernel::random::stream::mix;

/// Most threads of a program.
pub const MOST_THREADS: usize = 256;

/// A program: its threads run each phase, and wait for each other at its end.
pub trait Program: Sync {
    /// Return its name.
    fn name(&self) -> &'static str;

    /// Return the number of its threads, at least 1.
    fn threads(&self) -> usize;

    /// Return whether there is a phase of this number, once all phases before have ended.
    fn has_phase(&self, phase: usize) -> bool;

    /// Return whether a phase only prepares the data; such phases come first and do not count.
    fn is_start_up(&self, phase: usize) -> bool;

    /// Run a thread's part of a phase; all threads must have ended the phase before.
    ///
    /// Phase 0 sets all data, so that a program can be run again.
    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W);

    /// Return its arrays.
    fn layout(&self) -> &Layout;

    /// Return its arrays in the order of their addresses.
    fn allocations(&self) -> &[Allocation] {
        self.layout().allocations()
    }

    /// Return the thread that the program would make the home of an address, None without one.
    fn owner(&self, address: u64) -> Option<usize> {
        self.layout().owner(address)
    }

    /// Return the number of its locks: a watcher sees those below it.
    fn lock_count(&self) -> u32 {
        0
    }

    /// Return the numbers that the program computes, after its last phase.
    fn result(&self) -> Vec<f64>;

    /// Check the result by means other than the program's, after its last phase.
    ///
    /// # Errors
    ///
    /// The deviation that exceeds its bound.
    fn verify(&self) -> Result<Check, String>;
}

/// Deviation of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Name.
    pub name: &'static str,
    /// Value, at least 0.
    pub value: f64,
    /// Largest value of a right result.
    pub bound: f64,
}

/// Deviations of a result, all within their bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Deviations.
    pub deviations: Vec<Deviation>,
}

impl Check {
    /// Return the check of a name, a value and its bound each.
    fn of(deviations: Vec<(&'static str, f64, f64)>) -> Result<Self, String> {
        let named = deviations.into_iter().map(|(name, value, bound)| {
            // Also false if the value is not a number.
            if value <= bound {
                Ok(Deviation { name, value, bound })
            } else {
                Err(format!(
                    "the {name} is {value:e}, above its bound of {bound:e}"
                ))
            }
        });
        Ok(Self {
            deviations: named.collect::<Result<_, String>>()?,
        })
    }
}

/// Return a number in [-1, 1) that depends on a seed and a place alone.
fn uniform(seed: u64, place: u64) -> f64 {
    let bits = mix(mix(seed) ^ place) >> 11;
    bits as f64 / (1_u64 << 52) as f64 - 1.0
}

/// A program and its sizes; missing sizes are those of Oh and Chung, table 2.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "program", rename_all = "snake_case")]
pub enum ProgramSpec {
    /// Factorisation of a matrix.
    Lu(lu::Spec),
    /// Fourier transform.
    Fft(fft::Spec),
    /// Currents of an ocean basin.
    Ocean(ocean::Spec),
    /// Motion of bodies under gravity.
    Barnes(barnes::Spec),
    /// Reads of one kind of memory.
    Reads(reads::Spec),
}

/// Any of the programs.
#[derive(Debug)]
pub enum AnyProgram {
    /// See [`ProgramSpec::Lu`].
    Lu(Box<Lu>),
    /// See [`ProgramSpec::Fft`].
    Fft(Box<Fft>),
    /// See [`ProgramSpec::Ocean`].
    Ocean(Box<Ocean>),
    /// See [`ProgramSpec::Barnes`].
    Barnes(Box<Barnes>),
    /// See [`ProgramSpec::Reads`].
    Reads(Box<Reads>),
}

/// Make a program for 1 to [`MOST_THREADS`] threads.
///
/// # Errors
///
/// The size that is invalid, and why; or there is no memory.
pub fn build(spec: ProgramSpec, threads: usize, seed: u64) -> Result<AnyProgram, String> {
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(format!(
            "{threads} threads: a program has 1 to {MOST_THREADS} threads"
        ));
    }
    Ok(match spec {
        ProgramSpec::Lu(spec) => AnyProgram::Lu(Box::new(Lu::new(spec, threads, seed)?)),
        ProgramSpec::Fft(spec) => AnyProgram::Fft(Box::new(Fft::new(spec, threads, seed)?)),
        ProgramSpec::Ocean(spec) => AnyProgram::Ocean(Box::new(Ocean::new(spec, threads)?)),
        ProgramSpec::Barnes(spec) => {
            AnyProgram::Barnes(Box::new(Barnes::new(spec, threads, seed)?))
        }
        ProgramSpec::Reads(spec) => AnyProgram::Reads(Box::new(Reads::new(spec, threads)?)),
    })
}

macro_rules! of_any {
    ($any:expr, $program:ident => $result:expr) => {
        match $any {
            AnyProgram::Lu($program) => $result,
            AnyProgram::Fft($program) => $result,
            AnyProgram::Ocean($program) => $result,
            AnyProgram::Barnes($program) => $result,
            AnyProgram::Reads($program) => $result,
        }
    };
}

impl Program for AnyProgram {
    fn name(&self) -> &'static str {
        of_any!(self, program => program.name())
    }
    fn threads(&self) -> usize {
        of_any!(self, program => program.threads())
    }
    fn has_phase(&self, phase: usize) -> bool {
        of_any!(self, program => program.has_phase(phase))
    }
    fn is_start_up(&self, phase: usize) -> bool {
        of_any!(self, program => program.is_start_up(phase))
    }
    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
        of_any!(self, program => program.run_phase(phase, thread, watch));
    }
    fn layout(&self) -> &Layout {
        of_any!(self, program => program.layout())
    }
    fn owner(&self, address: u64) -> Option<usize> {
        of_any!(self, program => program.owner(address))
    }
    fn lock_count(&self) -> u32 {
        of_any!(self, program => program.lock_count())
    }
    fn result(&self) -> Vec<f64> {
        of_any!(self, program => program.result())
    }
    fn verify(&self) -> Result<Check, String> {
        of_any!(self, program => program.verify())
    }
}
