//! The plain path: visits to stations without anything special, and the steps between.
//!
//! Most events of most models are such visits, so what they touch is borrowed once for an event:
//! slices in registers instead of vectors, whose place and length the compiler would have to load
//! again after every store. Whatever is rarer than that is left to [`Engine::go_further`].
//!
//! No function here writes a trace: a run with one has single steps, of which those that it shows
//! are not plain.

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use crate::simulation::kernel::places::cache;
use crate::simulation::kernel::places::event_queue::Resume;
use crate::simulation::kernel::places::jobs::{Job, NO_EVENT, Parts, Phase, Rest, Role, Slots};
use crate::simulation::kernel::places::stations::Station;
use crate::simulation::kernel::plan::choice::KNOWN_AHEAD;
use crate::simulation::kernel::plan::instruction::Step;
use crate::simulation::kernel::plan::program::{ClassPlan, Source};
use crate::simulation::kernel::run::engine::{
    Agenda, Engine, Failure, Progress, STEPS_AT_ONE_INSTANT, State, refuse_standstill,
};
use crate::simulation::kernel::run::service::Leaving;
use crate::simulation::kernel::statistics::classes::ClassState;
use crate::simulation::kernel::time::SimTime;

/// How a plain walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::simulation::kernel) enum Walk {
    /// The job waits, or is gone.
    Ended,
    /// The job is at a position whose step is not plain, or cannot be taken in a plain way now.
    At(u32, u32),
}

/// Why plain events pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::simulation::kernel) enum Pause {
    /// Nothing is pending.
    NoEvent,
    /// An event comes after the next mark, and has not begun.
    Mark(SimTime, Resume),
    /// An event has begun whose job did not wait in a plain way.
    Event(Resume),
    /// The job is at a position whose step is not plain, or cannot be taken in a plain way now.
    Step(u32, u32),
    /// Stations have changed that are not plain.
    Changes,
    /// An event has ended after which statistics or rare conditions are due.
    Look,
}

/// How many draws ahead the step of a case among many is fetched, its station, the times at that
/// station and the last in line, and rarer times: each when that which leads to it is there.
const DRAWS_AHEAD: [usize; 4] = [10, 7, 4, 2];
const _: () = assert!(DRAWS_AHEAD[0] <= KNOWN_AHEAD);

/// The parts of a run that plain steps touch.
pub(in crate::simulation::kernel) struct Plain<'run> {
    pub(super) progress: &'run mut Progress,
    pub(super) agenda: &'run mut Agenda,
    pub(super) steps: &'run [Step],
    pub(super) plans: &'run Vec<ClassPlan>,
    pub(super) slots: Slots<'run>,
    pub(super) rest: &'run mut Rest,
    /// The bounded station whose service of the walking job has just ended, and which does not know
    /// it yet: mostly the job leaves it at the same instant.
    pub(super) served: Option<Leaving>,
    pub(super) stations: &'run mut [Station],
    pub(super) sources: &'run mut [Source],
    pub(super) classes: &'run mut Vec<ClassState>,
}

impl Engine<'_> {
    /// Borrow what plain steps touch.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn plain(&mut self) -> Plain<'_> {
        let State {
            progress,
            jobs,
            stations,
            classes,
            ..
        } = &mut self.state;
        let (slots, rest) = jobs.parts();
        Plain {
            progress,
            agenda: &mut self.agenda,
            steps: self.steps,
            plans: &self.plan.classes,
            slots,
            rest,
            served: None,
            stations,
            sources: &mut self.sources,
            classes,
        }
    }
}

impl Plain<'_> {
    /// Take events for as long as they are plain and nothing else is due.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn run<const HAS_RARER: bool>(
        mut self,
    ) -> Result<Pause, Failure> {
        loop {
            let Some((time, who)) = self.agenda.events.take() else {
                return Ok(Pause::NoEvent);
            };
            if time >= self.progress.next_mark {
                return Ok(Pause::Mark(time, who));
            }
            if time > self.progress.now {
                self.progress.now = time;
                self.progress.steps_now = 0;
            }
            if self.progress.is_large {
                self.look_ahead();
            }
            self.progress.event_count += 1;
            self.count_step()?;
            let Some(next) = self.end_wait::<HAS_RARER>(who)? else {
                return Ok(Pause::Event(who));
            };
            if let Walk::At(job, at) = self.walk::<HAS_RARER>(next.job, next.at)? {
                self.hold();
                return Ok(Pause::Step(job, at));
            }
            if HAS_RARER {
                self.settle()?;
                if !self.agenda.changed.is_empty() {
                    return Ok(Pause::Changes);
                }
            }
            if self.progress.completion_count >= self.progress.next_look
                || self.progress.event_count >= self.progress.next_check
            {
                return Ok(Pause::Look);
            }
        }
    }

    /// End the wait of a job if it is plain; return who walks on, and where.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn end_wait<const HAS_RARER: bool>(
        &mut self,
        Resume { job, at }: Resume,
    ) -> Result<Option<Resume>, Failure> {
        match self.steps[at as usize] {
            Step::UseFifo {
                station,
                source,
                is_only,
            } => self.end_visit(job, at, (station, source, is_only))?,
            Step::AwaitNext {
                class,
                entry,
                source,
            } => {
                if let Some(next) = self.arrive(at, class, entry, source)? {
                    return Ok(Some(next));
                }
            }
            Step::Think { .. } => {}
            Step::UseOrdered { station, .. } if HAS_RARER => self.end_ordered(job, station)?,
            Step::UseBounded { station, .. } if HAS_RARER => self.end_bounded(job, station),
            _ => return Ok(None),
        }
        self.slots[job].event = NO_EVENT;
        Ok(Some(Resume { job, at: at + 1 }))
    }

    /// Let a job of `class` enter the system and its program, if there is a vacant slot; return who
    /// walks on, and where.
    ///
    /// Its source, at `at`, waits for the next one without being touched.
    #[inline(always)]
    fn arrive(
        &mut self,
        at: u32,
        class: u32,
        entry: u32,
        source: u32,
    ) -> Result<Option<Resume>, Failure> {
        // Behind the spawn and the jump of the source.
        let begin = at + 3;
        let priority = self.plans[class as usize].priority;
        let job = Job::new(begin, class, Role::Root);
        let Some(job) = self.rest.vacancies.start(&mut self.slots, job, priority) else {
            return Ok(None);
        };
        let ticks = self.sources[source as usize].draw();
        let time = self
            .progress
            .now
            .after(ticks)
            .ok_or(Failure::TimeOverflow)?;
        self.agenda.events.repeat(time);
        let at = self.begin_call(job, class, begin, entry)?;
        Ok(Some(Resume { job, at }))
    }

    /// End the service of `job` at its station; the next in line, if any, begins its own.
    #[inline(always)]
    fn end_visit(
        &mut self,
        job: u32,
        at: u32,
        (station, source, is_only): (u32, u32, bool),
    ) -> Result<(), Failure> {
        self.progress.visit_count += 1;
        let own = &mut self.stations[station as usize];
        let Some(next) = own.complete_fifo(self.progress.now, job, &mut self.slots) else {
            return Ok(());
        };
        if is_only {
            return self.serve(next, at, source);
        }
        self.serve_waiting(next)
    }

    /// End the service of `job` at a station that serves in another order than by arrival; the next
    /// in line, if any, begins its own.
    #[inline(never)]
    fn end_ordered(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        self.progress.visit_count += 1;
        let mut jobs = Parts {
            slots: &mut self.slots,
            rest: self.rest,
        };
        let own = &mut self.stations[station as usize];
        match own.complete(self.progress.now, job, &mut jobs) {
            Some(next) => self.serve_waiting(next),
            None => Ok(()),
        }
    }

    /// Let `job`, at `at`, come to such a station.
    #[inline(never)]
    fn enter_ordered(
        &mut self,
        job: u32,
        at: u32,
        station: u32,
        source: u32,
    ) -> Result<(), Failure> {
        self.slots[job].at = at;
        let mut jobs = Parts {
            slots: &mut self.slots,
            rest: self.rest,
        };
        let own = &mut self.stations[station as usize];
        if own.arrive(self.progress.now, job, &mut jobs) {
            self.serve(job, at, source)?;
        }
        Ok(())
    }

    /// Walk `job` from `at` until it waits, ends or comes to a rarer step.
    #[inline(always)]
    pub(in crate::simulation::kernel) fn walk<const HAS_RARER: bool>(
        &mut self,
        job: u32,
        mut at: u32,
    ) -> Result<Walk, Failure> {
        loop {
            let step = self.steps[at as usize];
            // The most frequent one without a dispatch.
            if let Step::UseFifo {
                station, source, ..
            } = step
            {
                self.slots[job].at = at;
                let own = &mut self.stations[station as usize];
                if own.arrive_fifo(self.progress.now, job, &mut self.slots) {
                    self.serve(job, at, source)?;
                }
                return Ok(Walk::Ended);
            }
            match step {
                Step::UseOrdered { station, source } if HAS_RARER => {
                    self.enter_ordered(job, at, station, source)?;
                    return Ok(Walk::Ended);
                }
                Step::UseBounded { station, source } if HAS_RARER => {
                    let is_done = self.enter_bounded(job, at, station, source)?;
                    return Ok(if is_done {
                        Walk::Ended
                    } else {
                        Walk::At(job, at)
                    });
                }
                Step::Draw { choice } => {
                    let chosen = &mut self.agenda.choices[choice as usize];
                    if chosen.is_far_ahead() {
                        at = self.choose_among_many(choice);
                        continue;
                    }
                    at = chosen.draw_ahead();
                }
                Step::Jump { to } => at = to,
                Step::Again { class, entry } => {
                    // It will return here again, so its stack does not change.
                    self.count_step()?;
                    let arrived = &mut self.slots[job].arrived;
                    self.classes[class as usize].again(self.progress.now, *arrived);
                    *arrived = self.progress.now;
                    self.progress.completion_count += 1;
                    at = entry;
                }
                Step::Return => {
                    let slot = &mut self.slots[job];
                    at = self.rest.stacks.top(job, slot.depth);
                    // One level up is the frame of the class.
                    let is_in_frame = slot.depth == 1;
                    let stays = matches!(self.steps[at as usize], Step::Again { .. });
                    if !(is_in_frame && stays) {
                        slot.depth -= 1;
                    }
                }
                Step::Call { entry } => at = self.call(job, at + 1, entry)?,
                Step::BeginCall { class, entry } => {
                    at = self.begin_call(job, class, at, entry)?;
                }
                Step::Think { source } | Step::AwaitNext { source, .. } => {
                    self.think(job, at, source)?;
                    return Ok(Walk::Ended);
                }
                Step::Rest {
                    class,
                    think,
                    source,
                } => {
                    // Whether it has returned or is about to: outside of its program nothing is on
                    // its stack.
                    let slot = &mut self.slots[job];
                    slot.depth = 0;
                    self.classes[class as usize].complete(self.progress.now, slot.arrived);
                    self.progress.completion_count += 1;
                    self.think(job, think, source)?;
                    return Ok(Walk::Ended);
                }
                Step::Finish { class } => {
                    self.classes[class as usize]
                        .complete(self.progress.now, self.slots[job].arrived);
                    self.progress.completion_count += 1;
                    self.rest.vacancies.end(&mut self.slots, job);
                    return Ok(Walk::Ended);
                }
                _ => return Ok(Walk::At(job, at)),
            }
        }
    }

    /// Count a step at this instant.
    #[inline(always)]
    fn count_step(&mut self) -> Result<(), Failure> {
        self.progress.steps_now += 1;
        if self.progress.steps_now > STEPS_AT_ONE_INSTANT {
            return refuse_standstill(self.progress.steps_now, self.slots.count());
        }
        Ok(())
    }

    /// Return the station and the source of randomness of the visit at `at`, if it is plain.
    #[inline(always)]
    fn visited(&self, at: u32) -> Option<(&Station, &Source)> {
        match self.steps[at as usize] {
            Step::UseFifo {
                station, source, ..
            } => Some((
                &self.stations[station as usize],
                &self.sources[source as usize],
            )),
            _ => None,
        }
    }

    /// Let the cache fetch what coming events need, one thing after the other: each when that which
    /// leads to it had the time to come.
    #[inline]
    pub(in crate::simulation::kernel) fn look_ahead(&mut self) {
        let [later, soon, next, first] = self.agenda.events.look_ahead();
        cache::fetch(&self.slots[later.job]);
        cache::fetch(&self.steps[later.at as usize]);
        if let Some((station, source)) = self.visited(soon.at) {
            station.fetch();
            cache::fetch(source);
        }
        if let Some((station, _)) = self.visited(next.at) {
            station.fetch_times();
            if let Some(job) = station.first_fifo() {
                cache::fetch(&self.slots[job]);
            }
        }
        if let Some((station, _)) = self.visited(first.at) {
            station.fetch_far_times();
        }
    }

    /// Draw where a job continues at `choice`, which is among many cases, and let the cache fetch what
    /// the next jobs there need.
    #[inline(never)]
    fn choose_among_many(&mut self, choice: u32) -> u32 {
        let chosen = &mut self.agenda.choices[choice as usize];
        let target = chosen.draw_far_ahead();
        let [step, station, times, far_times] = DRAWS_AHEAD;
        let chosen = &self.agenda.choices[choice as usize];
        if let Some(cell) = chosen.unread() {
            cache::fetch(cell);
        }
        if let Some(at) = chosen.coming(step) {
            cache::fetch(&self.steps[at as usize]);
        }
        if let Some(at) = chosen.coming(station)
            && let Some((station, source)) = self.visited(at)
        {
            station.fetch();
            cache::fetch(source);
        }
        if let Some(at) = chosen.coming(times)
            && let Some((station, _)) = self.visited(at)
        {
            station.fetch_times();
            if let Some(last) = station.last_fifo() {
                cache::fetch(&self.slots[last]);
            }
        }
        if let Some(at) = chosen.coming(far_times)
            && let Some((station, _)) = self.visited(at)
        {
            station.fetch_far_times();
        }
        target
    }

    /// Let the program at `entry` be walked, and then from `back` on.
    #[inline(always)]
    fn call(&mut self, job: u32, back: u32, entry: u32) -> Result<u32, Failure> {
        self.count_step()?;
        self.rest.stacks.set(job, self.slots[job].depth, back);
        self.slots[job].depth += 1;
        Ok(entry)
    }

    /// Let `job` enter the system at `at` and walk the program at `entry`.
    #[inline(always)]
    fn begin_call(&mut self, job: u32, class: u32, at: u32, entry: u32) -> Result<u32, Failure> {
        self.slots[job].arrived = self.progress.now;
        self.classes[class as usize].begin(self.progress.now);
        self.call(job, at + 2, entry)
    }

    /// Let `job` think at `at`.
    #[inline(always)]
    fn think(&mut self, job: u32, at: u32, source: u32) -> Result<(), Failure> {
        self.slots[job].at = at;
        self.slots[job].phase = Phase::Delayed;
        self.serve(job, at, source)
    }

    /// Let `job`, which waited at a station in a plain way, be served.
    #[inline(always)]
    pub(super) fn serve_waiting(&mut self, job: u32) -> Result<(), Failure> {
        let at = self.slots[job].at;
        match self.steps[at as usize] {
            Step::UseFifo { source, .. }
            | Step::UseOrdered { source, .. }
            | Step::UseBounded { source, .. } => self.serve(job, at, source),
            other => unreachable!("job {job} waits at a station but is at {other:?}"),
        }
    }

    /// Let `job`, at `at`, continue after a time of `source`.
    #[inline(always)]
    pub(super) fn serve(&mut self, job: u32, at: u32, source: u32) -> Result<(), Failure> {
        let ticks = self.sources[source as usize].draw();
        let time = self
            .progress
            .now
            .after(ticks)
            .ok_or(Failure::TimeOverflow)?;
        self.slots[job].event = self.agenda.events.schedule(time, Resume { job, at });
        Ok(())
    }
}
