//! Processor sharing: all jobs in service progress at the same, common rate.
//!
//! A virtual clock runs at the speed at which each job is served: 1 while there are servers for
//! all, (servers / jobs) beyond. A job with `work` ticks ends when the virtual clock has advanced
//! by `work`. The clock counts integer multiples of 2^-32 ticks, so results are reproducible bit by
//! bit and long runs do not drift.
//!
//! Source: Kleinrock (1967), *Time-shared systems: a theoretical treatment*; virtual time as in
//! Parekh & Gallager (1993).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::simulation::kernel::time::SimTime;

/// Fractions of a tick of the virtual clock.
const FRACTION_BITS: u32 = 32;

/// The jobs that share the servers of a station.
#[derive(Clone, Debug)]
pub struct Sharing {
    servers: u32,
    limit: u32,
    virtual_time: u128,
    updated: SimTime,
    next_number: u64,
    /// Virtual end, order of entry, job; the first one is next.
    ends: BinaryHeap<Reverse<(u128, u64, u32)>>,
    /// The slot of the station's clock.
    pub clock: u32,
}

impl Sharing {
    /// Return a station that is idle; at most `limit` jobs share its servers.
    pub const fn new(servers: u32, limit: u32) -> Self {
        Self {
            servers,
            limit,
            virtual_time: 0,
            updated: SimTime::ZERO,
            next_number: 0,
            ends: BinaryHeap::new(),
            clock: crate::simulation::kernel::places::jobs::NO_JOB,
        }
    }

    /// Return whether one job more may share.
    pub fn has_room(&self) -> bool {
        self.len() < self.limit
    }

    /// Return the number of jobs in service.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "there are fewer than 2^24 jobs"
    )]
    pub fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Return whether no job is in service.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Return the number of busy servers.
    pub fn busy(&self) -> u32 {
        self.len().min(self.servers)
    }

    /// Let `job` share with `work` ticks at speed 1.
    pub fn add(&mut self, now: SimTime, job: u32, work: u64) {
        self.advance(now);
        let end = self.virtual_time + (u128::from(work) << FRACTION_BITS);
        self.ends.push(Reverse((end, self.next_number, job)));
        self.next_number += 1;
    }

    /// Take `job` out before its end.
    ///
    /// # Panics
    ///
    /// Panics if the job is not served here: a bug.
    pub fn remove(&mut self, now: SimTime, job: u32) {
        self.advance(now);
        let before = self.ends.len();
        self.ends.retain(|Reverse((.., one))| *one != job);
        assert_eq!(self.ends.len() + 1, before, "the job is served here");
    }

    /// Take a job whose work is done.
    pub fn take_done(&mut self, now: SimTime) -> Option<u32> {
        self.advance(now);
        let Reverse((end, _, job)) = *self.ends.peek()?;
        if end > self.virtual_time {
            return None;
        }
        self.ends.pop();
        Some(job)
    }

    /// Change the number of working servers.
    pub fn set_servers(&mut self, now: SimTime, servers: u32) {
        self.advance(now);
        self.servers = servers;
    }

    /// Let the remaining work of every job take `factor` times as long.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the end of a service beyond the range is reported"
    )]
    pub fn stretch(&mut self, now: SimTime, factor: f64) {
        self.advance(now);
        let ends = std::mem::take(&mut self.ends);
        let from = self.virtual_time;
        self.ends = ends
            .into_iter()
            .map(|Reverse((end, number, job))| {
                let left = (end.saturating_sub(from) as f64 * factor) as u128;
                Reverse((from + left, number, job))
            })
            .collect();
    }

    /// Return after how many ticks the next job ends, or None if none does.
    pub fn next_end(&self) -> Option<u64> {
        let Reverse((end, ..)) = *self.ends.peek()?;
        if self.servers == 0 {
            return None;
        }
        let left = end.saturating_sub(self.virtual_time);
        let (jobs, servers) = (u128::from(self.len()), u128::from(self.servers));
        let scaled = if jobs <= servers {
            left
        } else {
            (left * jobs).div_ceil(servers)
        };
        let ticks = scaled.div_ceil(1 << FRACTION_BITS);
        Some(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    fn advance(&mut self, now: SimTime) {
        let ticks = u128::from(now.since(self.updated)) << FRACTION_BITS;
        self.updated = now;
        let (jobs, servers) = (u128::from(self.len()), u128::from(self.servers));
        // Several things happen at the same time, and a division of 128 bits is slow.
        if jobs == 0 || ticks == 0 {
            return;
        }
        self.virtual_time += if jobs <= servers {
            ticks
        } else {
            ticks * servers / jobs
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64) -> SimTime {
        SimTime::from_ticks(ticks)
    }

    #[test]
    fn two_jobs_share_one_server_in_halves() {
        let mut sharing = Sharing::new(1, u32::MAX);
        sharing.add(at(0), 1, 100);
        sharing.add(at(50), 2, 100);
        assert_eq!(sharing.next_end(), Some(100));
        assert_eq!(sharing.take_done(at(149)), None);
        assert_eq!(sharing.take_done(at(150)), Some(1));
        assert_eq!(sharing.next_end(), Some(50));
        assert_eq!(sharing.take_done(at(200)), Some(2));
        assert!(sharing.is_empty());
    }

    #[test]
    fn nothing_goes_on_while_all_servers_are_broken() {
        let mut sharing = Sharing::new(2, u32::MAX);
        (0..3).for_each(|job| sharing.add(at(0), job, 60));
        assert_eq!(sharing.next_end(), Some(90));
        sharing.set_servers(at(30), 0);
        assert_eq!(sharing.next_end(), None);
        sharing.set_servers(at(1000), 3);
        assert_eq!(sharing.next_end(), Some(40));
        sharing.remove(at(1000), 1);
        assert_eq!(sharing.take_done(at(1040)), Some(0));
        assert_eq!(sharing.take_done(at(1040)), Some(2));
        assert_eq!(sharing.take_done(at(1040)), None);
    }
}
