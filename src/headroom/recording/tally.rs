//! Statistics of a class of requests: exact sums, and histograms in bounded memory.
//!
//! A request arrives when it is due or, without a due time, when its place was free. It begins when
//! it is handed to the system and ends when its end is known. Response is end minus arrival,
//! service is end minus begin. Areas under curves are kept as sums of moments: the number of
//! requests present, integrated up to t, is t times the number present minus the sum of their
//! arrivals, plus the time spent by those that left, all computed from moments alone.
//!
//! Begins and successful ends are first noted and later counted in batches: counting uses much code
//! and many tables, and the system's work between two requests evicts both from the caches.
//! Requests that are submitted together, or seen to end together, have the same moments: a run of
//! them is one note, and counts as it would one by one.
//!
//! Invariant: a request that failed is in no histogram, and its time is counted as lost.

use super::spans::Spans;
use crate::simulation::kernel::statistics::series::Series;
use crate::simulation::kernel::time::SimTime;

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

/// Notes after which they are counted.
const NOTE_LIMIT: usize = 64;

/// Begins with the same moments, one after the other.
#[derive(Clone, Copy, Debug)]
struct BeginRun {
    arrived_ns: u64,
    begun_ns: u64,
    is_timed: bool,
    count: u64,
}

/// Good ends with the same moments, one after the other.
#[derive(Clone, Copy, Debug)]
struct EndRun {
    times: Times,
    count: u64,
    bytes: u64,
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
    /// Requests that found no place when they were due.
    pub late_count: u64,
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
    /// Begins that are not counted yet.
    begins: Vec<BeginRun>,
    /// Good ends that are not counted yet.
    ends: Vec<EndRun>,
}

impl Tally {
    /// Count an arrival.
    #[inline]
    pub fn arrive(&mut self, at_ns: u64) {
        self.arrived.add(at_ns, 1);
    }

    /// Note a begin; `is_timed`: the arrival was a due time.
    #[inline]
    pub fn begin(&mut self, arrived_ns: u64, begun_ns: u64, is_timed: bool) {
        let moments = (arrived_ns, begun_ns, is_timed);
        match self.begins.last_mut() {
            Some(last) if (last.arrived_ns, last.begun_ns, last.is_timed) == moments => {
                last.count += 1;
                return;
            }
            _ => {}
        }
        if self.begins.len() >= NOTE_LIMIT {
            self.settle();
        }
        self.begins.push(BeginRun {
            arrived_ns,
            begun_ns,
            is_timed,
            count: 1,
        });
    }

    /// Note a good end.
    #[inline]
    pub fn complete(&mut self, times: Times, bytes: u32) {
        let bytes = u64::from(bytes);
        match self.ends.last_mut() {
            Some(last) if last.times == times => {
                last.count += 1;
                last.bytes += bytes;
                return;
            }
            _ => {}
        }
        if self.ends.len() >= NOTE_LIMIT {
            self.settle();
        }
        self.ends.push(EndRun {
            times,
            count: 1,
            bytes,
        });
    }

    /// Count the notes, before any reader looks.
    #[inline(never)]
    pub fn settle(&mut self) {
        let mut begins = std::mem::take(&mut self.begins);
        for run in begins.drain(..) {
            self.count_begins(run);
        }
        self.begins = begins;
        let mut ends = std::mem::take(&mut self.ends);
        for run in ends.drain(..) {
            self.count_ends(run);
        }
        self.ends = ends;
    }

    /// Return whether everything is counted.
    pub fn is_settled(&self) -> bool {
        self.begins.is_empty() && self.ends.is_empty()
    }

    #[inline]
    fn count_begins(&mut self, run: BeginRun) {
        let wait_ns = elapsed(run.arrived_ns, run.begun_ns);
        self.begun.add(run.begun_ns, run.count);
        self.wait_ns += u128::from(wait_ns) * u128::from(run.count);
        if run.is_timed {
            let now = SimTime::from_ticks(run.begun_ns);
            self.lateness.add_many(wait_ns, now, run.count);
        }
    }

    #[inline]
    fn count_ends(&mut self, run: EndRun) {
        let EndRun {
            times,
            count,
            bytes,
        } = run;
        let now = self.latest(times.done_ns);
        let response_ns = elapsed(times.arrived_ns, times.done_ns);
        let service_ns = elapsed(times.begun_ns, times.done_ns);
        self.ended.add(times.done_ns, count);
        self.bytes += u128::from(bytes);
        self.response.add_many(response_ns, now, count);
        self.service.add_many(service_ns, now, count);
        self.series.record_many(response_ns, now, count);
    }

    /// Return the latest good end so far, of which `done_ns` is the next to be noted.
    #[inline]
    fn latest(&mut self, done_ns: u64) -> SimTime {
        self.latest_ns = self.latest_ns.max(done_ns);
        SimTime::from_ticks(self.latest_ns)
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
            tally.complete(times, 1);
        }
        tally.settle();
        let ends: Vec<u64> = tally
            .series
            .finish()
            .ends
            .iter()
            .map(|end| end.ticks())
            .collect();
        assert_eq!(ends, [30, 30, 30, 50, 50]);
        assert_eq!(tally.response.sum_ns(), 150, "the times themselves stay");
    }
}
