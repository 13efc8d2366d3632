//! The event loop: takes the earliest event and walks its job on until it waits again.
//!
//! An event says only which job goes on. The job's position tells what it waited for: a service
//! that ends now, a delay that is over. Jobs that others set going at the same instant (granted
//! tokens, forked arms, new arrivals) walk on in the order in which they were set going.
//!
//! Invariant: between two events every job stands at a use, a delay, an acquire or a join.

use std::collections::VecDeque;

use super::classes::ClassState;
use super::deadlock::{self, Deadlock};
use super::error::SimulationError;
use super::event_queue::{EVENT_LIMIT, EventQueue, JOB_LIMIT};
use super::invariants;
use super::jobs::{Jobs, NO_JOB};
use super::program::{Branch, Instruction, Plan, Source};
use super::resources::{Pool, Station};
use super::result::{Outcome, row};
use super::snapshots::Snapshots;
use super::time::SimTime;

/// Events between two looks at what is rare: deadlock of a part, the range of the counters, the
/// caller's wish to stop.
const EVENTS_PER_CHECK: u64 = 1 << 20;
/// Steps at one instant after which a model is held to go round in circles, with
/// [`STEPS_OF_EACH_JOB`] more for each job.
const STEPS_AT_ONE_INSTANT: u64 = 10_000_000;
/// Steps that every job may take at one instant.
const STEPS_OF_EACH_JOB: u64 = 100;

/// Run `plan` with `seed`.
///
/// `is_wanted` is asked now and then; the run stops where it answers no.
///
/// # Errors
///
/// Fails on a deadlock, on time or numbers beyond their range, where simulated time stands still
/// and where the caller stops it.
///
/// # Panics
///
/// Panics where a conservation law is broken: a bug in the kernel.
pub fn run(
    plan: &Plan,
    seed: u64,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<Outcome, SimulationError> {
    let mut engine = Engine::new(plan, seed);
    engine.start().map_err(|failure| engine.explain(failure))?;
    engine
        .go_on(is_wanted)
        .map_err(|failure| engine.explain(failure))?;
    engine.refuse_deadlock()?;
    invariants::check(&engine.state, plan);
    Ok(Outcome::new(plan, engine.state, engine.snapshots))
}

/// Everything that changes during a run and is reported or checked at its end.
pub struct State {
    /// Simulated time.
    pub now: SimTime,
    /// All jobs.
    pub jobs: Jobs,
    /// All stations.
    pub stations: Vec<Station>,
    /// All pools.
    pub pools: Vec<Pool>,
    /// All classes.
    pub classes: Vec<ClassState>,
    /// Completed jobs, all classes together.
    pub completion_count: u64,
    /// Completed station visits.
    pub visit_count: u64,
    /// Events.
    pub event_count: u64,
}

/// Why the walk cannot go on; [`Engine::explain`] makes a message of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    TimeOverflow,
    TooManyJobs,
    NoProgress,
    TooManyEvents,
    Interrupted,
    Deadlock,
}

pub(super) struct Engine<'plan> {
    pub(super) plan: &'plan Plan,
    pub(super) instructions: &'plan [Instruction],
    pub(super) state: State,
    events: EventQueue,
    pub(super) ready: VecDeque<u32>,
    pub(super) sources: Vec<Source>,
    pub(super) branches: Vec<Branch>,
    steps_now: u64,
    snapshots: Snapshots,
}

impl<'plan> Engine<'plan> {
    fn new(plan: &'plan Plan, seed: u64) -> Self {
        Self {
            plan,
            instructions: &plan.instructions,
            state: State {
                now: SimTime::ZERO,
                jobs: Jobs::new(plan.stack_slots),
                stations: plan
                    .stations
                    .iter()
                    .map(|s| Station::new(s.capacity))
                    .collect(),
                pools: plan.pools.iter().map(|p| Pool::new(p.capacity)).collect(),
                classes: plan.classes.iter().map(|_| ClassState::new()).collect(),
                completion_count: 0,
                visit_count: 0,
                event_count: 0,
            },
            events: EventQueue::default(),
            ready: VecDeque::new(),
            sources: plan
                .sources
                .iter()
                .map(|source| Source::new(source, seed))
                .collect(),
            branches: plan
                .branches
                .iter()
                .map(|branch| Branch::new(branch, seed))
                .collect(),
            steps_now: 0,
            snapshots: Snapshots::new(),
        }
    }

    /// Start the populations of closed classes and the sources of open ones.
    fn start(&mut self) -> Result<(), Failure> {
        for (index, class) in (0..).zip(&self.plan.classes) {
            for _ in 0..class.population.unwrap_or(1) {
                self.start_job(class.entry, index, NO_JOB)?;
            }
        }
        self.walk_ready()
    }

    /// Take events until a limit is reached.
    fn go_on(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<(), Failure> {
        let limits = self.plan.limits;
        while self.state.completion_count < limits.completions {
            let Some((time, job)) = self.events.take() else {
                return Err(Failure::Deadlock);
            };
            if time > limits.time {
                self.state.now = limits.time;
                break;
            }
            if time > self.state.now {
                self.state.now = time;
                self.steps_now = 0;
            }
            self.count_step()?;
            self.state.event_count += 1;
            self.resume(job)?;
            if !self.ready.is_empty() {
                self.walk_ready()?;
            }
            if self.snapshots.is_due(self.state.completion_count) {
                self.take_snapshot();
            }
            if self.state.event_count % EVENTS_PER_CHECK == 0 {
                self.check_rarely(is_wanted)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn take_snapshot(&mut self) {
        let row = row(&self.state);
        self.snapshots
            .take(self.state.now, self.state.completion_count, row);
    }

    #[cold]
    fn check_rarely(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<(), Failure> {
        if !is_wanted() {
            return Err(Failure::Interrupted);
        }
        if self.events.scheduled_count() > EVENT_LIMIT / 2 {
            return Err(Failure::TooManyEvents);
        }
        if deadlock::find(self.plan, &self.state).is_some() {
            return Err(Failure::Deadlock);
        }
        Ok(())
    }

    /// Let `job` go on: what it waited for at its position is over.
    #[inline]
    fn resume(&mut self, job: u32) -> Result<(), Failure> {
        let at = self.state.jobs[job].at;
        if let Instruction::Use { station, .. } = self.instructions[at as usize] {
            let State {
                stations,
                jobs,
                now,
                visit_count,
                ..
            } = &mut self.state;
            *visit_count += 1;
            if let Some(next) = stations[station as usize].complete(*now, job, jobs) {
                self.serve(next)?;
            }
        }
        self.walk(job, at + 1)
    }

    /// Begin the service of a job that waited at a station.
    #[inline]
    fn serve(&mut self, job: u32) -> Result<(), Failure> {
        let at = self.state.jobs[job].at;
        match self.instructions[at as usize] {
            Instruction::Use { source, .. } => self.schedule(job, source),
            other => unreachable!("job {job} waits at a station but stands at {other:?}"),
        }
    }

    /// Let `job` go on after a time drawn from `source`.
    #[inline]
    pub(super) fn schedule(&mut self, job: u32, source: u32) -> Result<(), Failure> {
        let ticks = self.sources[source as usize].draw();
        let time = self.state.now.after(ticks).ok_or(Failure::TimeOverflow)?;
        self.events.schedule(time, job);
        Ok(())
    }

    fn walk_ready(&mut self) -> Result<(), Failure> {
        while let Some(job) = self.ready.pop_front() {
            self.walk(job, self.state.jobs[job].at)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn count_step(&mut self) -> Result<(), Failure> {
        self.steps_now += 1;
        if self.steps_now > STEPS_AT_ONE_INSTANT {
            return self.refuse_standstill();
        }
        Ok(())
    }

    #[cold]
    fn refuse_standstill(&self) -> Result<(), Failure> {
        let job_count = self.state.jobs.slot_count() as u64;
        if self.steps_now > STEPS_AT_ONE_INSTANT + STEPS_OF_EACH_JOB * job_count {
            return Err(Failure::NoProgress);
        }
        Ok(())
    }

    fn refuse_deadlock(&self) -> Result<(), SimulationError> {
        match deadlock::find(self.plan, &self.state) {
            Some(found) => Err(self.report(found)),
            None => Ok(()),
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

    #[cold]
    fn explain(&self, failure: Failure) -> SimulationError {
        let at_s = self.seconds(self.state.now);
        match failure {
            Failure::TimeOverflow => SimulationError::TimeOverflow {
                unit: self.plan.unit.name(),
                limit_s: self.plan.unit.seconds(u128::from(u64::MAX)),
            },
            Failure::TooManyJobs => SimulationError::TooManyJobs {
                limit: JOB_LIMIT,
                at_s,
            },
            Failure::NoProgress => SimulationError::NoProgress {
                steps: self.steps_now,
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
        }
    }
}
