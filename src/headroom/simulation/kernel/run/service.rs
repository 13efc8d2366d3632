//! Service at stations that are not plain: places and blocking, interruption, batches, servers of
//! different speed, breakdowns.
//!
//! No function here advances a job, except the one whose service has ended: a change at one station
//! can release others, and these changes are processed one after the other.
//!
//! Invariant: if a station has both room and a job waiting outside, it is among the stations still
//! to be examined.

use crate::simulation::kernel::places::jobs::{NO_STATION, NO_WORK, Phase};
use crate::simulation::kernel::places::stations::Station;
use crate::simulation::kernel::plan::instruction::{Instruction, Wait};
use crate::simulation::kernel::plan::program::Order;
use crate::simulation::kernel::run::engine::{Engine, Failure, Progress, State};
use crate::simulation::kernel::run::recorder::Kind;
use crate::simulation::kernel::statistics::classes::Loss;
use crate::simulation::kernel::time::{BEYOND, SimTime, whole_ticks};

/// A visit whose service is over, and whose server is kept until the job has a place further on.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation::kernel) struct Leaving {
    pub(in crate::simulation::kernel) station: u32,
    pub(in crate::simulation::kernel) class: u32,
    pub(in crate::simulation::kernel) entered: SimTime,
}

impl Engine<'_> {
    pub(in crate::simulation::kernel) fn station(&mut self, station: u32) -> &mut Station {
        &mut self.state.stations[station as usize]
    }

    /// Let `job`, which walks, come to the special `station`.
    pub(in crate::simulation::kernel) fn enter(
        &mut self,
        job: u32,
        station: u32,
    ) -> Result<(), Failure> {
        self.state.jobs[job].phase = Phase::Walking;
        if self
            .agenda
            .leaving
            .is_some_and(|old| old.station == station)
        {
            // It goes to the end of its own line, behind the jobs that wait outside.
            self.settle_departure()?;
        }
        let is_kept = self.take_reservation(job, station);
        let at = self.state.jobs[job].at;
        let patience = self.patience(job, at)?;
        if !is_kept && self.station(station).is_full() {
            let special = self.station(station).special();
            if special.is_rejecting {
                special.reject_count += 1;
                return self.fail_visit(job, Loss::Rejected);
            }
            self.block(job, station);
            return self.limit_wait(job, patience);
        }
        self.recorder.note(&self.state, Kind::Enter, job, station);
        self.join(job, station)?;
        if self.state.jobs[job].phase == Phase::Waiting {
            self.limit_wait(job, patience)?;
        }
        self.settle_departure()
    }

    /// Let `job` wait outside `station`; it keeps the server that it is about to leave.
    fn block(&mut self, job: u32, station: u32) {
        self.recorder.note(&self.state, Kind::Block, job, station);
        let left = self.agenda.leaving.take();
        let (own, jobs, now) = self.state.at(station);
        jobs[job].phase = Phase::Blocked;
        jobs[job].since = now;
        let extra = jobs.extra_mut(job);
        extra.occupies = left.map_or(NO_STATION, |old| old.station);
        extra.entered_before = left.map_or(SimTime::ZERO, |old| old.entered);
        extra.class_before = left.map_or(0, |old| old.class);
        own.special().entry.push(jobs, job);
    }

    fn take_reservation(&mut self, job: u32, station: u32) -> bool {
        let extra = self.state.jobs.extra_mut(job);
        let is_kept = extra.reserved == station;
        if is_kept {
            extra.reserved = NO_STATION;
            self.station(station).special().reserved -= 1;
        }
        is_kept
    }

    /// Let `job`, for which there is a place, join the line or a server of `station`.
    fn join(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        let State {
            stations,
            jobs,
            waits,
            progress: Progress { now, .. },
            ..
        } = &mut self.state;
        let own = &mut stations[station as usize];
        own.enter(*now, job, jobs);
        jobs.extra_mut(job).remaining = NO_WORK;
        if !waits.is_empty() {
            waits.begin(job);
        }
        let special = own.special();
        if special.batch.is_none() {
            if special
                .sharing
                .as_ref()
                .is_some_and(crate::simulation::kernel::places::sharing::Sharing::has_room)
            {
                return self.share(job, station);
            }
            let is_exclusive = special.sharing.is_none();
            if is_exclusive && own.line.is_empty() && own.idle_servers() > 0 {
                return self.begin_service(job, station);
            }
            if let Some(victim) = self.victim(job, station) {
                self.interrupt(victim, station)?;
                return self.begin_service(job, station);
            }
        }
        self.queue(job, station);
        self.fill(station)
    }

    fn queue(&mut self, job: u32, station: u32) {
        let (own, jobs, now) = self.state.at(station);
        own.queue(now, job, jobs);
    }

    /// Return the job whose service `job` may interrupt.
    fn victim(&mut self, job: u32, station: u32) -> Option<u32> {
        let State { stations, jobs, .. } = &mut self.state;
        let special = stations[station as usize].special();
        let serving = special.serving.iter().copied();
        match special.order {
            Order::Lifo {
                is_preemptive: true,
            } => serving.min_by_key(|&one| jobs[one].entered),
            Order::Priority {
                is_preemptive: true,
            } => {
                let priority = |one: u32| jobs.extra(one).priority;
                serving
                    .rev()
                    .min_by(|&a, &b| priority(a).total_cmp(&priority(b)))
                    .filter(|&lowest| priority(lowest) < priority(job))
            }
            _ => None,
        }
    }

    /// Interrupt the service of `victim`, which returns to the line.
    fn interrupt(&mut self, victim: u32, station: u32) -> Result<(), Failure> {
        self.recorder
            .note(&self.state, Kind::Interrupt, victim, station);
        self.cancel(victim);
        self.free_server(victim, station);
        let (own, jobs, now) = self.state.at(station);
        let extra = jobs.extra_mut(victim);
        let speed = own.special().speed(extra.server);
        let left = extra.finish.since(now);
        extra.remaining = scaled(left, speed)?;
        jobs[victim].phase = Phase::Waiting;
        jobs[victim].since = now;
        own.visits(jobs[victim].class).queue(now);
        own.line.push_interrupted(jobs, victim);
        own.queue_len_max = own.queue_len_max.max(own.line.len());
        Ok(())
    }

    /// Take `job` from its server during its service.
    pub(in crate::simulation::kernel) fn free_server(&mut self, job: u32, station: u32) {
        let (own, jobs, now) = self.state.at(station);
        own.advance(now);
        own.busy -= 1;
        let special = own.special();
        if special.keeps_serving {
            special.serving.retain(|&one| one != job);
        }
        special.return_server(jobs.extra(job).server);
    }

    /// Let `job`, which is in no line, be served at `station`, which has an idle server.
    fn begin_service(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        let at = self.state.jobs[job].at;
        self.cancel(job);
        if !self.has_place_further_on(job, station, at) {
            return Ok(());
        }
        let ticks = self.work(job)?;
        let (own, jobs, now) = self.state.at(station);
        own.advance(now);
        own.busy += 1;
        own.line.note_served(jobs, job);
        let special = own.special();
        if special.keeps_serving {
            special.serving.push(job);
        }
        let server = special.take_server();
        let speed = special.speed(server);
        jobs[job].phase = Phase::Serving;
        jobs.extra_mut(job).server = server;
        self.recorder
            .note(&self.state, Kind::BeginService, job, station);
        let finish = self.schedule_after(job, scaled(ticks, 1.0 / speed)?)?;
        self.state.jobs.extra_mut(job).finish = finish;
        Ok(())
    }

    /// Return the work (ticks at speed 1) that `job` brings, or has left.
    fn work(&mut self, job: u32) -> Result<u64, Failure> {
        let remaining = self.state.jobs.extra(job).remaining;
        if remaining != NO_WORK {
            return Ok(remaining);
        }
        let (_, amount) = self.used(job);
        self.ticks(job, amount)
    }

    /// Keep a place for `job` at the next station if its step asks for one; if there is none, the
    /// job holds its server and waits.
    fn has_place_further_on(&mut self, job: u32, station: u32, at: u32) -> bool {
        let Instruction::Wait(Wait::UseReserving { next, .. }) = self.instructions[at as usize]
        else {
            return true;
        };
        let now = self.state.progress.now;
        let State { stations, jobs, .. } = &mut self.state;
        if jobs.extra(job).reserved != NO_STATION {
            return true;
        }
        if !stations[next as usize].is_full() {
            stations[next as usize].special().reserved += 1;
            jobs.extra_mut(job).reserved = next;
            return true;
        }
        let own = &mut stations[station as usize];
        own.advance(now);
        own.special().held += 1;
        jobs[job].phase = Phase::Reserving;
        jobs[job].since = now;
        stations[next as usize].special().entry.push(jobs, job);
        self.recorder.note(&self.state, Kind::Block, job, next);
        false
    }

    /// The service of `job` at `at` is over: let it continue.
    pub(in crate::simulation::kernel) fn end_special_service(
        &mut self,
        job: u32,
        station: u32,
        at: u32,
    ) -> Result<(), Failure> {
        self.recorder
            .note(&self.state, Kind::EndService, job, station);
        self.free_server(job, station);
        self.note_wait(job, station);
        // The rest of an interrupted service is done; a bounded station does not look at it.
        self.state.jobs.extra_mut(job).remaining = NO_WORK;
        let (class, entered) = (self.state.jobs[job].class, self.state.jobs[job].entered);
        let left = Leaving {
            station,
            class,
            entered,
        };
        self.state.jobs[job].phase = Phase::Walking;
        let special = self.station(station).special();
        if special.holds_when_blocked {
            special.held += 1;
            self.agenda.leaving = Some(left);
            self.walk(job, at + 1)?;
            return self.settle_departure();
        }
        let members = match special.batch {
            Some(_) => special.batches.remove(&job).unwrap_or_default(),
            None => Vec::new(),
        };
        self.depart(left);
        for member in members {
            self.end_with_batch(member, station);
        }
        self.work_off_changes()?;
        self.walk(job, at + 1)
    }

    fn end_with_batch(&mut self, member: u32, station: u32) {
        self.state.progress.visit_count += 1;
        self.recorder
            .note(&self.state, Kind::EndService, member, station);
        self.note_wait(member, station);
        self.leave_served(member, station);
    }

    /// Keep how long `job` waited at `station`, where its service has ended, if that is asked for.
    fn note_wait(&mut self, job: u32, station: u32) {
        if !self.state.waits.is_empty() {
            let (class, now) = (self.state.jobs[job].class, self.state.progress.now);
            self.state.waits.serve(job, station, class, now);
        }
    }

    /// Let `job`, whose service has ended, leave `station` and walk when it is its turn.
    fn leave_served(&mut self, job: u32, station: u32) {
        let (class, entered) = (self.state.jobs[job].class, self.state.jobs[job].entered);
        self.depart(Leaving {
            station,
            class,
            entered,
        });
        self.state.jobs[job].at += 1;
        self.make_ready(job);
    }

    /// Let the job that walked leave the station that it kept until now, if any.
    pub(in crate::simulation::kernel) fn settle_departure(&mut self) -> Result<(), Failure> {
        if let Some(left) = self.agenda.leaving.take() {
            self.release_server(left.station);
            self.depart(left);
        }
        self.work_off_changes()
    }

    /// One job less holds a server of `station` without being served.
    pub(in crate::simulation::kernel) fn release_server(&mut self, station: u32) {
        let now = self.state.progress.now;
        let own = self.station(station);
        own.advance(now);
        own.special().held -= 1;
    }

    /// Count a visit as over; the station may have room now.
    pub(in crate::simulation::kernel) fn depart(&mut self, left: Leaving) {
        let (own, _, now) = self.state.at(left.station);
        own.advance(now);
        own.present -= 1;
        own.visits(left.class).complete(now, left.entered);
        self.agenda.changed.push(left.station);
    }

    /// Examine all stations whose state has changed until nothing more can begin.
    #[inline]
    pub(in crate::simulation::kernel) fn work_off_changes(&mut self) -> Result<(), Failure> {
        // Mostly there is none.
        if self.agenda.changed.is_empty() {
            return Ok(());
        }
        self.examine_changed()
    }

    fn examine_changed(&mut self) -> Result<(), Failure> {
        while let Some(station) = self.agenda.changed.pop() {
            let own = self.station(station);
            let is_awaited = match &own.special {
                Some(special) => !own.line.is_empty() || !special.entry.is_empty(),
                None => false,
            };
            if is_awaited {
                self.fill(station)?;
                self.admit(station)?;
            }
        }
        Ok(())
    }

    /// Begin services at `station` while there are both servers and jobs.
    fn fill(&mut self, station: u32) -> Result<(), Failure> {
        loop {
            let own = self.station(station);
            let least = own.special().batch.map_or(1, |batch| batch.0);
            let has_room = match &own.special().sharing {
                Some(sharing) => sharing.has_room(),
                None => own.idle_servers() > 0,
            };
            if !has_room || own.line.len() < least {
                return Ok(());
            }
            if own.special().batch.is_some() {
                self.begin_batch(station)?;
                continue;
            }
            let job = self.take_from_line(station);
            if self.station(station).special().sharing.is_some() {
                self.share(job, station)?;
            } else {
                self.begin_service(job, station)?;
            }
        }
    }

    fn take_from_line(&mut self, station: u32) -> u32 {
        let State {
            stations,
            jobs,
            waits,
            progress: Progress { now, .. },
            ..
        } = &mut self.state;
        let own = &mut stations[station as usize];
        own.advance(*now);
        let job = own.line.pop(jobs).expect("somebody waits");
        own.visits(jobs[job].class)
            .leave_queue(*now, jobs[job].since);
        if !waits.is_empty() {
            let ticks = now.since(jobs[job].since);
            waits.add(job, ticks);
            waits.leave((false, station), jobs[job].class, ticks);
        }
        self.cancel(job);
        job
    }

    /// Let a server take as many jobs as it may; the first one leads.
    fn begin_batch(&mut self, station: u32) -> Result<(), Failure> {
        let own = self.station(station);
        let most = own.special().batch.map_or(1, |batch| batch.1);
        let size = own.line.len().min(most);
        let leader = self.take_from_line(station);
        let members: Vec<u32> = (1..size).map(|_| self.take_from_line(station)).collect();
        for &member in &members {
            self.state.jobs[member].phase = Phase::Serving;
            self.recorder
                .note(&self.state, Kind::BeginService, member, station);
        }
        self.station(station)
            .special()
            .batches
            .insert(leader, members);
        self.begin_service(leader, station)
    }

    /// Let jobs in that wait outside `station` while there is room.
    fn admit(&mut self, station: u32) -> Result<(), Failure> {
        while !self.station(station).is_full() {
            let State { stations, jobs, .. } = &mut self.state;
            let Some(job) = stations[station as usize].special().entry.pop(jobs) else {
                return Ok(());
            };
            self.recorder.note(&self.state, Kind::Unblock, job, station);
            if self.state.jobs[job].phase == Phase::Reserving {
                self.grant_place(job, station)?;
            } else {
                self.leave_behind(job);
                self.recorder.note(&self.state, Kind::Enter, job, station);
                self.join(job, station)?;
            }
        }
        Ok(())
    }

    /// Keep a place at `station` for `job`, whose service elsewhere waited for it.
    fn grant_place(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        self.station(station).special().reserved += 1;
        self.state.jobs.extra_mut(job).reserved = station;
        let (own, _) = self.used(job);
        self.end_holding(job, own, self.state.jobs[job].class);
        self.begin_service(job, own)
    }

    /// `job` holds a server of `station` no longer without being served.
    ///
    /// It was of `class` when it came there.
    pub(in crate::simulation::kernel) fn end_holding(
        &mut self,
        job: u32,
        station: u32,
        class: u32,
    ) {
        self.release_server(station);
        let (own, jobs, now) = self.state.at(station);
        let held = now.since(jobs[job].since);
        let rarer = own.rarer(class);
        rarer.blocked_sum += u128::from(held);
    }

    /// Let `job`, which was blocked, leave the server that it held, if any.
    pub(in crate::simulation::kernel) fn leave_behind(&mut self, job: u32) {
        let station = self.state.jobs.extra(job).occupies;
        let now = self.state.progress.now;
        let State { jobs, classes, .. } = &mut self.state;
        if station == NO_STATION {
            let waited = now.since(jobs[job].since);
            classes[jobs[job].class as usize].add_outside(waited);
            return;
        }
        let entered = jobs.extra(job).entered_before;
        let class = jobs.extra(job).class_before;
        jobs.extra_mut(job).occupies = NO_STATION;
        self.end_holding(job, station, class);
        self.depart(Leaving {
            station,
            class,
            entered,
        });
    }

    /// Let `job` share the servers of `station`.
    fn share(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        self.cancel(job);
        let ticks = self.work(job)?;
        let (own, jobs, now) = self.state.at(station);
        own.advance(now);
        let special = own.special();
        let work = scaled(ticks, 1.0 / special.speed(0))?;
        let sharing = special.shared();
        sharing.add(now, job, work);
        own.busy = sharing.busy();
        jobs[job].phase = Phase::Serving;
        self.recorder
            .note(&self.state, Kind::BeginService, job, station);
        self.set_clock(station)
    }

    /// Set the clock of a station with shared servers to the next end of a service.
    pub(in crate::simulation::kernel) fn set_clock(&mut self, station: u32) -> Result<(), Failure> {
        let sharing = self.station(station).special().shared();
        let (clock, next) = (sharing.clock, sharing.next_end());
        self.cancel(clock);
        if let Some(ticks) = next {
            self.schedule_after(clock, ticks)?;
        }
        Ok(())
    }

    /// Let all jobs continue whose shared service ends now.
    pub(in crate::simulation::kernel) fn end_shared_services(
        &mut self,
        station: u32,
    ) -> Result<(), Failure> {
        let now = self.state.progress.now;
        loop {
            let own = self.station(station);
            own.advance(now);
            let sharing = own.special().shared();
            let Some(job) = sharing.take_done(now) else {
                break;
            };
            let busy = sharing.busy();
            self.station(station).busy = busy;
            self.end_with_batch(job, station);
        }
        self.work_off_changes()?;
        self.set_clock(station)
    }

    /// Let servers of `station` fail; services that they were busy with are interrupted.
    pub(in crate::simulation::kernel) fn break_servers(
        &mut self,
        station: u32,
        count: u32,
    ) -> Result<(), Failure> {
        let now = self.state.progress.now;
        let own = self.station(station);
        own.advance(now);
        own.special().down += count;
        if own.special().sharing.is_some() {
            return self.set_shared_servers(station);
        }
        loop {
            let own = self.station(station);
            let (servers, busy) = (own.servers, own.busy);
            let special = own.special();
            let is_over = busy + special.held + special.down > servers;
            let Some(&victim) = special.serving.last().filter(|_| is_over) else {
                return Ok(());
            };
            self.interrupt(victim, station)?;
        }
    }

    /// Let servers of `station` work again.
    pub(in crate::simulation::kernel) fn repair_servers(
        &mut self,
        station: u32,
        count: u32,
    ) -> Result<(), Failure> {
        let now = self.state.progress.now;
        let own = self.station(station);
        own.advance(now);
        own.special().down -= count;
        if own.special().sharing.is_some() {
            return self.set_shared_servers(station);
        }
        self.agenda.changed.push(station);
        self.work_off_changes()
    }

    pub(in crate::simulation::kernel) fn set_shared_servers(
        &mut self,
        station: u32,
    ) -> Result<(), Failure> {
        let now = self.state.progress.now;
        let own = self.station(station);
        let up = own.servers.saturating_sub(own.special().down);
        let sharing = own.special().shared();
        sharing.set_servers(now, up);
        own.busy = sharing.busy();
        self.set_clock(station)
    }
}

/// Return `ticks` times `factor` in whole ticks; exact if the factor is 1.
///
/// Work beyond the clock has lost its length, so that no speed gives its time.
#[allow(
    clippy::float_cmp,
    reason = "a speed of exactly 1 must not round anything"
)]
pub(in crate::simulation::kernel) fn scaled(ticks: u64, factor: f64) -> Result<u64, Failure> {
    let scaled = if factor == 1.0 {
        ticks
    } else {
        whole_ticks(ticks as f64 * factor)
    };
    if ticks == BEYOND || scaled == BEYOND {
        return Err(Failure::TimeOverflow);
    }
    Ok(scaled)
}
