//! The event loop: takes the earliest event and advances its job until it waits again.
//!
//! An event names only the slot to resume. The position of the job determines what it waited for:
//! the end of a service, the end of a delay, a time-out. Jobs that others activate at the same
//! instant (granted tokens, forked branches, new arrivals) advance in the order of their
//! activation.
//!
//! Invariant: between two events every job waits in one of the ways listed in [`Phase`], and none
//! is ready.

use std::collections::VecDeque;

use crate::simulation::kernel::error::{Place, SimulationError};
use crate::simulation::kernel::places::cache;
use crate::simulation::kernel::places::event_queue::{EVENT_LIMIT, EventQueue, JOB_LIMIT, Resume};
use crate::simulation::kernel::places::jobs::{Jobs, NO_EVENT, Phase, Role};
use crate::simulation::kernel::places::occupancy::{Segments, Times};
use crate::simulation::kernel::places::pools::Pool;
use crate::simulation::kernel::places::stations::Station;
use crate::simulation::kernel::places::tally::{Grid, Requests};
use crate::simulation::kernel::plan::arrivals::Arrivals;
use crate::simulation::kernel::plan::calls::Calls;
use crate::simulation::kernel::plan::choice::Choice;
use crate::simulation::kernel::plan::fuse::{fuse, single};
use crate::simulation::kernel::plan::instruction::{Act, Change, Instruction, Step, Wait};
use crate::simulation::kernel::plan::mechanism::Mechanism;
use crate::simulation::kernel::plan::program::{ClassPlan, Plan, Source};
use crate::simulation::kernel::random::stream;
use crate::simulation::kernel::run::deadlock::{self, Deadlock};
use crate::simulation::kernel::run::invariants;
use crate::simulation::kernel::run::plain::Pause;
use crate::simulation::kernel::run::recorder::{Kind, Recorder};
use crate::simulation::kernel::run::result::{self, Outcome, row};
use crate::simulation::kernel::run::service::Leaving;
use crate::simulation::kernel::statistics::classes::{ClassState, Loss};
use crate::simulation::kernel::statistics::intervals::{Interval, Intervals, Longest};
use crate::simulation::kernel::statistics::snapshots::{Samples, Snapshots};
use crate::simulation::kernel::statistics::waits::Waits;
use crate::simulation::kernel::time::SimTime;

/// Events between two checks of rare conditions: deadlock of a part, the range of the counters, the
/// caller's wish to stop.
const EVENTS_PER_CHECK: u64 = 1 << 20;
/// Resources from which on a model is large: it is not looked at after every completion, and what
/// its events need is fetched ahead.
const LARGE: u64 = 256;
/// Resources of a large model that are examined for each completion, in the earliest snapshots.
const RESOURCES_PER_COMPLETION: u64 = 8;
/// Steps at one instant after which a model is held to go round in circles, with
/// [`STEPS_OF_EACH_JOB`] more for each job.
pub(in crate::simulation::kernel) const STEPS_AT_ONE_INSTANT: u64 = 10_000_000;
/// Steps that every job may take at one instant.
const STEPS_OF_EACH_JOB: u64 = 100;

/// Events without any completion after which a run without a time limit is assumed to be endless.
const EVENTS_WITHOUT_COMPLETION: u64 = 1 << 28;

/// Lost jobs without any completion after which all are assumed to be lost.
const LOST_WITHOUT_COMPLETION: u64 = 1 << 20;

/// Jobs that wait for the next completion.
#[derive(Clone, Copy, Debug)]
struct Patience {
    limit: u64,
    events: u64,
    completions: u64,
}

impl Patience {
    const fn new(limit: u64) -> Self {
        Self {
            limit,
            events: 0,
            completions: 0,
        }
    }

    /// Return whether at least the limit of events has gone by since there were fewer completions.
    const fn is_over(&mut self, events: u64, completions: u64) -> bool {
        if completions > self.completions {
            self.completions = completions;
            self.events = events;
        }
        events - self.events >= self.limit
    }
}

/// Optional records of a run, in addition to its statistics.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Simulated time between two samples, in ticks.
    pub sample_ticks: Option<u64>,
    /// When intervals end that have statistics of their own; rising, above zero.
    pub interval_ends: Vec<SimTime>,
    /// Waits to keep by size.
    pub waits: Waits,
    /// Events to keep in the trace.
    pub trace_limit: usize,
}

/// Run `plan` with `seed`.
///
/// `mechanisms` are those of the model, in its order, as they are before the run. `is_wanted` is
/// asked now and then; the run stops if it returns false.
///
/// # Errors
///
/// Fails on a deadlock, on time or numbers beyond their range, if simulated time stalls, and if the
/// caller stops it.
///
/// # Panics
///
/// Panics if a conservation law is broken: a bug in the kernel.
pub fn run(
    plan: &Plan,
    seed: u64,
    wishes: Wishes,
    mechanisms: Vec<Box<dyn Mechanism>>,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<Outcome, SimulationError> {
    let calls = Calls::new(&plan.calls, mechanisms, plan.unit);
    let steps = if wishes.trace_limit == 0 {
        fuse(plan)
    } else {
        single(plan)
    };
    let mut engine = Engine::new(plan, &steps, seed, wishes, calls);
    engine.start().map_err(|failure| engine.explain(failure))?;
    engine
        .go_on(is_wanted)
        .map_err(|failure| engine.explain(failure))?;
    engine.refuse_deadlock()?;
    invariants::check(&engine.state, plan);
    Ok(engine.finish())
}

/// How far a run has come, and how far it may go before something else is due.
///
/// Plain steps reach all of it by one pointer, which is kept in a register.
pub struct Progress {
    /// Simulated time.
    pub now: SimTime,
    /// Completed jobs, all classes together.
    pub completion_count: u64,
    /// Completed station visits.
    pub visit_count: u64,
    /// Events.
    pub event_count: u64,
    /// Steps at this instant.
    pub steps_now: u64,
    /// When the next sample or interval is due, or the run ends.
    pub next_mark: SimTime,
    /// After how many completions statistics are due.
    pub next_look: u64,
    /// After how many events the rare conditions are checked next.
    pub next_check: u64,
    /// Whether the model is large: what its events need is fetched ahead.
    pub is_large: bool,
}

impl Progress {
    const fn new(is_large: bool) -> Self {
        Self {
            now: SimTime::ZERO,
            completion_count: 0,
            visit_count: 0,
            event_count: 0,
            steps_now: 0,
            next_mark: SimTime::ZERO,
            next_look: 0,
            next_check: EVENTS_PER_CHECK,
            is_large,
        }
    }
}

/// Pending work of a run, which plain steps reach by a second pointer.
pub(in crate::simulation::kernel) struct Agenda {
    /// When jobs continue.
    pub(in crate::simulation::kernel) events: EventQueue,
    /// Where they do, some drawn ahead.
    pub(in crate::simulation::kernel) choices: Vec<Choice>,
    /// The station that the walking job is about to leave.
    pub(in crate::simulation::kernel) leaving: Option<Leaving>,
    /// Stations whose state changed and that may let jobs in.
    pub(in crate::simulation::kernel) changed: Vec<u32>,
}

/// Everything that changes during a run and is reported or checked at its end.
pub struct State {
    /// Time and counts.
    pub progress: Progress,
    /// All jobs.
    pub jobs: Jobs,
    /// All stations.
    pub stations: Vec<Station>,
    /// All pools.
    pub pools: Vec<Pool>,
    /// Requests of each class to each pool.
    pub requests: Grid<Requests>,
    /// All classes.
    pub classes: Vec<ClassState>,
    /// Waits that are kept by size.
    pub waits: Waits,
}

impl State {
    /// Return a station with the jobs and the time: what an event there needs.
    #[inline]
    pub(in crate::simulation::kernel) fn at(
        &mut self,
        station: u32,
    ) -> (&mut Station, &mut Jobs, SimTime) {
        let own = &mut self.stations[station as usize];
        (own, &mut self.jobs, self.progress.now)
    }
}

/// Why the walk cannot continue; [`Engine::explain`] makes a message of it.
///
/// It is one byte, because every step returns it; the details are in [`Culprit`].
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation::kernel) enum Failure {
    TimeOverflow,
    LargeDraw,
    TooManyJobs,
    NoProgress,
    TooManyEvents,
    Interrupted,
    Deadlock,
    NoCompletion,
    Starved,
    Amount,
    Call,
}

/// The location of a failure.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::simulation::kernel) struct Culprit {
    /// Position in the instruction array.
    pub(in crate::simulation::kernel) at: u32,
    /// The number that cannot be used.
    pub(in crate::simulation::kernel) value: f64,
}

pub(in crate::simulation::kernel) struct Engine<'plan> {
    pub(in crate::simulation::kernel) plan: &'plan Plan,
    pub(in crate::simulation::kernel) instructions: &'plan [Instruction],
    /// The steps that jobs walk through, fused unless there is a trace.
    pub(in crate::simulation::kernel) steps: &'plan [Step],
    pub(in crate::simulation::kernel) state: State,
    pub(in crate::simulation::kernel) agenda: Agenda,
    pub(in crate::simulation::kernel) ready: VecDeque<u32>,
    pub(in crate::simulation::kernel) sources: Vec<Source>,
    pub(in crate::simulation::kernel) arrivals: Vec<Arrivals>,
    pub(in crate::simulation::kernel) scratch: Vec<f64>,
    pub(in crate::simulation::kernel) calls: Calls<'plan>,
    pub(in crate::simulation::kernel) recorder: Recorder,
    pub(in crate::simulation::kernel) culprit: Culprit,
    /// Whether there are stations of which only the room is limited, or only the order is another.
    has_rarer: bool,
    /// Whether the run ended because nothing more can happen.
    is_quiet: bool,
    patience: Patience,
    snapshots: Snapshots,
    segments: Segments,
    samples: Samples,
    intervals: Intervals,
    /// Longest lines of stations and pools in the intervals that are closed.
    longest: Longest,
}

impl<'plan> Engine<'plan> {
    fn new(
        plan: &'plan Plan,
        steps: &'plan [Step],
        seed: u64,
        wishes: Wishes,
        calls: Calls<'plan>,
    ) -> Self {
        let class_count = plan.classes.len();
        let scale = snapshot_scale(plan);
        let mut stations = cache::roomy(plan.stations.len());
        stations.extend(
            plan.stations
                .iter()
                .map(|one| Station::new(one, seed, class_count)),
        );
        let mut sources = cache::roomy(plan.sources.len());
        sources.extend(plan.sources.iter().map(|one| Source::new(one, seed)));
        let mut has_rarer = false;
        for step in steps {
            match *step {
                Step::UseBounded { station, .. } => {
                    stations[station as usize].special().is_bounded = true;
                    has_rarer = true;
                }
                Step::UseOrdered { .. } => has_rarer = true,
                _ => {}
            }
        }
        Self {
            plan,
            instructions: &plan.instructions,
            steps,
            state: State {
                progress: Progress::new(plan.stations.len() as u64 >= LARGE),
                jobs: Jobs::new(plan.stack_slots, plan.attributes.clone()),
                stations,
                pools: plan.pools.iter().map(Pool::new).collect(),
                requests: Grid::new(plan.pools.len(), class_count),
                classes: plan
                    .classes
                    .iter()
                    .map(|class| ClassState::new(class.late_after))
                    .collect(),
                waits: wishes.waits,
            },
            agenda: Agenda {
                events: EventQueue::default(),
                choices: plan.choices.iter().map(|c| Choice::new(c, seed)).collect(),
                leaving: None,
                changed: Vec::new(),
            },
            ready: VecDeque::new(),
            sources,
            arrivals: plan
                .processes
                .iter()
                .map(|one| Arrivals::new(&one.arrivals, stream::open(seed, one.key)))
                .collect(),
            scratch: Vec::new(),
            calls,
            recorder: Recorder::new(wishes.trace_limit),
            culprit: Culprit::default(),
            has_rarer,
            is_quiet: false,
            patience: Patience::new(EVENTS_WITHOUT_COMPLETION),
            snapshots: Snapshots::new(scale),
            segments: Segments::new(scale),
            longest: Longest::default(),
            samples: Samples::new(wishes.sample_ticks),
            intervals: Intervals::new(wishes.interval_ends),
        }
    }

    /// Start the clocks, the populations of closed classes and the sources of open ones.
    fn start(&mut self) -> Result<(), Failure> {
        let plan = self.plan;
        for &(station, at) in &plan.clocks {
            let clock = self.new_job(at, 0, Role::Clock)?;
            if let Some(sharing) = &mut self.state.stations[station as usize].special().sharing {
                sharing.clock = clock;
            }
        }
        for breakdown in &plan.breakdowns {
            for _ in 0..breakdown.count {
                self.start_job(breakdown.entry, 0, Role::Clock)?;
            }
        }
        for &entry in &plan.controllers {
            self.start_job(entry, 0, Role::Clock)?;
        }
        let counts = plan.classes.iter().map(ClassPlan::start_count);
        self.state.jobs.make_room(counts.sum());
        for (index, class) in (0..).zip(&plan.classes) {
            self.start_class(index, class)?;
        }
        self.walk_ready()
    }

    /// Take events until a limit is reached.
    fn go_on(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<(), Failure> {
        while self.state.progress.completion_count < self.plan.limits.completions {
            let pause = if self.has_rarer {
                self.plain().run::<true>()?
            } else {
                self.plain().run::<false>()?
            };
            match pause {
                Pause::NoEvent => return self.end_of_events(),
                Pause::Mark(time, who) => {
                    if self.pass_marks(time)? {
                        break;
                    }
                    self.begin_event(time)?;
                    self.resume(who)?;
                }
                Pause::Event(who) => {
                    self.state.jobs[who.job].event = NO_EVENT;
                    self.end_wait(who)?;
                }
                Pause::Step(job, at) => {
                    self.go_further(job, at)?;
                    self.settle_departure()?;
                }
                Pause::Changes => self.work_off_changes()?,
                Pause::Look => {}
            }
            if !self.ready.is_empty() {
                self.walk_ready()?;
            }
            if self.state.progress.completion_count >= self.state.progress.next_look {
                self.look();
            }
            if self.state.progress.event_count >= self.state.progress.next_check {
                self.state.progress.next_check += EVENTS_PER_CHECK;
                self.check_rarely(is_wanted)?;
            }
        }
        Ok(())
    }

    /// An event happens at `time`.
    fn begin_event(&mut self, time: SimTime) -> Result<(), Failure> {
        if time > self.state.progress.now {
            self.state.progress.now = time;
            self.state.progress.steps_now = 0;
        }
        self.state.progress.event_count += 1;
        self.count_step()
    }

    /// Nothing will happen any more: the arrivals have ended, or jobs wait for each other.
    fn end_of_events(&mut self) -> Result<(), Failure> {
        if deadlock::find(self.plan, &self.state).is_some() {
            return Err(Failure::Deadlock);
        }
        let starved = self.state.jobs.working().find_map(|(_, job)| {
            let waits = job.phase == Phase::Waiting;
            waits.then_some(job.at)
        });
        if let Some(at) = starved {
            self.culprit.at = at;
            return Err(Failure::Starved);
        }
        self.is_quiet = true;
        Ok(())
    }

    #[cold]
    fn look(&mut self) {
        let count = self.state.progress.completion_count;
        if self.snapshots.is_due(count) {
            let mut row = self.snapshots.blank();
            result::fill(&mut row, self.plan, &self.state);
            self.snapshots.take(self.state.progress.now, count, row);
        }
        if count >= self.segments.next() {
            self.close_segment();
        }
        let due = self.snapshots.next().min(self.segments.next());
        self.state.progress.next_look = due.min(self.plan.limits.completions);
    }

    fn close_segment(&mut self) {
        let now = self.state.progress.now;
        let State { stations, .. } = &mut self.state;
        let mut times = Times::default();
        for members in self.plan.station_rows.iter() {
            for index in members {
                stations[index].take_occupancy(now, &mut times);
            }
            times.end_row();
        }
        self.segments
            .close(now, self.state.progress.completion_count, times);
    }

    /// Take the samples and close the intervals that are due before an event at `time`; return
    /// whether the run ends before it.
    ///
    /// Every event beyond the clock comes here: the last mark is never later.
    #[cold]
    fn pass_marks(&mut self, time: SimTime) -> Result<bool, Failure> {
        let limit = self.plan.limits.time;
        if time.min(limit) == SimTime::MAX {
            return Err(Failure::TimeOverflow);
        }
        if time >= self.samples.next() {
            self.take_samples(time.min(limit));
        }
        // Events at the very end belong to the last interval: `finish` closes that one.
        while self.intervals.next() <= time && self.intervals.next() < limit {
            self.close_interval(self.intervals.next());
        }
        let ahead = self.intervals.next();
        let is_due = ahead < limit;
        self.state.progress.next_mark = self
            .samples
            .next()
            .min(if is_due { ahead } else { SimTime::MAX })
            .min(limit);
        let is_over = time > limit;
        if is_over {
            self.state.progress.now = limit;
        }
        Ok(is_over)
    }

    /// Close the interval that ends at `end`; nothing has happened since the last event.
    fn close_interval(&mut self, end: SimTime) {
        self.state.progress.now = end;
        let State {
            stations,
            pools,
            classes,
            ..
        } = &mut self.state;
        let station_queues: Vec<u32> = stations.iter().map(|one| one.queue_len_max).collect();
        let pool_queues: Vec<u32> = pools.iter().map(|one| one.queue_len_max).collect();
        self.longest.note(&station_queues, &pool_queues);
        for station in stations.iter_mut() {
            station.queue_len_max = station.line.len();
        }
        for pool in pools.iter_mut() {
            pool.queue_len_max = pool.line().len();
        }
        let counts = classes.iter().map(|one| one.histogram.totals()).collect();
        let row = row(self.plan, &self.state);
        self.intervals.close(Interval {
            end,
            row,
            counts,
            station_queues,
            pool_queues,
        });
    }

    /// Close the last intervals; a run that nothing more happens in is quiet up to its limit.
    fn close_last_intervals(&mut self) {
        if self.intervals.is_empty() {
            return;
        }
        let now = self.state.progress.now;
        let limit = self.plan.limits.time;
        let end = if self.is_quiet && limit < SimTime::MAX {
            limit
        } else {
            now
        };
        while self.intervals.next() < end {
            self.close_interval(self.intervals.next());
        }
        if self.intervals.last_end() < end {
            self.close_interval(end);
        }
        self.state.progress.now = now;
        self.longest
            .restore(&mut self.state.stations, &mut self.state.pools);
    }

    #[cold]
    fn take_samples(&mut self, until: SimTime) {
        while self.samples.next() <= until {
            self.state.progress.now = self.samples.next();
            let row = row(self.plan, &self.state);
            self.samples.take(row);
        }
    }

    #[cold]
    fn check_rarely(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<(), Failure> {
        if !is_wanted() {
            return Err(Failure::Interrupted);
        }
        if self.agenda.events.scheduled_count() > EVENT_LIMIT / 2 {
            return Err(Failure::TooManyEvents);
        }
        if deadlock::find(self.plan, &self.state).is_some() {
            return Err(Failure::Deadlock);
        }
        let is_endless = self.plan.limits.time == SimTime::MAX;
        let (events, completions) = (
            self.state.progress.event_count,
            self.state.progress.completion_count,
        );
        let lost = self.state.classes.iter().map(ClassState::lost_count);
        let are_all_lost = completions == 0 && lost.sum::<u64>() >= LOST_WITHOUT_COMPLETION;
        if is_endless && (are_all_lost || self.patience.is_over(events, completions)) {
            return Err(Failure::NoCompletion);
        }
        Ok(())
    }

    /// Let a job continue whose wait is over.
    fn resume(&mut self, who: Resume) -> Result<(), Failure> {
        debug_assert_eq!(
            self.state.jobs[who.job].at, who.at,
            "it has moved while it waited"
        );
        self.state.jobs[who.job].event = NO_EVENT;
        let mut plain = self.plain();
        let next = plain.end_wait::<true>(who)?;
        plain.hold();
        if let Some(next) = next {
            self.walk(next.job, next.at)?;
            return self.settle_departure();
        }
        self.end_wait(who)
    }

    /// Let the job in a slot continue after a wait that was not a plain one.
    fn end_wait(&mut self, Resume { job, at }: Resume) -> Result<(), Failure> {
        let Step::Wait(wait) = self.steps[at as usize] else {
            unreachable!("slot {job} has an event but waits nowhere: it is at {at}");
        };
        match wait {
            Wait::Use { station, .. } | Wait::UseReserving { station, .. } => {
                if self.state.stations[station as usize].special.is_some() {
                    return self.resume_special(job, station, at);
                }
                self.end_service(job, station)?;
            }
            Wait::Delay { .. } => self.end_delay(job),
            Wait::Arrive { .. } | Wait::Await { .. } => {}
            Wait::Acquire { .. } => return self.fail_visit(job, Loss::Abandoned),
            Wait::Attempt { .. } => return self.time_out(job),
            Wait::Clock { station } => return self.end_shared_services(station),
        }
        self.walk(job, at + 1)
    }

    /// End the service of `job` at the plain `station`; the next in line, if any, begins its own.
    fn end_service(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        self.state.progress.visit_count += 1;
        self.recorder
            .note(&self.state, Kind::EndService, job, station);
        let (own, jobs, now) = self.state.at(station);
        match own.complete(now, job, jobs) {
            Some(next) => self.serve(next, station),
            None => Ok(()),
        }
    }

    /// The service of `job` at the special `station` is over, or its patience there.
    fn resume_special(&mut self, job: u32, station: u32, at: u32) -> Result<(), Failure> {
        if self.state.jobs[job].phase != Phase::Serving {
            return self.fail_visit(job, Loss::Abandoned);
        }
        self.state.progress.visit_count += 1;
        self.end_special_service(job, station, at)
    }

    /// Count the delay of `job`, which is over; a controller's belongs to no class.
    pub(in crate::simulation::kernel) fn end_delay(&mut self, job: u32) {
        let now = self.state.progress.now;
        let State { jobs, classes, .. } = &mut self.state;
        let job = &jobs[job];
        if job.role == Role::Clock {
            return;
        }
        classes[job.class as usize].add_delay(now.since(job.entered));
    }

    /// Begin the service of a job that waited at the plain `station`.
    #[inline]
    fn serve(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        self.recorder
            .note(&self.state, Kind::BeginService, job, station);
        let (_, amount) = self.used(job);
        self.schedule(job, amount)
    }

    /// Return the station that `job` uses, and the time of its service there.
    #[inline]
    pub(in crate::simulation::kernel) fn used(&self, job: u32) -> (u32, u32) {
        match self.instructions[self.state.jobs[job].at as usize] {
            Instruction::Wait(
                Wait::Use { station, amount }
                | Wait::UseReserving {
                    station, amount, ..
                },
            ) => (station, amount),
            other => unreachable!("job {job} is or will be served but is at {other:?}"),
        }
    }

    /// Begin the service of the next job at the plain `station`, one of whose servers is free.
    pub(in crate::simulation::kernel) fn serve_next(
        &mut self,
        station: u32,
    ) -> Result<(), Failure> {
        let (own, jobs, now) = self.state.at(station);
        match own.next_in_line(now, jobs) {
            Some(next) => self.serve(next, station),
            None => Ok(()),
        }
    }

    /// Let `job` continue after a time given by `amount`.
    #[inline]
    pub(in crate::simulation::kernel) fn schedule(
        &mut self,
        job: u32,
        amount: u32,
    ) -> Result<(), Failure> {
        let ticks = self.ticks(job, amount)?;
        self.schedule_after(job, ticks)?;
        Ok(())
    }

    /// Let the slot continue after `ticks`; return when that is.
    #[inline]
    pub(in crate::simulation::kernel) fn schedule_after(
        &mut self,
        slot: u32,
        ticks: u64,
    ) -> Result<SimTime, Failure> {
        let time = self
            .state
            .progress
            .now
            .after(ticks)
            .ok_or(Failure::TimeOverflow)?;
        let job = &mut self.state.jobs[slot];
        let who = Resume {
            job: slot,
            at: job.at,
        };
        job.event = self.agenda.events.schedule(time, who);
        Ok(time)
    }

    /// Let the slot wait for its event no longer.
    pub(in crate::simulation::kernel) fn cancel(&mut self, slot: u32) {
        let event = std::mem::replace(&mut self.state.jobs[slot].event, NO_EVENT);
        if event != NO_EVENT {
            self.agenda.events.cancel(event);
        }
    }

    pub(in crate::simulation::kernel) fn walk_ready(&mut self) -> Result<(), Failure> {
        while let Some(job) = self.ready.pop_front() {
            self.state.jobs[job].phase = Phase::Walking;
            self.walk(job, self.state.jobs[job].at)?;
        }
        Ok(())
    }

    /// Let `job` walk from its position on as soon as those before it have walked.
    pub(in crate::simulation::kernel) fn make_ready(&mut self, job: u32) {
        self.state.jobs[job].phase = Phase::Ready;
        self.ready.push_back(job);
    }

    #[inline]
    pub(in crate::simulation::kernel) fn count_step(&mut self) -> Result<(), Failure> {
        self.state.progress.steps_now += 1;
        if self.state.progress.steps_now > STEPS_AT_ONE_INSTANT {
            return refuse_standstill(self.state.progress.steps_now, self.state.jobs.slot_count());
        }
        Ok(())
    }

    fn refuse_deadlock(&self) -> Result<(), SimulationError> {
        match deadlock::find(self.plan, &self.state) {
            Some(found) => Err(self.report(found)),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Outcome {
        if !self.state.waits.is_empty() {
            self.note_who_waits();
        }
        self.close_segment();
        self.close_last_intervals();
        Outcome::new(
            self.plan,
            self.state,
            self.snapshots,
            self.samples,
            &self.intervals,
            &self.segments,
            &self.recorder,
        )
    }

    /// Note how long those have waited so far who are in a line at the end.
    fn note_who_waits(&mut self) {
        let State {
            stations,
            pools,
            jobs,
            waits,
            progress: Progress { now, .. },
            ..
        } = &mut self.state;
        let lines = stations.iter().map(|one| &one.line).zip(0..);
        let lines = lines.map(|(line, place)| (line, (false, place)));
        let asking = pools.iter().map(Pool::line).zip(0..);
        let asking = asking.map(|(line, place)| (line, (true, place)));
        for (line, place) in lines.chain(asking) {
            for job in line.members(jobs) {
                waits.leave(place, jobs[job].class, now.since(jobs[job].since));
            }
        }
    }

    fn report(&self, found: Deadlock) -> SimulationError {
        SimulationError::Deadlock {
            at_s: self.seconds(found.since),
            cycle: found.cycle,
        }
    }

    fn seconds(&self, time: SimTime) -> f64 {
        self.plan.unit.seconds(u128::from(time.ticks()))
    }

    /// Return which step of which program is the culprit.
    fn place(&self) -> Place {
        let site = &self.plan.sites[self.culprit.at as usize];
        let name = match site.program {
            Some(index) => self.plan.programs[index as usize].clone(),
            None => self.plan.class_at(self.culprit.at),
        };
        Place {
            name,
            step: site.step,
            is_class: site.program.is_none(),
        }
    }

    #[cold]
    fn explain(&self, failure: Failure) -> SimulationError {
        let at_s = self.seconds(self.state.progress.now);
        match failure {
            Failure::TimeOverflow | Failure::LargeDraw
                if self.sources.iter().any(Source::is_exhausted) =>
            {
                SimulationError::Exhausted { at_s }
            }
            Failure::TimeOverflow => SimulationError::TimeOverflow {
                unit: self.plan.unit.name(),
                limit_s: self.plan.unit.seconds(u128::from(u64::MAX)),
            },
            Failure::LargeDraw => SimulationError::LargeDraw {
                place: self.place(),
                step: describe(self.plan, self.culprit.at),
                at_s,
            },
            Failure::TooManyJobs => SimulationError::TooManyJobs {
                limit: JOB_LIMIT,
                at_s,
            },
            Failure::NoProgress => SimulationError::NoProgress {
                steps: self.state.progress.steps_now,
                at_s,
            },
            Failure::TooManyEvents => SimulationError::TooManyEvents {
                limit: EVENT_LIMIT / 2,
            },
            Failure::Interrupted => SimulationError::Interrupted,
            Failure::Deadlock => self.report(
                deadlock::find(self.plan, &self.state)
                    .expect("events end only where all jobs wait for each other"),
            ),
            Failure::NoCompletion => SimulationError::NoCompletion {
                events: EVENTS_WITHOUT_COMPLETION.min(self.state.progress.event_count),
                at_s,
            },
            Failure::Starved => SimulationError::Starved {
                place: self.place(),
                station: self.instructions[self.culprit.at as usize]
                    .used_station()
                    .map_or_else(String::new, |station| {
                        self.plan.stations[station as usize].name.clone()
                    }),
                at_s,
            },
            Failure::Call => {
                let step = describe(self.plan, self.culprit.at);
                self.calls.explain(self.place(), step, at_s)
            }
            Failure::Amount => SimulationError::Amount {
                place: self.place(),
                step: describe(self.plan, self.culprit.at),
                value: self.culprit.value,
                at_s,
            },
        }
    }
}

/// Refuse to continue if `steps` at one instant are too many for `slot_count` jobs.
#[cold]
pub(in crate::simulation::kernel) const fn refuse_standstill(
    steps: u64,
    slot_count: usize,
) -> Result<(), Failure> {
    if steps > STEPS_AT_ONE_INSTANT + STEPS_OF_EACH_JOB * slot_count as u64 {
        return Err(Failure::NoProgress);
    }
    Ok(())
}

/// Return how many completions there are at least between two looks at all resources of `plan`.
///
/// A look costs as much as there are resources, so a large model is looked at less often.
fn snapshot_scale(plan: &Plan) -> u64 {
    let resource_count = ((plan.stations.len() + plan.pools.len()) * plan.classes.len()) as u64;
    if resource_count < LARGE {
        return 1;
    }
    (resource_count / RESOURCES_PER_COMPLETION).next_power_of_two()
}

/// Describe the number that the instruction at `at` needs.
fn describe(plan: &Plan, at: u32) -> String {
    let of = |station: u32| &plan.stations[station as usize].name;
    match plan.instructions[at as usize] {
        Instruction::Wait(Wait::Use { station, .. } | Wait::UseReserving { station, .. }) => {
            format!("the service time at station '{}'", of(station))
        }
        Instruction::Wait(Wait::Delay { .. }) => "a delay".to_owned(),
        Instruction::Wait(Wait::Attempt { .. }) | Instruction::Act(Act::TryAgain { .. }) => {
            "a time-out".to_owned()
        }
        Instruction::Wait(Wait::Await { .. }) => "the wait for the next arrival".to_owned(),
        Instruction::Act(Act::LoopEnter { .. }) => "the rounds of a loop".to_owned(),
        Instruction::Act(Act::Set { .. }) => match plan.positioned_at(at) {
            Some(station) => format!("the position at station '{}'", of(station)),
            None => "an attribute".to_owned(),
        },
        Instruction::Act(Act::Prioritize { .. }) => "a priority".to_owned(),
        Instruction::Act(Act::Patience { .. }) => "a patience".to_owned(),
        Instruction::Act(Act::Change(Change::Servers { station, .. })) => {
            format!("the number of servers of station '{}'", of(station))
        }
        Instruction::Act(Act::Change(Change::Speed { station, .. })) => {
            format!("the speed of station '{}'", of(station))
        }
        Instruction::Act(Act::Change(Change::Tokens { pool, .. })) => {
            let pool = &plan.pools[pool as usize].name;
            format!("the number of tokens of pool '{pool}'")
        }
        Instruction::Act(Act::Choose { choice }) => {
            let count = plan.choices[choice as usize].targets.len();
            format!("the number of one of {count} cases, counted from 0,")
        }
        _ => "a step".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_a_while_after_the_last_completion() {
        let mut patience = Patience::new(100);
        assert!(!patience.is_over(99, 0));
        assert!(!patience.is_over(150, 7));
        assert!(!patience.is_over(249, 7));
        assert!(patience.is_over(250, 7));
        assert!(!patience.is_over(300, 8));
    }
}
