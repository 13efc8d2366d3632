//! Counts and times of operations, and the last slow ones. Nothing here holds a value of a user.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::refusal::{Answer, Code};

/// Upper bounds of the classes of the histogram (µs); the last class has none.
pub const BOUNDS_US: [u64; 12] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000,
];

/// Numbers of codes are below this.
const CODES: usize = 32;

/// Slow operations that are remembered.
const SLOW: usize = 100;

/// Operations of one command.
#[derive(Default)]
pub struct Operation {
    classes: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
    codes: [AtomicU64; CODES],
}

impl Operation {
    fn note(&self, took: Duration, code: u8) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = BOUNDS_US.partition_point(|bound| *bound < took_us);
        self.classes[class].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(took_us, Relaxed);
        self.codes[usize::from(code) % CODES].fetch_add(1, Relaxed);
    }

    /// Return how many operations each class has.
    pub fn classes(&self) -> [u64; BOUNDS_US.len() + 1] {
        std::array::from_fn(|class| self.classes[class].load(Relaxed))
    }

    /// Return the time of all operations together.
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.sum_us.load(Relaxed))
    }

    /// Return the codes that occurred, 0 for success, with their counts.
    pub fn codes(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.codes.iter().map(|count| count.load(Relaxed));
        counts.enumerate().filter(|(_, count)| *count > 0)
    }
}

/// A slow operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    /// The command.
    pub command: &'static str,
    /// Its paths and expressions, with `?` for each number and text.
    pub shape: String,
    /// Who asked.
    pub person: String,
    /// When it ended.
    pub ended: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// AMGA's code, 0 for success.
    pub code: u8,
}

/// Counts of a server.
pub struct Metrics {
    operations: BTreeMap<&'static str, Operation>,
    slow_after: Duration,
    slow: Mutex<VecDeque<Slow>>,
}

impl Metrics {
    /// Return counts for these commands. Those that take longer than `slow_after` are remembered.
    pub fn new(commands: impl Iterator<Item = &'static str>, slow_after: Duration) -> Self {
        Self {
            operations: commands.map(|name| (name, Operation::default())).collect(),
            slow_after,
            slow: Mutex::default(),
        }
    }

    /// Begin an operation.
    pub fn begin<'a>(
        &'a self,
        command: &'static str,
        person: &str,
        shape: impl FnOnce() -> String + Send + 'a,
    ) -> Watch<'a> {
        Watch {
            metrics: self,
            command,
            person: person.to_owned(),
            shape: Some(Box::new(shape)),
            began: Instant::now(),
            code: Code::Cancelled.number(),
        }
    }

    /// Return the commands that occurred.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, &Operation)> {
        let all = self.operations.iter();
        all.map(|(name, operation)| (*name, operation))
            .filter(|(_, operation)| operation.codes().next().is_some())
    }

    /// Return the last slow operations, the slowest first.
    pub fn slow(&self) -> Vec<Slow> {
        let slow = self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<_> = slow.iter().cloned().collect();
        drop(slow);
        found.sort_by_key(|one| std::cmp::Reverse(one.took));
        found
    }
}

/// A running operation. One that is dropped was cancelled.
pub struct Watch<'a> {
    metrics: &'a Metrics,
    command: &'static str,
    person: String,
    shape: Option<Box<dyn FnOnce() -> String + Send + 'a>>,
    began: Instant,
    code: u8,
}

impl Watch<'_> {
    /// End it.
    pub fn end<T>(mut self, result: &Answer<T>) {
        let code = result.as_ref().err().map(|refusal| refusal.code.number());
        self.code = code.unwrap_or(0);
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        if let Some(operation) = self.metrics.operations.get(self.command) {
            operation.note(took, self.code);
        }
        let Some(shape) = self
            .shape
            .take()
            .filter(|_| took >= self.metrics.slow_after)
        else {
            return;
        };
        let one = Slow {
            command: self.command,
            shape: shape(),
            person: std::mem::take(&mut self.person),
            ended: SystemTime::now(),
            took,
            code: self.code,
        };
        let slow = &self.metrics.slow;
        let mut slow = slow.lock().unwrap_or_else(PoisonError::into_inner);
        slow.truncate(SLOW - 1);
        slow.push_front(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;

    #[test]
    fn operations_are_counted_by_outcome_and_only_slow_ones_are_remembered() {
        let metrics = Metrics::new(["find", "rm"].into_iter(), Duration::from_secs(60));
        metrics.begin("find", "ann", String::new).end(&Ok(()));
        let refusal = Refusal::new(Code::NotFound, "no entry");
        metrics
            .begin("find", "ann", String::new)
            .end::<()>(&Err(refusal));
        drop(metrics.begin("find", "ann", String::new));
        let found: Vec<_> = metrics.operations().collect();
        assert_eq!(found.len(), 1, "`rm` did not occur");
        let codes: Vec<_> = found[0].1.codes().collect();
        assert_eq!(codes, [(0, 1), (1, 1), (12, 1)]);
        assert_eq!(found[0].1.classes().iter().sum::<u64>(), 3);
        assert!(metrics.slow().is_empty());
    }

    #[test]
    fn the_last_slow_operations_stay() {
        let metrics = Metrics::new(["find"].into_iter(), Duration::ZERO);
        for number in 0..SLOW + 3 {
            let watch = metrics.begin("find", "ann", move || number.to_string());
            watch.end(&Ok(()));
        }
        let slow = metrics.slow();
        assert_eq!(slow.len(), SLOW);
        assert!(slow.is_sorted_by(|left, right| left.took >= right.took));
        let is_old = |one: &Slow| one.shape.parse::<usize>().unwrap() < 3;
        assert!(!slow.iter().any(is_old), "the first three are forgotten");
    }
}
