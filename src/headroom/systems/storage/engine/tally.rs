//! What is counted of a class of requests: exact sums, and histograms in bounded memory.
//!
//! A request arrives when it is due or, without a due time, when its place was free; it begins
//! when it is handed to the system and ends when its end is known. Response is end minus arrival,
//! service is end minus begin. Areas under curves are kept as sums of moments: the number of
//! requests present, integrated up to t, is t times those present less the sum of their arrivals,
//! plus what those that left have spent, found from moments alone.
//!
//! Invariant: a request that failed is in no histogram, and its time is counted as lost.

use crate::simulation::histogram::SegmentedHistogram;
use crate::simulation::series::Series;
use crate::simulation::time::SimTime;

/// Moments of one kind: how many, and their sum (ns).
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// How many.
    pub count: u64,
    /// Their sum (ns).
    pub sum_ns: i128,
}

impl Moments {
    #[inline]
    fn add(&mut self, at_ns: u64, count: u64) {
        self.count += count;
        self.sum_ns += i128::from(at_ns) * i128::from(count);
    }

    /// Return the time (ns) since each of the moments, at `now_ns`, all together.
    pub fn since(self, now_ns: u64) -> i128 {
        i128::from(self.count) * i128::from(now_ns) - self.sum_ns
    }
}

/// The ends of a quantity.
#[derive(Clone, Copy, Debug)]
pub struct Extremes {
    /// Smallest value (ns); above the largest where there is none.
    pub min_ns: u64,
    /// Largest value (ns).
    pub max_ns: u64,
}

impl Default for Extremes {
    fn default() -> Self {
        Self {
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl Extremes {
    #[inline]
    fn add(&mut self, ns: u64) {
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }
}

/// A time that every completed request has: sum, sum of squares, ends and histogram.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// Sum (ns).
    pub sum_ns: u128,
    /// Smallest and largest.
    pub extremes: Extremes,
    /// By size.
    pub histogram: SegmentedHistogram,
}

impl Spans {
    #[inline]
    fn add(&mut self, ns: u64, now: SimTime, count: u64) {
        self.sum_ns += u128::from(ns) * u128::from(count);
        self.extremes.add(ns);
        self.histogram.record_many(ns, now, count);
    }
}

/// The moments of a request that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When it arrived (ns).
    pub arrived_ns: u64,
    /// When it began (ns).
    pub begun_ns: u64,
    /// When it ended (ns).
    pub done_ns: u64,
}

/// All that is counted of a class.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Arrivals.
    pub arrived: Moments,
    /// Begins.
    pub begun: Moments,
    /// Ends, good and bad.
    pub ended: Moments,
    /// Requests that failed.
    pub failed_count: u64,
    /// Time (ns) from arrival to end of those that failed.
    pub lost_ns: u128,
    /// Time (ns) from arrival to begin of all that began.
    pub wait_ns: u128,
    /// Requests that succeeded later than they were allowed to.
    pub defect_count: u64,
    /// Bytes moved by requests that succeeded (B).
    pub bytes: u128,
    /// From arrival to end.
    pub response: Spans,
    /// From begin to end.
    pub service: Spans,
    /// From due time to begin, of requests with a due time.
    pub lateness: Spans,
    /// Response times in the order in which their ends were noted.
    pub series: Series,
    /// Latest good end so far (ns). Threads note their ends in the order in which they get the
    /// lock, which may differ from that of the ends by the time of waiting for it: series and
    /// segments go by this moment, so their ends never go back.
    latest_ns: u64,
}

impl Tally {
    /// Count `count` arrivals at one moment.
    #[inline]
    pub fn arrive(&mut self, at_ns: u64, count: u64) {
        self.arrived.add(at_ns, count);
    }

    /// Count `count` begins with the same moments; `is_timed` says that the arrival was a due time.
    #[inline]
    pub fn begin(&mut self, arrived_ns: u64, begun_ns: u64, is_timed: bool, count: u64) {
        let wait_ns = elapsed(arrived_ns, begun_ns);
        self.begun.add(begun_ns, count);
        self.wait_ns += u128::from(wait_ns) * u128::from(count);
        if is_timed {
            let now = SimTime::from_ticks(begun_ns);
            self.lateness.add(wait_ns, now, count);
        }
    }

    /// Count `count` good ends with the same moments, of `bytes` (B) all together.
    #[inline]
    pub fn complete(&mut self, times: Times, bytes: u64, count: u64) {
        self.latest_ns = self.latest_ns.max(times.done_ns);
        let now = SimTime::from_ticks(self.latest_ns);
        let response_ns = elapsed(times.arrived_ns, times.done_ns);
        let service_ns = elapsed(times.begun_ns, times.done_ns);
        self.ended.add(times.done_ns, count);
        self.bytes += u128::from(bytes);
        self.response.add(response_ns, now, count);
        self.service.add(service_ns, now, count);
        self.series.record_many(response_ns, now, count);
    }

    /// Count a bad end.
    pub fn fail(&mut self, times: Times) {
        self.ended.add(times.done_ns, 1);
        self.failed_count += 1;
        self.lost_ns += u128::from(elapsed(times.arrived_ns, times.done_ns));
    }

    /// Return the number of good ends.
    pub const fn completed_count(&self) -> u64 {
        self.ended.count - self.failed_count
    }
}

/// Return the time (ns) from `from_ns` to `to_ns`.
#[inline]
fn elapsed(from_ns: u64, to_ns: u64) -> u64 {
    assert!(
        to_ns >= from_ns,
        "time went back from {from_ns} ns to {to_ns} ns"
    );
    to_ns - from_ns
}

#[cfg(test)]
mod tests {
    use super::{Tally, Times};

    #[test]
    fn the_ends_of_a_series_never_go_back_where_ends_are_noted_out_of_order() {
        let mut tally = Tally::default();
        let dones_ns = [30, 10, 20, 50, 40];
        for done_ns in dones_ns {
            let times = Times {
                arrived_ns: 0,
                begun_ns: 0,
                done_ns,
            };
            tally.complete(times, 1, 1);
        }
        let ends: Vec<u64> = tally
            .series
            .finish()
            .ends
            .iter()
            .map(|end| end.ticks())
            .collect();
        assert_eq!(ends, [30, 30, 30, 50, 50]);
        assert_eq!(tally.response.sum_ns, 150, "the times themselves stay");
    }
}
