//! Statistics of intervals with given ends: hours of a day, a peak, a part of a transient.
//!
//! At each end all accumulators are read as for a snapshot, together with the change of each
//! class's histogram since the previous end. No work is done per event, and the number of ends is
//! given, so memory does not grow with the run.
//!
//! Invariant: an interval holds the events from its start up to, but not at, its end; the last
//! one ends with the run. Together they hold every completion of the run exactly once.

use crate::simulation::kernel::places::pools::Pool;
use crate::simulation::kernel::places::stations::Station;
use crate::simulation::kernel::statistics::histogram::Counts;
use crate::simulation::kernel::statistics::snapshots::Row;
use crate::simulation::kernel::time::SimTime;

/// The state at the end of an interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// End of the interval.
    pub end: SimTime,
    /// All accumulators since the start of the run.
    pub row: Row,
    /// Response times of each class within the interval, by bin.
    pub counts: Vec<Counts>,
    /// Longest line of each station within the interval.
    pub station_queues: Vec<u32>,
    /// Longest line of each pool within the interval.
    pub pool_queues: Vec<u32>,
}

/// The intervals of a run.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// Ends that were not reached yet, the next one last.
    ahead: Vec<SimTime>,
    closed: Vec<Interval>,
    /// The counts of each class at the end of the last interval.
    counted: Vec<Counts>,
}

impl Intervals {
    /// Return intervals that end at `ends` (rising, above zero).
    pub fn new(mut ends: Vec<SimTime>) -> Self {
        ends.reverse();
        Self {
            ahead: ends,
            closed: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// Return when the next interval ends; never if none is left.
    #[inline]
    pub fn next(&self) -> SimTime {
        self.ahead.last().copied().unwrap_or(SimTime::MAX)
    }

    /// Return whether there are any.
    pub fn is_empty(&self) -> bool {
        self.ahead.is_empty() && self.closed.is_empty()
    }

    /// Return the end of the last closed interval.
    pub fn last_end(&self) -> SimTime {
        self.closed.last().map_or(SimTime::ZERO, |last| last.end)
    }

    /// Close the current interval; `interval.counts` are those since the start of the run.
    pub fn close(&mut self, mut interval: Interval) {
        if self.ahead.last() == Some(&interval.end) {
            self.ahead.pop();
        }
        let counted = std::mem::take(&mut self.counted);
        self.counted.clone_from(&interval.counts);
        for (counts, before) in interval.counts.iter_mut().zip(&counted) {
            for (count, earlier) in counts.iter_mut().zip(before) {
                *count -= earlier;
            }
        }
        self.closed.push(interval);
    }

    /// Return the closed intervals.
    pub fn closed(&self) -> &[Interval] {
        &self.closed
    }
}

/// Longest lines of all stations and pools in the closed intervals.
#[derive(Clone, Debug, Default)]
pub struct Longest {
    stations: Vec<u32>,
    pools: Vec<u32>,
}

impl Longest {
    /// Note the longest lines of an interval.
    pub fn note(&mut self, stations: &[u32], pools: &[u32]) {
        raise(&mut self.stations, stations);
        raise(&mut self.pools, pools);
    }

    /// Let the maxima, which restart with each interval, be those of the whole run.
    pub fn restore(&self, stations: &mut [Station], pools: &mut [Pool]) {
        for (station, longest) in stations.iter_mut().zip(&self.stations) {
            station.queue_len_max = station.queue_len_max.max(*longest);
        }
        for (pool, longest) in pools.iter_mut().zip(&self.pools) {
            pool.queue_len_max = pool.queue_len_max.max(*longest);
        }
    }
}

fn raise(maxima: &mut Vec<u32>, values: &[u32]) {
    maxima.resize(values.len(), 0);
    for (maximum, value) in maxima.iter_mut().zip(values) {
        *maximum = (*maximum).max(*value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(end: u64, counts: &[u64]) -> Interval {
        Interval {
            end: SimTime::from_ticks(end),
            row: Row::default(),
            counts: vec![counts.to_vec()],
            station_queues: vec![],
            pool_queues: vec![],
        }
    }

    #[test]
    fn an_interval_counts_what_came_since_the_one_before() {
        let mut intervals = Intervals::new(vec![SimTime::from_ticks(5), SimTime::from_ticks(9)]);
        assert_eq!(intervals.next(), SimTime::from_ticks(5));
        intervals.close(interval(5, &[2, 1]));
        assert_eq!(intervals.next(), SimTime::from_ticks(9));
        intervals.close(interval(7, &[2, 4, 6]));
        let counts: Vec<_> = intervals
            .closed()
            .iter()
            .map(|one| &one.counts[0])
            .collect();
        assert_eq!(counts, [&vec![2, 1], &vec![0, 3, 6]]);
        assert_eq!(
            intervals.next(),
            SimTime::from_ticks(9),
            "the run ended before"
        );
    }
}
