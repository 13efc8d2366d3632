//! Lines that two processors write in turn: the time to hand one over, alone or several at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::lines::{Alone, have, write};
use super::pin;

/// Exchanges between two looks at the clock.
const BLOCK: u64 = 100;
/// Lines at once at most.
pub const MOST_LINES: usize = 16;

/// Measure the time (s) of a hand-over of a line from one processor to the other, round by round.
///
/// Several `lines` are handed over together: the processor that gets them reads the last one first,
/// which was written last, and then the others, none of which waits for another.
///
/// # Errors
///
/// If a processor may not be used, the other one does not answer within ten times the time, or there
/// are not 1 to 16 lines.
///
/// # Panics
///
/// If a thread does, which is a defect.
pub fn hand_over(
    cpus: (usize, usize),
    lines: usize,
    rounds: usize,
    round_s: f64,
) -> Result<Vec<f64>, String> {
    if cpus.0 == cpus.1 {
        return Err(format!("processor {} cannot hand over to itself", cpus.0));
    }
    if !(1..=MOST_LINES).contains(&lines) {
        return Err(format!("{lines} lines at once: give 1 to {MOST_LINES}"));
    }
    let words: Vec<Alone> = (0..lines).map(|_| Alone::default()).collect();
    let is_over = AtomicBool::new(false);
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let ready = pin(cpus.1);
            barrier.wait();
            ready.map(|()| answer(&words, &is_over))
        });
        let ready = pin_own_thread(scope, cpus.0, &barrier, || {
            ask(&words, rounds, Duration::from_secs_f64(round_s))
        });
        is_over.store(true, Ordering::Release);
        let answered = other.join().expect("no thread panics");
        answered.and(ready)
    })
}

/// Run `asks` in a thread on a processor of its own: the caller keeps its processors.
fn pin_own_thread<'scope, R: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    cpu: usize,
    barrier: &'scope Barrier,
    asks: impl FnOnce() -> Result<R, String> + Send + 'scope,
) -> Result<R, String> {
    let one = scope.spawn(move || {
        let ready = pin(cpu);
        barrier.wait();
        ready.and_then(|()| asks())
    });
    one.join().expect("no thread panics")
}

fn ask(words: &[Alone], rounds: usize, round: Duration) -> Result<Vec<f64>, String> {
    let mut taken_s = Vec::with_capacity(rounds);
    let mut number = 0;
    // The first exchanges wait for the other thread to come.
    number = exchange(words, number, 10 * round + Duration::from_secs(1))?;
    for _ in 0..rounds {
        let start = Instant::now();
        let before = number;
        while start.elapsed() < round {
            number = exchange(words, number, 10 * round + Duration::from_secs(1))?;
        }
        let hand_overs = (number - before) as f64 * words.len() as f64;
        taken_s.push(start.elapsed().as_secs_f64() / hand_overs);
    }
    Ok(taken_s)
}

/// Hand the words over and back, [`BLOCK`] times; the asking thread writes odd numbers.
fn exchange(words: &[Alone], mut number: u64, patience: Duration) -> Result<u64, String> {
    for _ in 0..BLOCK {
        write(words, number + 1);
        let mut spins = 0_u32;
        let mut since = None;
        while !have(words, number + 2) {
            std::hint::spin_loop();
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(1 << 16)
                && since.get_or_insert_with(Instant::now).elapsed() > patience
            {
                return Err("the other processor does not answer".to_owned());
            }
        }
        number += 2;
    }
    Ok(number)
}

fn answer(words: &[Alone], is_over: &AtomicBool) {
    let mut number = 1;
    let mut spins = 0_u32;
    loop {
        if have(words, number) {
            write(words, number + 1);
            number += 2;
        } else {
            std::hint::spin_loop();
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(1 << 10) && is_over.load(Ordering::Acquire) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::skip::skip;

    #[test]
    fn two_processors_exchange_lines() {
        if thread::available_parallelism().is_ok_and(|count| count.get() < 2) {
            return skip("fewer than two processors");
        }
        for lines in [1, 8] {
            let taken_s = hand_over((0, 1), lines, 3, 1e-3).expect("measured");
            assert_eq!(taken_s.len(), 3);
            assert!(taken_s.iter().all(|&one| one > 0.0));
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(hand_over((0, 0), 1, 1, 1e-4).is_err());
        assert!(hand_over((0, 1000), 1, 1, 1e-4).is_err_and(|why| why.contains("1000")));
        for lines in [0, 17] {
            let refused = hand_over((0, 1), lines, 1, 1e-4).expect_err("refused");
            assert!(refused.contains("give 1 to 16"));
        }
    }
}
