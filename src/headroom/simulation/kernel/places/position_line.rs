//! A line served by position: a disk's elevator, or nearest neighbour first.
//!
//! Jobs wait at positions, numbers that they bring along; the position of the last job served is
//! the *head*. An operation takes time logarithmic in the number of positions.
//!
//! An elevator needs no bound on how often a job is overtaken. The head only moves forward, so only
//! jobs that arrive between the head and a job can overtake it. Jobs that arrive behind the head
//! wait for the next round. (Only an endless sequence of jobs at one position holds the head there,
//! as it would on a disk.) Nearest neighbour first has no such bound: a distant job may wait
//! indefinitely.
//!
//! Invariant: jobs at one position leave in the order in which they came, an interrupted one
//! first.
//!
//! Sources: Denning (1967), *Effects of scheduling on file memory operations* (nearest first,
//! SCAN); Seltzer, Chen & Ousterhout (1990), *Disk scheduling revisited* (C-LOOK).

use std::collections::BTreeMap;

use crate::simulation::kernel::places::jobs::{Fifo, Jobs, Members};
use crate::simulation::kernel::places::line::Rank;
use crate::simulation::kernel::plan::program::Sweep;

/// Queues by position.
#[derive(Clone, Debug)]
pub struct PositionLine {
    places: BTreeMap<Rank, Fifo>,
    len: u32,
    sweep: Sweep,
    /// Attribute of a job that is its position.
    attribute: usize,
    head: f64,
    is_going_down: bool,
}

impl PositionLine {
    /// Return an empty line whose head is at 0.
    pub(in crate::simulation::kernel) const fn new(sweep: Sweep, attribute: usize) -> Self {
        Self {
            places: BTreeMap::new(),
            len: 0,
            sweep,
            attribute,
            head: 0.0,
            is_going_down: false,
        }
    }

    /// Return the number of jobs.
    pub(in crate::simulation::kernel) const fn len(&self) -> u32 {
        self.len
    }

    /// Let `job` join the line, behind those at its position.
    pub(in crate::simulation::kernel) fn push(&mut self, jobs: &mut impl Members, job: u32) {
        self.join(jobs, job).push(jobs, job);
    }

    /// Let `job` join the line, before those at its position.
    pub(in crate::simulation::kernel) fn push_front(&mut self, jobs: &mut impl Members, job: u32) {
        self.join(jobs, job).push_front(jobs, job);
    }

    /// Take the job that is next.
    pub(in crate::simulation::kernel) fn pop(&mut self, jobs: &mut impl Members) -> Option<u32> {
        let next = self.next_place()?;
        let job = self.places.get(&next).and_then(Fifo::first)?;
        self.remove(jobs, job);
        self.serve(jobs, job);
        Some(job)
    }

    /// Return the job that is next.
    pub(in crate::simulation::kernel) fn first(&self) -> Option<u32> {
        self.next_place()
            .and_then(|place| self.places[&place].first())
    }

    /// Take `job` out of the line.
    pub(in crate::simulation::kernel) fn remove(&mut self, jobs: &mut impl Members, job: u32) {
        let place = Rank::ascending(self.position(jobs, job));
        let queue = self
            .places
            .get_mut(&place)
            .expect("a job waits at its position");
        queue.remove(jobs, job);
        if queue.is_empty() {
            self.places.remove(&place);
        }
        self.len -= 1;
    }

    /// Let the head go to `job`, whose service begins.
    pub(in crate::simulation::kernel) fn serve(&mut self, jobs: &impl Members, job: u32) {
        let position = self.position(jobs, job);
        if position.total_cmp(&self.head).is_ne() {
            self.is_going_down = position < self.head;
        }
        self.head = position;
    }

    /// Return the jobs in the line by their position.
    pub(in crate::simulation::kernel) fn members(&self, jobs: &Jobs) -> Vec<u32> {
        self.places.values().flat_map(|q| q.iter(jobs)).collect()
    }

    fn join(&mut self, jobs: &impl Members, job: u32) -> &mut Fifo {
        self.len += 1;
        let place = Rank::ascending(self.position(jobs, job));
        self.places.entry(place).or_default()
    }

    fn position(&self, jobs: &impl Members, job: u32) -> f64 {
        jobs.attribute(job, self.attribute)
    }

    fn next_place(&self) -> Option<Rank> {
        let head = Rank::ascending(self.head);
        let at_or_above = self.places.range(head..).next().map(|one| *one.0);
        let at_or_below = || self.places.range(..=head).next_back().map(|one| *one.0);
        match self.sweep {
            Sweep::OneWay => at_or_above.or_else(|| self.places.keys().next().copied()),
            Sweep::BothWays if self.is_going_down => at_or_below().or(at_or_above),
            Sweep::BothWays => at_or_above.or_else(at_or_below),
            Sweep::Nearest => match (at_or_below(), at_or_above) {
                (Some(below), Some(above)) => {
                    let is_below = self.head - below.value() < above.value() - self.head;
                    Some(if is_below { below } else { above })
                }
                (below, above) => below.or(above),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simulation::kernel::places::jobs::Role;

    /// What a line does, told by a list that is searched from end to end.
    struct Plain {
        waiting: Vec<(f64, u32)>,
        sweep: Sweep,
        head: f64,
        is_going_down: bool,
    }

    impl Plain {
        fn next(&self) -> Option<usize> {
            let places = 0..self.waiting.len();
            let distance = |one: usize| (self.waiting[one].0 - self.head).abs();
            let nearest = |of: &dyn Fn(f64) -> bool| {
                let mut best: Option<usize> = None;
                for one in places.clone().filter(|&one| of(self.waiting[one].0)) {
                    if best.is_none_or(|other| distance(one) < distance(other)) {
                        best = Some(one);
                    }
                }
                best
            };
            let up = nearest(&|place| place >= self.head);
            let down = nearest(&|place| place <= self.head);
            match self.sweep {
                Sweep::OneWay => up.or_else(|| {
                    let lowest = self.waiting.iter().map(|one| one.0).reduce(f64::min)?;
                    nearest(&|place| place.to_bits() == lowest.to_bits())
                }),
                Sweep::BothWays if self.is_going_down => down.or(up),
                Sweep::BothWays => up.or(down),
                Sweep::Nearest => match (up, down) {
                    (Some(up), Some(down)) if distance(down) < distance(up) => Some(down),
                    (up, down) => up.or(down),
                },
            }
        }

        fn serve(&mut self, position: f64) {
            if position.to_bits() != self.head.to_bits() {
                self.is_going_down = position < self.head;
            }
            self.head = position;
        }
    }

    proptest! {
        /// Oracle: whatever comes and goes, the next one is whom a search of all finds.
        #[test]
        fn the_next_one_is_whom_a_search_of_all_finds(
            steps in prop::collection::vec((0_u8..6, 0_i8..20), 1..200),
            sweep in prop::sample::select(vec![Sweep::OneWay, Sweep::BothWays, Sweep::Nearest]),
        ) {
            let mut jobs = Jobs::new(0, vec![0.0]);
            let mut line = PositionLine::new(sweep, 0);
            let mut plain = Plain { waiting: vec![], sweep, head: 0.0, is_going_down: false };
            for (action, place) in steps {
                match action {
                    0..=2 => {
                        let job = jobs.start(0, 0, Role::Root, 0.0).expect("room");
                        let position = f64::from(place) - 10.0;
                        jobs.attributes_mut(job)[0] = position;
                        if action == 0 && plain.waiting.is_empty() {
                            line.serve(&jobs, job);
                            plain.serve(position);
                            jobs.end(job);
                        } else if action == 1 {
                            line.push_front(&mut jobs, job);
                            plain.waiting.insert(0, (position, job));
                        } else {
                            line.push(&mut jobs, job);
                            plain.waiting.push((position, job));
                        }
                    }
                    3 if !plain.waiting.is_empty() => {
                        let given_up = place.unsigned_abs() as usize % plain.waiting.len();
                        let (_, job) = plain.waiting.remove(given_up);
                        line.remove(&mut jobs, job);
                        jobs.end(job);
                    }
                    _ => {
                        let next = plain.next().map(|found| plain.waiting.remove(found));
                        prop_assert_eq!(line.first(), next.map(|one| one.1));
                        let job = line.pop(&mut jobs);
                        prop_assert_eq!(job, next.map(|one| one.1));
                        if let Some((position, job)) = next {
                            plain.serve(position);
                            jobs.end(job);
                        }
                    }
                }
                prop_assert_eq!(line.len() as usize, plain.waiting.len());
                prop_assert_eq!(line.members(&jobs).len(), plain.waiting.len());
            }
        }

        /// A round goes up once: between two jumps back positions only grow.
        #[test]
        fn an_elevator_serves_whoever_waits_in_one_round(
            places in prop::collection::vec(-100_i32..100, 1..60),
        ) {
            let mut jobs = Jobs::new(0, vec![0.0]);
            let mut line = PositionLine::new(Sweep::OneWay, 0);
            for &place in &places {
                let job = jobs.start(0, 0, Role::Root, 0.0).expect("room");
                jobs.attributes_mut(job)[0] = f64::from(place);
                line.push(&mut jobs, job);
            }
            let mut order = Vec::new();
            while let Some(job) = line.pop(&mut jobs) {
                order.push(jobs.attributes(job)[0]);
            }
            prop_assert_eq!(order.len(), places.len());
            let jumps_back = order.windows(2).filter(|pair| pair[1] < pair[0]).count();
            prop_assert!(jumps_back <= 1);
        }
    }
}
