//! Stations of which only the room is limited: blocking after service without a detour.
//!
//! Does what `service` does at stations of every kind, for those where jobs wait in order, are
//! served to the end, and keep their server until there is room further on. A station or a job of
//! another kind that comes in between is left to `service`.

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use crate::simulation::kernel::places::jobs::{NO_STATION, Phase};
use crate::simulation::kernel::run::engine::Failure;
use crate::simulation::kernel::run::plain::Plain;
use crate::simulation::kernel::run::service::Leaving;

impl Plain<'_> {
    /// The service of `job` at `station` is over; it keeps its server and walks.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn end_bounded(&mut self, job: u32, station: u32) {
        self.progress.visit_count += 1;
        let slot = &mut self.slots[job];
        slot.phase = Phase::Walking;
        self.served = Some(Leaving {
            station,
            class: slot.class,
            entered: slot.entered,
        });
    }

    /// Let the station that the walking job was served at know that its server is held.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn hold(&mut self) {
        if let Some(old) = self.served.take() {
            self.stations[old.station as usize].hold_bounded(self.progress.now);
            self.agenda.leaving = Some(old);
        }
    }

    /// Let `job`, at `at`, come to `station`; return false if `service` has to do it.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn enter_bounded(
        &mut self,
        job: u32,
        at: u32,
        station: u32,
        source: u32,
    ) -> Result<bool, Failure> {
        self.slots[job].at = at;
        let own = &mut self.stations[station as usize];
        let left = self.served.or(self.agenda.leaving);
        if left.is_some_and(|old| old.station == station) {
            return Ok(false);
        }
        if own.is_full() {
            if own.special().is_rejecting {
                return Ok(false);
            }
            self.block(job, station);
            return Ok(true);
        }
        if own.arrive_bounded(self.progress.now, job, &mut self.slots) {
            self.serve(job, at, source)?;
        }
        self.settle()?;
        Ok(true)
    }

    /// Let `job` wait outside `station`; it keeps the server that it is about to leave.
    #[inline(always)]
    fn block(&mut self, job: u32, station: u32) {
        self.hold();
        let slot = &mut self.slots[job];
        slot.phase = Phase::Blocked;
        slot.since = self.progress.now;
        let extra = self.rest.vacancies.extra_mut(job);
        if let Some(old) = self.agenda.leaving.take() {
            extra.occupies = old.station;
            extra.entered_before = old.entered;
            extra.class_before = old.class;
        }
        let entry = &mut self.stations[station as usize].special().entry;
        entry.push(&mut self.slots, job);
    }

    /// Let the job that walked leave the station that it kept until now, if any.
    ///
    /// That one has mostly just served it: then the next in line takes over the server at once.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn settle(&mut self) -> Result<(), Failure> {
        if let Some(old) = self.served.take() {
            let own = &mut self.stations[old.station as usize];
            let next =
                own.complete_bounded(self.progress.now, old.class, old.entered, &mut self.slots);
            if let Some(next) = next {
                self.serve_waiting(next)?;
            }
            self.admit_bounded(old.station)?;
        }
        if let Some(old) = self.agenda.leaving.take() {
            let own = &mut self.stations[old.station as usize];
            own.depart_held(self.progress.now, old.class, old.entered);
            self.agenda.changed.push(old.station);
        }
        self.work_off_bounded()
    }

    /// Examine the stations whose state has changed, up to one that is not bounded.
    #[inline(always)]
    fn work_off_bounded(&mut self) -> Result<(), Failure> {
        while let Some(&station) = self.agenda.changed.last() {
            let special = &self.stations[station as usize].special;
            if !special.as_ref().is_some_and(|one| one.is_bounded) {
                return Ok(());
            }
            self.agenda.changed.pop();
            self.fill_bounded(station)?;
            self.admit_bounded(station)?;
        }
        Ok(())
    }

    /// Begin services at `station` while there are both servers and jobs.
    #[inline(always)]
    fn fill_bounded(&mut self, station: u32) -> Result<(), Failure> {
        while let Some(next) = self.stations[station as usize].next_bounded() {
            self.stations[station as usize].begin_bounded(self.progress.now, next, &mut self.slots);
            self.serve_waiting(next)?;
        }
        Ok(())
    }

    /// Let jobs in that wait outside `station` while there is room.
    #[inline(always)]
    fn admit_bounded(&mut self, station: u32) -> Result<(), Failure> {
        loop {
            let own = &mut self.stations[station as usize];
            let Some(job) = own.special().entry.first().filter(|_| !own.is_full()) else {
                return Ok(());
            };
            own.special().entry.pop(&mut self.slots);
            self.leave_behind(job);
            let own = &mut self.stations[station as usize];
            if own.arrive_bounded(self.progress.now, job, &mut self.slots) {
                self.serve_waiting(job)?;
            }
        }
    }

    /// Let `job`, which was blocked, leave the server that it held, if any.
    #[inline(always)]
    fn leave_behind(&mut self, job: u32) {
        let slot = &self.slots[job];
        let waited = self.progress.now.since(slot.since);
        let extra = self.rest.vacancies.extra_mut(job);
        let station = std::mem::replace(&mut extra.occupies, NO_STATION);
        if station == NO_STATION {
            self.classes[slot.class as usize].add_outside(waited);
            return;
        }
        let own = &mut self.stations[station as usize];
        own.depart_held(self.progress.now, extra.class_before, extra.entered_before);
        own.rarer(extra.class_before).blocked_sum += u128::from(waited);
        self.agenda.changed.push(station);
    }
}
