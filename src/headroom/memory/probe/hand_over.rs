//! A line that two processors write in turn: the time to hand it over.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::pin;

/// A word alone on its lines: neighbours are fetched in pairs.
#[repr(align(128))]
struct Alone(AtomicU64);

/// Hand-overs between two looks at the clock.
const BLOCK: u64 = 200;

/// Measure the time (s) of a hand-over from one processor to the other, round by round.
///
/// # Errors
///
/// If a processor may not be used, or the other one does not answer within ten times the time.
///
/// # Panics
///
/// If a thread does, which is a defect.
pub fn hand_over(cpus: (usize, usize), rounds: usize, round_s: f64) -> Result<Vec<f64>, String> {
    if cpus.0 == cpus.1 {
        return Err(format!("processor {} cannot hand over to itself", cpus.0));
    }
    let word = Alone(AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let ready = pin(cpus.1);
            barrier.wait();
            ready.map(|()| answer(&word.0, &is_over))
        });
        let ready = pin_own_thread(scope, cpus.0, &barrier, || {
            ask(&word.0, rounds, Duration::from_secs_f64(round_s))
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

fn ask(word: &AtomicU64, rounds: usize, round: Duration) -> Result<Vec<f64>, String> {
    let mut taken_s = Vec::with_capacity(rounds);
    let mut number = 0;
    // The first exchanges wait for the other thread to come.
    number = exchange(word, number, 10 * round + Duration::from_secs(1))?;
    for _ in 0..rounds {
        let start = Instant::now();
        let before = number;
        while start.elapsed() < round {
            number = exchange(word, number, 10 * round + Duration::from_secs(1))?;
        }
        taken_s.push(start.elapsed().as_secs_f64() / (number - before) as f64);
    }
    Ok(taken_s)
}

/// Hand the word over and back, [`BLOCK`] hand-overs in all; the asking thread writes odd numbers.
fn exchange(word: &AtomicU64, mut number: u64, patience: Duration) -> Result<u64, String> {
    for _ in 0..BLOCK / 2 {
        word.store(number + 1, Ordering::Release);
        let mut spins = 0_u32;
        let mut since = None;
        while word.load(Ordering::Acquire) != number + 2 {
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

fn answer(word: &AtomicU64, is_over: &AtomicBool) {
    let mut spins = 0_u32;
    loop {
        let number = word.load(Ordering::Acquire);
        if number % 2 == 1 {
            word.store(number + 1, Ordering::Release);
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

    #[test]
    fn two_processors_exchange_a_line() {
        if thread::available_parallelism().is_ok_and(|count| count.get() < 2) {
            return;
        }
        let taken_s = hand_over((0, 1), 3, 1e-3).expect("measured");
        assert_eq!(taken_s.len(), 3);
        assert!(taken_s.iter().all(|&one| one > 0.0));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(hand_over((0, 0), 1, 1e-4).is_err());
        assert!(hand_over((0, 1000), 1, 1e-4).is_err_and(|why| why.contains("1000")));
    }
}
