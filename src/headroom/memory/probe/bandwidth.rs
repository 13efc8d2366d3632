//! Bytes per second that threads read, write and copy.

#![allow(
    unsafe_code,
    reason = "stores that pass the caches have no safe interface"
)]

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use serde::Deserialize;

use super::buffer::{Buffer, Pages};
use super::pin;

/// Treatment of the memory of each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Read all of it.
    Read,
    /// Write all of it.
    Write,
    /// Read one half and write it to the other; counts both.
    Copy,
    /// Write all of it past the caches, where the processor can.
    Stream,
}

/// Measure bytes per second of all threads together, round by round.
///
/// Each thread has `bytes` of its own and is pinned to one of `cpus`. A round lasts until the
/// last thread has ended.
///
/// # Errors
///
/// Why it cannot be measured.
///
/// # Panics
///
/// If a thread does, which is a defect.
pub fn bandwidth(
    operation: Operation,
    bytes: usize,
    cpus: &[usize],
    rounds: usize,
    round_s: f64,
) -> Result<(Vec<f64>, u64), String> {
    if cpus.is_empty() || rounds == 0 {
        return Err("no thread, or no round".to_owned());
    }
    let barrier = Barrier::new(cpus.len());
    let results: Vec<Result<(Vec<f64>, u64), String>> = thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .map(|&cpu| {
                let barrier = &barrier;
                scope.spawn(move || one(operation, bytes, cpu, rounds, round_s, barrier))
            })
            .collect();
        let joined = threads
            .into_iter()
            .map(|one| one.join().expect("no thread panics"));
        joined.collect()
    });
    let results = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    let huge_bytes = results.iter().map(|one| one.1).sum();
    let sums = (0..rounds).map(|round| results.iter().map(|one| one.0[round]).sum());
    Ok((sums.collect(), huge_bytes))
}

/// Measure one thread: bytes per second while all of them are busy.
fn one(
    operation: Operation,
    bytes: usize,
    cpu: usize,
    rounds: usize,
    round_s: f64,
    barrier: &Barrier,
) -> Result<(Vec<f64>, u64), String> {
    let ready = pin(cpu).and_then(|()| Buffer::new(bytes, Pages::Transparent));
    // All threads come here, also those that failed: the others wait for them.
    barrier.wait();
    let mut buffer = ready?;
    let used = bytes / 16 * 2;
    let mut rates = Vec::with_capacity(rounds);
    carry_out(operation, &mut buffer.words()[..used]);
    for _ in 0..rounds {
        let start = Instant::now();
        let mut passes = 0;
        let taken_s = loop {
            carry_out(operation, &mut buffer.words()[..used]);
            passes += 1;
            let taken_s = start.elapsed().as_secs_f64();
            if taken_s >= round_s {
                break taken_s;
            }
        };
        rates.push((passes * used * 8) as f64 / taken_s);
    }
    Ok((rates, buffer.huge_bytes))
}

/// Go over the words once: `Copy` moves half of them, which is as many bytes read and written.
fn carry_out(operation: Operation, words: &mut [u64]) {
    match operation {
        Operation::Read => {
            // Eight sums at once, so that the adding is not what limits.
            let mut sums = [0_u64; 8];
            let (blocks, _) = words.as_chunks::<8>();
            for block in blocks {
                for (sum, word) in sums.iter_mut().zip(block) {
                    *sum ^= word;
                }
            }
            std::hint::black_box(sums);
        }
        Operation::Write => {
            words.fill(std::hint::black_box(7));
            std::hint::black_box(&words);
        }
        Operation::Copy => {
            let (from, to) = words.split_at_mut(words.len() / 2);
            let length = to.len().min(from.len());
            to[..length].copy_from_slice(&from[..length]);
            std::hint::black_box(&to);
        }
        Operation::Stream => stream(words),
    }
}

#[cfg(target_arch = "x86_64")]
fn stream(words: &mut [u64]) {
    use std::arch::x86_64::{_mm_sfence, _mm_stream_si64};
    for word in words.iter_mut() {
        // SAFETY: the word is borrowed mutably and aligned; every x86-64 has the instruction.
        unsafe { _mm_stream_si64(std::ptr::from_mut(word).cast(), 7) };
    }
    // SAFETY: a fence.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(words: &mut [u64]) {
    words.fill(std::hint::black_box(7));
    std::hint::black_box(&words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_rate_in_every_round() {
        for operation in [
            Operation::Read,
            Operation::Write,
            Operation::Copy,
            Operation::Stream,
        ] {
            let (rates, _) = bandwidth(operation, 1 << 16, &[0], 3, 1e-4).expect("measured");
            assert_eq!(rates.len(), 3);
            assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
        }
    }

    #[test]
    fn a_missing_processor_is_refused_by_all_threads() {
        let why = bandwidth(Operation::Read, 1 << 16, &[0, 1000], 1, 1e-4);
        assert!(why.is_err_and(|why| why.contains("1000")));
    }

    #[test]
    fn a_copy_moves_the_first_half() {
        let mut words = [1, 2, 3, 4, 5, 6, 7, 8];
        carry_out(Operation::Copy, &mut words);
        assert_eq!(words, [1, 2, 3, 4, 1, 2, 3, 4]);
    }
}
