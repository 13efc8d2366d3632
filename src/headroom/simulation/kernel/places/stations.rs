//! Stations during a run, with their exact accumulators.
//!
//! A plain station (equal servers, unlimited waiting room, any non-preemptive order) is entirely in
//! [`Station`]. All other features of a station are in [`Special`], which `service` drives. All
//! accumulators are integers (counts and ticks), so the conservation laws that `invariants` checks
//! hold to the last digit, no matter how long the run.
//!
//! Invariant: an area is brought up to the present before the number that it integrates changes.

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use std::collections::BTreeMap;
use std::iter::repeat;
use std::ops::AddAssign;

use crate::simulation::kernel::places::cache;
use crate::simulation::kernel::places::jobs::{Fifo, Members, Phase, Slots};
use crate::simulation::kernel::places::line::Line;
use crate::simulation::kernel::places::occupancy::{EXACT, Times, bin_of};
use crate::simulation::kernel::places::position_line::PositionLine;
use crate::simulation::kernel::places::sharing::Sharing;
use crate::simulation::kernel::places::tally::{RarerVisits, VisitTotals, Visits};
use crate::simulation::kernel::plan::program::{Order, StationPlan};
use crate::simulation::kernel::random::stream;
use crate::simulation::kernel::time::SimTime;

/// Numbers of jobs present whose times lie in the station itself.
const NEAR: usize = 16;

/// Ticks for which products with [`EXACT`] stay below 2^64.
const SHORT: u64 = u64::MAX / EXACT as u64;

/// Servers with one line, in four cache lines: all that a plain visit touches.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Station {
    /// Number of servers.
    pub servers: u32,
    /// Servers at work.
    pub busy: u32,
    /// Jobs present: in the line, in service, or holding a server.
    pub present: u32,
    /// Largest number of jobs that waited at the same time.
    pub queue_len_max: u32,
    /// Largest number of jobs present at the same time.
    pub jobs_max: u32,
    /// Jobs that wait for a server.
    pub line: Line,
    changed: SimTime,
    /// Properties of a station that is not plain.
    pub special: Option<Box<Special>>,
    rest: Box<Rest>,
    first_class: Visits,
    /// Time (ticks) for each number of jobs present below [`NEAR`], in the current segment.
    near: [u64; NEAR],
}

/// Data that most plain visits do not touch.
#[derive(Clone, Debug)]
struct Rest {
    /// Time (ticks) by bin of the numbers of jobs present from [`NEAR`] on.
    far: Vec<u64>,
    other_classes: Box<[Visits]>,
    /// By class, up to the last one that has any.
    rarer: Vec<RarerVisits>,
    totals: StationTotals,
}

/// Sums since the start of the run; times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationTotals {
    /// Integral of the number of busy servers.
    pub busy_area: u128,
    /// Integral of the number of jobs present.
    pub jobs_area: u128,
    /// Integral of the number of jobs in the line.
    pub queue_area: u128,
    /// Integral of the number of servers held by jobs that are blocked.
    pub blocked_area: u128,
    /// Integral of the number of servers that are broken.
    pub down_area: u128,
}

/// The numbers of which [`StationTotals`] has the integrals.
#[derive(Clone, Copy)]
struct Counts {
    busy: u32,
    present: u32,
    waiting: u32,
    held: u32,
    down: u32,
}

impl StationTotals {
    /// Let `counts` last for `ticks`.
    #[inline]
    fn add(&mut self, counts: Counts, ticks: u64) {
        self.busy_area += area(counts.busy, ticks);
        self.jobs_area += area(counts.present, ticks);
        self.queue_area += area(counts.waiting, ticks);
        self.blocked_area += area(counts.held, ticks);
        if counts.down > 0 {
            self.down_area += area(counts.down, ticks);
        }
    }
}

/// Additional data of a station that is not plain.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says whether the station has a property, independent of the others"
)]
pub struct Special {
    /// The jobs in service.
    pub order: Order,
    /// Jobs that fit in, in the line or at a server.
    pub places: u32,
    /// Whether a job that finds no place fails instead of waiting outside.
    pub is_rejecting: bool,
    /// Whether a job keeps its server until it has a place further on.
    pub holds_when_blocked: bool,
    /// Whether nothing else is special, and jobs use it by fused instructions: see
    /// [`Step::UseBounded`](crate::simulation::kernel::plan::instruction::Step).
    pub is_bounded: bool,
    /// Whether [`Self::serving`] is kept.
    pub keeps_serving: bool,
    /// Jobs in service, in the order in which they began, at stations where that matters.
    pub serving: Vec<u32>,
    /// Servers that wait for work, the fastest first; only if servers differ.
    pub idle: Vec<u32>,
    /// Speed of each server; empty if all have speed 1.
    pub speeds: Vec<f64>,
    /// Factor of the speeds of all servers.
    pub pace: f64,
    has_own_servers: bool,
    /// Whether the number or the speed of the servers changes.
    pub can_change: bool,
    /// Integral of the number of servers, those included that end a service before they go.
    capacity_area: u128,
    /// At a bounded station: integral of [`Self::held`] while fewer than [`EXACT`] jobs were
    /// present, in the current segment.
    held_area: u128,
    /// Servers held by jobs that are blocked.
    pub held: u32,
    /// Servers that are broken.
    pub down: u32,
    /// Places kept for jobs that are still served elsewhere.
    pub reserved: u32,
    /// Jobs that wait outside for a place.
    pub entry: Fifo,
    /// Jobs that found no place and failed.
    pub reject_count: u64,
    /// Shared service.
    pub sharing: Option<Sharing>,
    /// Smallest and largest number of jobs that a server takes together.
    pub batch: Option<(u32, u32)>,
    /// The batch of each job that leads one, the leader left out.
    pub batches: BTreeMap<u32, Vec<u32>>,
}

impl Station {
    /// Return an idle station, visited by `class_count` classes, in a run with `seed`.
    pub fn new(plan: &StationPlan, seed: u64, class_count: usize) -> Self {
        let line = match plan.order {
            Order::Fifo | Order::Sharing => Line::fifo(),
            Order::Lifo { .. } => Line::Lifo(Fifo::new()),
            Order::Priority { .. } => Line::priority(),
            Order::Random => Line::random(stream::open(seed, plan.key)),
            Order::Position(sweep) => {
                Line::Position(Box::new(PositionLine::new(sweep, plan.position)))
            }
        };
        Self {
            servers: plan.servers,
            busy: 0,
            present: 0,
            line,
            changed: SimTime::ZERO,
            queue_len_max: 0,
            jobs_max: 0,
            special: plan.is_special().then(|| Box::new(Special::new(plan))),
            rest: Box::new(Rest {
                far: Vec::new(),
                other_classes: vec![Visits::default(); class_count - 1].into(),
                rarer: Vec::new(),
                totals: StationTotals::default(),
            }),
            first_class: Visits::default(),
            near: [0; NEAR],
        }
    }

    /// Let the cache fetch what every plain visit touches.
    #[inline(always)]
    pub fn fetch(&self) {
        cache::fetch(self);
        cache::fetch(&self.first_class);
    }

    /// Let it fetch what the next one touches, as many jobs as are present, once all that is there.
    #[inline(always)]
    pub fn fetch_times(&self) {
        match self.near.get(self.present as usize) {
            Some(bin) => cache::fetch(bin),
            None => cache::fetch(&self.rest.far),
        }
    }

    /// Let it fetch what [`Self::fetch_times`] only led to.
    #[inline(always)]
    pub fn fetch_far_times(&self) {
        if self.present as usize >= NEAR
            && let Some(bin) = self.rest.far.get(self.present as usize - NEAR)
        {
            cache::fetch(bin);
        }
    }

    /// Return the visits of `class`.
    #[inline]
    pub fn visits(&mut self, class: u32) -> &mut Visits {
        visits_of(&mut self.first_class, &mut self.rest, class)
    }

    /// Return the rarer statistics of visits of `class`.
    pub fn rarer(&mut self, class: u32) -> &mut RarerVisits {
        let (rarer, class) = (&mut self.rest.rarer, class as usize);
        if rarer.len() <= class {
            rarer.resize(class + 1, RarerVisits::NONE);
        }
        &mut rarer[class]
    }

    /// Iterate over the totals at `now` of the visits of each class, in order.
    pub fn all_visits_at(&self, now: SimTime) -> impl Iterator<Item = VisitTotals> {
        std::iter::once(&self.first_class)
            .chain(&self.rest.other_classes)
            .zip(self.rest.rarer.iter().chain(repeat(&RarerVisits::NONE)))
            .map(move |(visits, rarer)| visits.totals_at(rarer, now))
    }

    /// Return the totals at `now` of the visits of all classes together.
    pub fn visits_at(&self, now: SimTime) -> VisitTotals {
        if self.rest.other_classes.is_empty() {
            let rarer = self.rest.rarer.first().unwrap_or(&RarerVisits::NONE);
            return self.first_class.totals_at(rarer, now);
        }
        self.all_visits_at(now)
            .fold(VisitTotals::default(), |sum, one| sum.plus(&one))
    }

    /// Let `job` arrive at a plain station; return whether its service begins at once.
    #[inline]
    pub fn arrive(&mut self, now: SimTime, job: u32, jobs: &mut impl Members) -> bool {
        self.enter(now, job, jobs);
        let is_served = self.busy < self.servers;
        if is_served {
            jobs[job].phase = Phase::Serving;
            self.busy += 1;
        } else {
            self.queue(now, job, jobs);
        }
        is_served
    }

    /// Let `job` arrive at a plain station that serves first come, first served; return whether its
    /// service begins at once.
    #[inline(always)]
    pub fn arrive_fifo(&mut self, now: SimTime, job: u32, slots: &mut Slots<'_>) -> bool {
        self.advance_plain(now);
        let is_served = self.busy < self.servers;
        self.place(now, job, slots, is_served);
        is_served
    }

    /// Count `job`, which comes to a server or joins the line, first come, first served.
    #[inline(always)]
    fn place(&mut self, now: SimTime, job: u32, slots: &mut Slots<'_>, is_served: bool) {
        self.present += 1;
        if self.present > self.jobs_max {
            self.grow();
        }
        let slot = &mut slots[job];
        let visits = visits_of(&mut self.first_class, &mut self.rest, slot.class);
        visits.enter(now);
        slot.entered = now;
        if is_served {
            slot.phase = Phase::Serving;
            self.busy += 1;
        } else {
            slot.phase = Phase::Waiting;
            slot.since = now;
            visits.queue(now);
            let line = fifo(&mut self.line);
            line.push(slots, job);
            self.queue_len_max = self.queue_len_max.max(line.len());
        }
    }

    /// Return who is next in line at such a station.
    #[inline(always)]
    pub fn first_fifo(&self) -> Option<u32> {
        match &self.line {
            Line::Fifo(queue) => queue.first(),
            _ => None,
        }
    }

    /// Return who is last in line at such a station.
    #[inline(always)]
    pub fn last_fifo(&self) -> Option<u32> {
        match &self.line {
            Line::Fifo(queue) => queue.last(),
            _ => None,
        }
    }

    /// End the service of `job` at such a station; return whose service begins.
    #[inline(always)]
    pub fn complete_fifo(&mut self, now: SimTime, job: u32, slots: &mut Slots<'_>) -> Option<u32> {
        self.advance_plain(now);
        let slot = &slots[job];
        self.leave_fifo(now, slot.class, slot.entered, slots)
    }

    /// Let a job of `class` that entered at `entered` leave its server, first come, first served;
    /// return whose service begins.
    #[inline(always)]
    fn leave_fifo(
        &mut self,
        now: SimTime,
        class: u32,
        entered: SimTime,
        slots: &mut Slots<'_>,
    ) -> Option<u32> {
        self.present -= 1;
        visits_of(&mut self.first_class, &mut self.rest, class).complete(now, entered);
        let next = fifo(&mut self.line).pop(slots);
        match next {
            Some(next) => {
                let waited = &mut slots[next];
                waited.phase = Phase::Serving;
                visits_of(&mut self.first_class, &mut self.rest, waited.class)
                    .leave_queue(now, waited.since);
            }
            None => self.busy -= 1,
        }
        next
    }

    /// Let a job of `class` that entered at `entered` leave the server that has just served it at a
    /// bounded station; return whose service begins.
    #[inline(always)]
    pub fn complete_bounded(
        &mut self,
        now: SimTime,
        class: u32,
        entered: SimTime,
        slots: &mut Slots<'_>,
    ) -> Option<u32> {
        self.advance_bounded(now);
        self.leave_fifo(now, class, entered, slots)
    }

    /// Let a job that has been served at such a station keep its server.
    #[inline(always)]
    pub fn hold_bounded(&mut self, now: SimTime) {
        self.advance_bounded(now);
        self.busy -= 1;
        self.special().held += 1;
    }

    /// A job of `class` that entered at `entered` leaves the server that it held at a station of any
    /// kind that is not plain.
    #[inline(always)]
    pub fn depart_held(&mut self, now: SimTime, class: u32, entered: SimTime) {
        self.advance(now);
        self.special().held -= 1;
        self.present -= 1;
        self.visits(class).complete(now, entered);
    }

    /// Let `job` arrive at such a station, where it has a place; return whether its service begins
    /// at once.
    #[inline(always)]
    pub fn arrive_bounded(&mut self, now: SimTime, job: u32, slots: &mut Slots<'_>) -> bool {
        self.advance_bounded(now);
        let is_served = fifo(&mut self.line).is_empty() && self.idle_servers() > 0;
        self.place(now, job, slots, is_served);
        is_served
    }

    /// Return who is next in line at such a station, if a server is idle.
    #[inline(always)]
    pub fn next_bounded(&self) -> Option<u32> {
        self.first_fifo().filter(|_| self.idle_servers() > 0)
    }

    /// Let the next in line be served at such a station.
    #[inline(always)]
    pub fn begin_bounded(&mut self, now: SimTime, job: u32, slots: &mut Slots<'_>) {
        self.advance_bounded(now);
        fifo(&mut self.line).pop(slots);
        self.busy += 1;
        let slot = &mut slots[job];
        slot.phase = Phase::Serving;
        visits_of(&mut self.first_class, &mut self.rest, slot.class).leave_queue(now, slot.since);
    }

    /// Bring the areas of a plain station up to `now`.
    #[inline(always)]
    fn advance_plain(&mut self, now: SimTime) {
        let ticks = now.since(self.changed);
        self.changed = now;
        match self.near.get_mut(self.present as usize) {
            Some(bin) => *bin += ticks,
            None => self.advance_far(ticks),
        }
    }

    /// Bring the areas of a bounded station up to `now`.
    ///
    /// As at a plain one the number of servers that are taken follows from the number of jobs
    /// present; how many of them are only held does not.
    #[inline(always)]
    fn advance_bounded(&mut self, now: SimTime) {
        let ticks = now.since(self.changed);
        self.advance_plain(now);
        let special = self.special.as_mut().filter(|one| one.held > 0);
        if let Some(special) = special
            && self.present < EXACT
        {
            special.held_area += area(special.held, ticks);
        }
    }

    /// Count `job` as present.
    #[inline]
    pub fn enter(&mut self, now: SimTime, job: u32, jobs: &mut impl Members) {
        self.advance(now);
        self.present += 1;
        self.visits(jobs[job].class).enter(now);
        jobs[job].entered = now;
        if self.present > self.jobs_max {
            self.grow();
        }
    }

    /// Let `job` join the line.
    #[inline]
    pub fn queue(&mut self, now: SimTime, job: u32, jobs: &mut impl Members) {
        jobs[job].phase = Phase::Waiting;
        jobs[job].since = now;
        self.visits(jobs[job].class).queue(now);
        self.line.push(jobs, job);
        self.queue_len_max = self.queue_len_max.max(self.line.len());
    }

    /// End the service of `job` at a plain station; return whose service begins.
    #[inline]
    pub fn complete(&mut self, now: SimTime, job: u32, jobs: &mut impl Members) -> Option<u32> {
        self.advance(now);
        self.present -= 1;
        let (class, entered) = (jobs[job].class, jobs[job].entered);
        self.visits(class).complete(now, entered);
        self.next_in_line(now, jobs)
    }

    /// Give a server that has become free to the next in line, if any; return that job.
    #[inline]
    pub fn next_in_line(&mut self, now: SimTime, jobs: &mut impl Members) -> Option<u32> {
        let next = self.line.pop(jobs);
        match next {
            Some(next) => {
                let waited = &mut jobs[next];
                waited.phase = Phase::Serving;
                let (class, since) = (waited.class, waited.since);
                self.visits(class).leave_queue(now, since);
            }
            None => self.busy -= 1,
        }
        next
    }

    /// Return the properties of a station that is not plain.
    ///
    /// # Panics
    ///
    /// Panics if the station is plain: a bug.
    pub fn special(&mut self) -> &mut Special {
        self.special.as_mut().expect("the station is a special one")
    }

    /// Return whether no job fits in any more.
    pub fn is_full(&self) -> bool {
        self.special
            .as_ref()
            .is_some_and(|special| self.present + special.reserved >= special.places)
    }

    /// Return the servers that could begin a service.
    pub fn idle_servers(&self) -> u32 {
        let (held, down) = self.special.as_ref().map_or((0, 0), |s| (s.held, s.down));
        self.servers
            .saturating_sub(self.busy)
            .saturating_sub(held)
            .saturating_sub(down)
    }

    /// Return the totals at `now`.
    pub fn totals_at(&self, now: SimTime) -> StationTotals {
        let mut totals = self.rest.totals;
        self.settle(&mut totals);
        totals.add(self.counts(), now.since(self.changed));
        totals
    }

    /// Bring the areas up to `now`.
    ///
    /// At a plain station the numbers of jobs and of busy servers follow from the number present,
    /// so that the time spent at it is sufficient.
    #[inline]
    pub fn advance(&mut self, now: SimTime) {
        match &self.special {
            None => self.advance_plain(now),
            Some(special) if special.is_bounded => self.advance_bounded(now),
            Some(_) => {
                let ticks = now.since(self.changed);
                self.changed = now;
                // Several things happen at a special station at the same time.
                if ticks > 0 {
                    self.advance_rarer(ticks);
                }
            }
        }
    }

    /// Let a plain or bounded station be for `ticks` as it is, whatever the number of jobs present.
    #[inline(never)]
    fn advance_far(&mut self, ticks: u64) {
        if self.present < EXACT {
            *self.bin(self.present as usize) += ticks;
        } else {
            self.advance_rarer(ticks);
        }
    }

    fn advance_rarer(&mut self, ticks: u64) {
        *self.bin(bin_of(self.present)) += ticks;
        let counts = self.counts();
        self.rest.totals.add(counts, ticks);
        let capacity = self.capacity();
        if let Some(special) = self.special.as_mut().filter(|one| one.can_change) {
            special.capacity_area += area(capacity, ticks);
        }
    }

    /// Return the current number of servers; a departing one counts until its service has ended.
    fn capacity(&self) -> u32 {
        let held = self.special.as_ref().map_or(0, |special| special.held);
        self.servers.max(self.busy + held)
    }

    /// Return the integral up to `now` of the number of servers.
    pub fn capacity_area(&self, now: SimTime) -> u128 {
        match &self.special {
            Some(special) if special.can_change => {
                special.capacity_area + area(self.capacity(), now.since(self.changed))
            }
            _ => area(self.servers, now.ticks()),
        }
    }

    #[inline]
    fn bin(&mut self, index: usize) -> &mut u64 {
        match self.near.get_mut(index) {
            Some(bin) => bin,
            None => &mut self.rest.far[index - NEAR],
        }
    }

    #[inline]
    fn counts(&self) -> Counts {
        let (held, down) = self.special.as_ref().map_or((0, 0), |s| (s.held, s.down));
        Counts {
            busy: self.busy,
            present: self.present,
            waiting: self.line.len(),
            held,
            down,
        }
    }

    /// Add the occupancy of a plain or bounded station to `totals`.
    fn settle(&self, totals: &mut StationTotals) {
        let held_area = match &self.special {
            None => 0,
            Some(special) if special.is_bounded => special.held_area,
            Some(_) => return,
        };
        let near = &self.near[..NEAR.min(self.jobs_max as usize + 1)];
        let far = &self.rest.far[..self.rest.far.len().min(EXACT as usize - NEAR)];
        let (busy_area, jobs_area) = if self.changed.ticks() < SHORT {
            let (busy, jobs) = occupied::<u64>(near, far, self.servers);
            (u128::from(busy), u128::from(jobs))
        } else {
            occupied::<u128>(near, far, self.servers)
        };
        totals.busy_area += busy_area - held_area;
        totals.blocked_area += held_area;
        totals.jobs_area += jobs_area;
        totals.queue_area += jobs_area - busy_area;
    }

    /// Add the time for each number of jobs present in the segment that ends at `now` to `times`.
    pub fn take_occupancy(&mut self, now: SimTime, times: &mut Times) {
        self.advance(now);
        let mut totals = self.rest.totals;
        self.settle(&mut totals);
        self.rest.totals = totals;
        times.add(&self.near, &self.rest.far);
        self.near.fill(0);
        self.rest.far.fill(0);
        if let Some(special) = &mut self.special {
            special.held_area = 0;
        }
    }

    /// More jobs are present than ever.
    #[cold]
    fn grow(&mut self) {
        self.jobs_max = self.present;
        let far_count = (bin_of(self.present) + 1).saturating_sub(NEAR);
        if self.rest.far.len() < far_count {
            self.rest.far.resize(far_count, 0);
        }
    }
}

/// Return the integrals of the numbers of `servers` taken and of jobs present, from the time for each
/// number of jobs.
fn occupied<T: Default + Copy + AddAssign + From<u64>>(
    near: &[u64],
    far: &[u64],
    servers: u32,
) -> (T, T) {
    // From the largest number down, so that additions do: the time spent with n jobs or more counts
    // once for the nth job and, if there is a server for it, once for the server.
    let (mut busy_area, mut jobs_area, mut so_far) = (T::default(), T::default(), 0);
    let mut count = |present: usize, ticks: u64| {
        so_far += ticks;
        jobs_area += so_far.into();
        if present <= servers as usize {
            busy_area += so_far.into();
        }
    };
    let far = far.iter().enumerate().rev();
    far.for_each(|(bin, &ticks)| count(NEAR + bin, ticks));
    let near = near.iter().enumerate().skip(1).rev();
    near.for_each(|(bin, &ticks)| count(bin, ticks));
    (busy_area, jobs_area)
}

impl Special {
    /// Return the state of its servers, which are shared.
    ///
    /// # Panics
    ///
    /// Panics if they are not: a bug.
    pub fn shared(&mut self) -> &mut Sharing {
        self.sharing.as_mut().expect("its servers are shared")
    }

    fn new(plan: &StationPlan) -> Self {
        let differ = plan
            .speeds
            .windows(2)
            .any(|two| two[0].to_bits() != two[1].to_bits());
        let has_own_servers = differ && plan.servers != u32::MAX && plan.order != Order::Sharing;
        let server_count = if has_own_servers { plan.servers } else { 0 };
        let mut idle: Vec<u32> = (0..server_count).collect();
        idle.sort_by(|&a, &b| plan.speeds[b as usize].total_cmp(&plan.speeds[a as usize]));
        Self {
            order: plan.order,
            places: plan.places,
            is_rejecting: plan.is_rejecting,
            holds_when_blocked: plan.holds_when_blocked,
            is_bounded: false,
            keeps_serving: plan.keeps_serving(),
            serving: Vec::new(),
            idle,
            speeds: plan.speeds.clone(),
            pace: 1.0,
            has_own_servers,
            can_change: plan.can_change,
            capacity_area: 0,
            held_area: 0,
            held: 0,
            down: 0,
            reserved: 0,
            entry: Fifo::new(),
            reject_count: 0,
            sharing: (plan.order == Order::Sharing)
                .then(|| Sharing::new(plan.servers, plan.sharing_limit)),
            batch: plan.batch,
            batches: BTreeMap::new(),
        }
    }

    /// Return the speed of `server`.
    pub fn speed(&self, server: u32) -> f64 {
        self.speeds.get(server as usize).copied().unwrap_or(1.0) * self.pace
    }

    /// Take the fastest server that waits for work.
    pub fn take_server(&mut self) -> u32 {
        if self.has_own_servers {
            self.idle.remove(0)
        } else {
            0
        }
    }

    /// Let `server` wait for work.
    pub fn return_server(&mut self, server: u32) {
        if !self.has_own_servers {
            return;
        }
        let rank = |one: u32| (-self.speeds[one as usize], one);
        let place = self.idle.partition_point(|&one| rank(one) < rank(server));
        self.idle.insert(place, server);
    }
}

/// Return the visits of `class`.
///
/// A function of the parts, so that the others can be borrowed at the same time.
#[inline(always)]
fn visits_of<'run>(first: &'run mut Visits, rest: &'run mut Rest, class: u32) -> &'run mut Visits {
    match class {
        0 => first,
        _ => &mut rest.other_classes[class as usize - 1],
    }
}

/// Return the queue of a station that serves first come, first served.
#[inline(always)]
fn fifo(line: &mut Line) -> &mut Fifo {
    match line {
        Line::Fifo(queue) => queue,
        other => unreachable!("the line is {other:?}"),
    }
}

/// Return `count` times `ticks`.
#[inline]
pub fn area(count: u32, ticks: u64) -> u128 {
    u128::from(count) * u128::from(ticks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: the sums of number times time, as they are defined.
        #[test]
        fn areas_follow_from_the_times_in_both_widths(
            near in prop::collection::vec(0_u64..1 << 50, NEAR),
            far in prop::collection::vec(0_u64..1 << 50, 0..EXACT as usize - NEAR),
            servers in 1_u32..40,
        ) {
            let area = |limit: u64| -> u128 {
                let times = (0..).zip(near.iter().chain(&far));
                times.map(|(n, &ticks): (u64, _)| u128::from(n.min(limit)) * u128::from(ticks)).sum()
            };
            let expected = (area(servers.into()), area(u64::MAX));
            prop_assert_eq!(occupied::<u128>(&near, &far, servers), expected);
            let (busy, jobs) = occupied::<u64>(&near, &far, servers);
            prop_assert_eq!((busy.into(), jobs.into()), expected);
        }
    }

    #[test]
    fn a_run_is_short_until_its_areas_may_need_more_bits() {
        let last = EXACT as usize - NEAR - 1;
        let mut far = vec![0; last + 1];
        far[last] = SHORT;
        let (_, jobs) = occupied::<u64>(&[0; NEAR], &far, 1);
        assert_eq!(u128::from(jobs), u128::from(EXACT - 1) * u128::from(SHORT));
    }
}
