//! Statistics by time slices, bounded in number and doubling in width.
//!
//! Slices start with the run. Their width is a power of two in nanoseconds, the same for all
//! threads, so that the slices of several threads merge exactly.
//!
//! Invariant: nothing that was put into a slice is lost, whatever is joined or merged.

/// Values that can be added up.
pub trait Add: Default {
    /// Add `other` to this.
    fn add(&mut self, other: &Self);
}

/// Width of the first slices: 2^20 ns, about a millisecond.
const FIRST_SHIFT: u32 = 20;

/// Slices of time.
#[derive(Clone, Debug)]
pub struct Slices<T> {
    limit: usize,
    shift: u32,
    parts: Vec<T>,
}

impl<T: Add> Slices<T> {
    /// Return an empty list for at most `limit` slices.
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            shift: FIRST_SHIFT,
            parts: Vec::new(),
        }
    }

    /// Return the slice at `now_ns`.
    #[inline]
    pub fn at(&mut self, now_ns: u64) -> &mut T {
        let mut index = self.index(now_ns);
        if index >= self.parts.len() {
            while index >= self.limit {
                self.widen();
                index = self.index(now_ns);
            }
            if index >= self.parts.len() {
                self.parts.resize_with(index + 1, T::default);
            }
        }
        &mut self.parts[index]
    }

    /// Add the slices of another thread.
    pub fn merge(&mut self, mut other: Self) {
        while self.shift < other.shift {
            self.widen();
        }
        while other.shift < self.shift {
            other.widen();
        }
        if self.parts.len() < other.parts.len() {
            self.parts.resize_with(other.parts.len(), T::default);
        }
        for (to, from) in self.parts.iter_mut().zip(&other.parts) {
            to.add(from);
        }
    }

    /// Return the slices and the end (ns) of each; the run ended at `end_ns`.
    pub fn finish(self, end_ns: u64) -> (Vec<T>, Vec<u64>) {
        let count = self.parts.len();
        let ends = (1..=count as u64).map(|place| place << self.shift);
        let mut ends: Vec<u64> = ends.map(|end| end.min(end_ns)).collect();
        if let Some(last) = ends.last_mut() {
            *last = end_ns.max(*last);
        }
        (self.parts, ends)
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "a run has fewer slices than addresses"
    )]
    fn index(&self, now_ns: u64) -> usize {
        (now_ns >> self.shift) as usize
    }

    fn widen(&mut self) {
        self.shift += 1;
        let mut joined = Vec::with_capacity(self.limit);
        let mut slices = std::mem::take(&mut self.parts).into_iter();
        while let Some(mut first) = slices.next() {
            if let Some(second) = slices.next() {
                first.add(&second);
            }
            joined.push(first);
        }
        self.parts = joined;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Times(Vec<u64>);

    impl Add for Times {
        fn add(&mut self, other: &Self) {
            self.0.extend(&other.0);
        }
    }

    proptest! {
        /// Nothing is lost, and everything is where its time says, after joining and merging.
        #[test]
        fn every_observation_lies_in_its_slice(
            times in prop::collection::vec((0_u64..1 << 40, any::<bool>()), 1..200)
        ) {
            let (mut one, mut two) = (Slices::<Times>::new(16), Slices::<Times>::new(16));
            for &(time, is_first) in &times {
                let slices = if is_first { &mut one } else { &mut two };
                slices.at(time).0.push(time);
            }
            one.merge(two);
            let last = times.iter().map(|time| time.0).max().unwrap_or(0);
            let (slices, ends) = one.finish(last);
            prop_assert!(ends.is_sorted() && slices.len() <= 16);
            let mut begin = 0;
            for (slice, &end) in slices.iter().zip(&ends) {
                prop_assert!(slice.0.iter().all(|&time| begin <= time && time <= end));
                begin = end;
            }
            prop_assert_eq!(slices.iter().map(|slice| slice.0.len()).sum::<usize>(), times.len());
        }
    }
}
