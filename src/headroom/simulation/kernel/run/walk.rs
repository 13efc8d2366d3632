//! The interpreter of programs: the effect of each instruction on a job.
//!
//! Invariant: a walk ends when the job waits for an event, a token, a place or other jobs, has
//! failed, or ends.

use crate::simulation::kernel::places::jobs::{NO_JOB, Phase, Role};
use crate::simulation::kernel::plan::instruction::{Act, Instruction, NO_AMOUNT, Step, Wait};
use crate::simulation::kernel::plan::program::ClassPlan;
use crate::simulation::kernel::run::engine::{Engine, Failure, Progress, State};
use crate::simulation::kernel::run::plain::Walk;
use crate::simulation::kernel::run::recorder::Kind;

impl Engine<'_> {
    /// Walk `job` from position `at` until it waits or ends.
    pub(in crate::simulation::kernel) fn walk(&mut self, job: u32, at: u32) -> Result<(), Failure> {
        match self.walk_plainly(job, at)? {
            Walk::Ended => Ok(()),
            Walk::At(job, at) => self.go_further(job, at),
        }
    }

    /// Walk `job` from position `at`, where a plain walk cannot go on.
    pub(in crate::simulation::kernel) fn go_further(
        &mut self,
        mut job: u32,
        mut at: u32,
    ) -> Result<(), Failure> {
        loop {
            let next = match self.steps[at as usize] {
                Step::Wait(wait) => self.begin_wait(job, at, wait)?,
                Step::Act(act) => self.act(job, at, act)?,
                Step::UseBounded { station, .. } => {
                    self.state.jobs[job].at = at;
                    return self.enter(job, station);
                }
                _ => Some(at),
            };
            let Some(next) = next else {
                return Ok(());
            };
            (job, at) = match self.walk_plainly(job, next)? {
                Walk::Ended => return Ok(()),
                Walk::At(job, at) => (job, at),
            };
        }
    }

    /// Walk `job` from position `at` for as long as its steps are plain.
    #[inline]
    fn walk_plainly(&mut self, job: u32, at: u32) -> Result<Walk, Failure> {
        // To borrow what plain steps touch costs as much as a step.
        match self.steps[at as usize] {
            Step::Wait(_) | Step::Act(_) => Ok(Walk::At(job, at)),
            _ => self.walk_many(job, at),
        }
    }

    #[inline(never)]
    fn walk_many(&mut self, job: u32, at: u32) -> Result<Walk, Failure> {
        self.plain().walk::<true>(job, at)
    }

    #[inline]
    fn enter_plain(&mut self, job: u32, station: u32, amount: u32) -> Result<(), Failure> {
        self.recorder.note(&self.state, Kind::Enter, job, station);
        let (own, jobs, now) = self.state.at(station);
        if own.arrive(now, job, jobs) {
            self.recorder
                .note(&self.state, Kind::BeginService, job, station);
            self.schedule(job, amount)?;
        }
        Ok(())
    }

    /// Let `job` come to `wait` at `at`; return where it walks on if it need not wait.
    #[inline(never)]
    fn begin_wait(&mut self, job: u32, at: u32, wait: Wait) -> Result<Option<u32>, Failure> {
        let goes_on = match wait {
            Wait::Use { station, amount }
            | Wait::UseReserving {
                station, amount, ..
            } => {
                self.state.jobs[job].at = at;
                if self.state.stations[station as usize].special.is_some() {
                    self.enter(job, station)?;
                } else {
                    self.enter_plain(job, station, amount)?;
                }
                false
            }
            Wait::Delay { amount } => {
                self.state.jobs[job].at = at;
                self.state.jobs[job].phase = Phase::Delayed;
                self.state.jobs[job].entered = self.state.progress.now;
                self.schedule(job, amount)?;
                false
            }
            Wait::Acquire { pool, tokens } => self.ask(job, at, pool, tokens)?,
            Wait::Attempt { attempt } => {
                let tries = self.plan.attempts[attempt as usize].tries;
                self.state.jobs.push(job, tries);
                self.begin_try(job, at, attempt)?;
                true
            }
            Wait::Arrive { process } => {
                self.wait_for_arrival(job, at, process)?;
                false
            }
            Wait::Await { goes_on, wait } => {
                self.await_arrival(job, at, goes_on, wait)?;
                false
            }
            // Jobs that are served there set it.
            Wait::Clock { .. } => false,
        };
        Ok(goes_on.then_some(at + 1))
    }

    /// Let `job` do `act` at `at`; return where it walks on, unless it ends or sleeps.
    #[inline(never)]
    fn act(&mut self, job: u32, at: u32, act: Act) -> Result<Option<u32>, Failure> {
        match act {
            Act::Choose { choice } => return self.choose(job, at, choice).map(Some),
            Act::Complete { class } => self.complete(job, class),
            Act::Begin { class } => self.begin(job, class),
            Act::Spawn { class, amount } => self.spawn(job, class, amount)?,
            Act::Release { pool, tokens } => {
                self.recorder.note(&self.state, Kind::Release, job, pool);
                self.give_back(pool, tokens);
            }
            Act::Set { attribute, amount } => {
                let value = self.number(job, at, amount)?;
                self.state.jobs.attributes_mut(job)[attribute as usize] = value;
            }
            Act::Prioritize { amount } => {
                self.state.jobs.extra_mut(job).priority = self.number(job, at, amount)?;
            }
            Act::Node => self.count_step()?,
            Act::Patience { .. } => {} // It belongs to the instruction before.
            Act::Become { class } => {
                self.state.jobs[job].class = class;
                let priority = self.plan.classes[class as usize].priority;
                self.state.jobs.extra_mut(job).priority = priority;
            }
            Act::LoopEnter { amount, exit } => {
                return self.enter_loop(job, at, amount, exit).map(Some);
            }
            Act::LoopNext { body } => {
                self.count_step()?;
                return Ok(Some(self.next_round(job, at, body)));
            }
            Act::Fork { fork } => {
                self.fork(job, fork)?;
                return Ok(self.sleep(job, at + 1));
            }
            Act::CallAndWait { entry } => {
                self.call_and_wait(job, entry)?;
                return Ok(self.sleep(job, at + 1));
            }
            Act::Join => return Ok(self.sleep(job, at)),
            Act::Start { entry } => {
                let started = self.start_child(job, entry, Role::Detached)?;
                self.state.jobs.push(started, self.plan.last_return);
            }
            Act::Reply => self.reply(job)?,
            Act::TryAgain { attempt } => {
                self.begin_try(job, at, attempt)?;
                return Ok(Some(self.plan.attempts[attempt as usize].work));
            }
            Act::AttemptEnd => {
                self.drop_guard(job);
                self.state.jobs.pop(job);
            }
            Act::Change(change) => self.change(job, at, change)?,
            Act::ArmEnd => {
                self.reply(job)?;
                self.state.jobs.end(job);
                return Ok(None);
            }
            Act::Exit => {
                self.state.jobs.end(job);
                return Ok(None);
            }
        }
        Ok(Some(at + 1))
    }

    /// Let `job` request tokens, as long as it has patience; return whether it has them.
    fn ask(&mut self, job: u32, at: u32, pool: u32, tokens: u32) -> Result<bool, Failure> {
        let is_granted = self.acquire(job, at, pool, tokens);
        if !is_granted {
            let patience = self.patience(job, at)?;
            self.limit_wait(job, patience)?;
        }
        Ok(is_granted)
    }

    /// Let `job` request tokens; return whether it has them.
    fn acquire(&mut self, job: u32, at: u32, pool: u32, tokens: u32) -> bool {
        self.state.jobs[job].at = at;
        let State {
            pools,
            jobs,
            requests,
            waits,
            progress: Progress { now, .. },
            ..
        } = &mut self.state;
        let cell = requests.cell(pool, jobs[job].class);
        let is_granted = pools[pool as usize].acquire(*now, job, tokens, jobs, cell);
        if is_granted && !waits.is_empty() {
            waits.grant(pool, jobs[job].class, 0, *now);
        }
        let kind = if is_granted { Kind::Grant } else { Kind::Ask };
        self.recorder.note(&self.state, kind, job, pool);
        is_granted
    }

    /// Return the pool that `job` waits for, and how many of its tokens.
    pub(in crate::simulation::kernel) fn asked(&self, job: u32) -> (u32, u32) {
        match self.instructions[self.state.jobs[job].at as usize] {
            Instruction::Wait(Wait::Acquire { pool, tokens }) => (pool, tokens),
            other => unreachable!("job {job} waits for a pool but is at {other:?}"),
        }
    }

    /// Take tokens back and grant the waiting requests.
    pub(in crate::simulation::kernel) fn give_back(&mut self, pool: u32, tokens: u32) {
        self.state.pools[pool as usize].release(self.state.progress.now, tokens);
        self.grant_waiting(pool);
    }

    /// Grant requests from the head of the line while tokens last.
    pub(in crate::simulation::kernel) fn grant_waiting(&mut self, pool: u32) {
        while let Some(job) = self.state.pools[pool as usize].line().first() {
            let (_, tokens) = self.asked(job);
            let State {
                pools,
                jobs,
                requests,
                waits,
                progress: Progress { now, .. },
                ..
            } = &mut self.state;
            if !pools[pool as usize].grant_first(*now, pool, tokens, jobs, requests) {
                break;
            }
            if !waits.is_empty() {
                let (class, waited) = (jobs[job].class, now.since(jobs[job].since));
                waits.leave((true, pool), class, waited);
                waits.grant(pool, class, waited, *now);
            }
            jobs[job].at += 1;
            self.cancel(job);
            self.recorder.note(&self.state, Kind::Grant, job, pool);
            self.make_ready(job);
        }
    }

    fn enter_loop(&mut self, job: u32, at: u32, amount: u32, exit: u32) -> Result<u32, Failure> {
        match self.count(job, at, amount)? {
            0 => Ok(exit),
            rounds => {
                self.state.jobs.push(job, rounds);
                Ok(at + 1)
            }
        }
    }

    #[inline]
    fn next_round(&mut self, job: u32, at: u32, body: u32) -> u32 {
        if self.state.jobs.count_down(job) > 0 {
            return body;
        }
        self.state.jobs.pop(job);
        at + 1
    }

    /// Let `job` sleep at the join at `at`; other jobs wake it.
    fn sleep(&mut self, job: u32, at: u32) -> Option<u32> {
        let sleeping = &mut self.state.jobs[job];
        (sleeping.at, sleeping.phase) = (at, Phase::Joining);
        sleeping.entered = self.state.progress.now;
        None
    }

    /// Start a job in each arm; `job` will wait for as many as the fork requires.
    fn fork(&mut self, job: u32, fork: u32) -> Result<(), Failure> {
        let plan = &self.plan.forks[fork as usize];
        self.state.jobs.push(job, plan.quorum);
        for &entry in &plan.arms {
            self.start_child(job, entry, Role::Arm)?;
        }
        Ok(())
    }

    /// Let another job walk from `entry` with the attributes of `job`.
    fn start_child(&mut self, job: u32, entry: u32, role: Role) -> Result<u32, Failure> {
        let class = self.state.jobs[job].class;
        let child = self.start_job(entry, class, role)?;
        self.state.jobs.inherit(child, job);
        if role != Role::Detached {
            self.state.jobs.adopt(job, child);
        }
        Ok(child)
    }

    fn call_and_wait(&mut self, job: u32, entry: u32) -> Result<(), Failure> {
        self.count_step()?;
        self.state.jobs.push(job, 1);
        let callee = self.start_child(job, entry, Role::Callee)?;
        self.state.jobs.push(callee, self.plan.last_return);
        Ok(())
    }

    /// Notify the parent, if one waits for `job`, that it need not wait any longer.
    ///
    /// A callee hands back the attributes.
    fn reply(&mut self, job: u32) -> Result<(), Failure> {
        let parent = self.state.jobs[job].parent;
        if parent == NO_JOB {
            return Ok(());
        }
        if self.state.jobs[job].role == Role::Callee {
            let priority = self.state.jobs.extra(parent).priority;
            self.state.jobs.inherit(parent, job);
            self.state.jobs.extra_mut(parent).priority = priority;
        }
        self.state.jobs.release(job);
        self.state.jobs[job].role = Role::Detached;
        if self.state.jobs.count_down(parent) == 0 {
            self.end_join(parent)?;
        }
        Ok(())
    }

    /// Let `parent`, which waits for no more jobs, continue.
    fn end_join(&mut self, parent: u32) -> Result<(), Failure> {
        self.state.jobs.pop(parent);
        let now = self.state.progress.now;
        let State { jobs, classes, .. } = &mut self.state;
        let waited = now.since(jobs[parent].entered);
        classes[jobs[parent].class as usize].add_join(waited);
        let at = jobs[parent].at;
        if let Instruction::Act(Act::Fork { fork }) = self.instructions[at as usize - 1] {
            self.leave_arms(parent, fork)?;
            self.work_off_changes()?;
        }
        self.state.jobs[parent].at = at + 1;
        self.make_ready(parent);
        Ok(())
    }

    /// Settle the arms that `parent` no longer waits for.
    fn leave_arms(&mut self, parent: u32, fork: u32) -> Result<(), Failure> {
        let is_cancelling = self.plan.forks[fork as usize].is_cancelling;
        loop {
            let arm = self.state.jobs.extra(parent).first_child;
            if arm == NO_JOB {
                return Ok(());
            }
            if is_cancelling {
                self.kill(arm)?;
            } else {
                self.state.jobs.release(arm);
                self.state.jobs[arm].role = Role::Detached;
            }
        }
    }

    #[inline]
    fn begin(&mut self, job: u32, class: u32) {
        self.state.jobs[job].arrived = self.state.progress.now;
        self.state.classes[class as usize].begin(self.state.progress.now);
        self.recorder.note(&self.state, Kind::Begin, job, 0);
    }

    #[inline]
    fn complete(&mut self, job: u32, class: u32) {
        let arrived = self.state.jobs[job].arrived;
        self.recorder.note(&self.state, Kind::Complete, job, 0);
        self.state.classes[class as usize].complete(self.state.progress.now, arrived);
        self.state.progress.completion_count += 1;
    }

    fn spawn(&mut self, source: u32, class: u32, amount: u32) -> Result<(), Failure> {
        let entry = self.plan.classes[class as usize].begin;
        let count = if amount == NO_AMOUNT {
            1
        } else {
            self.count(source, entry, amount)?
        };
        for _ in 0..count {
            let job = self.start_job(entry, class, Role::Root)?;
            self.state.jobs.inherit_attributes(job, source);
        }
        Ok(())
    }

    /// Let the source wait for the next arrival of its process; it ends with the process.
    fn wait_for_arrival(&mut self, source: u32, at: u32, process: u32) -> Result<(), Failure> {
        let now = self.state.progress.now;
        let arrivals = &mut self.arrivals[process as usize];
        let Some(next) = arrivals.next(now) else {
            self.state.jobs.end(source);
            return Ok(());
        };
        let values = arrivals.attributes();
        for (&attribute, &value) in self.plan.processes[process as usize]
            .attributes
            .iter()
            .zip(values)
        {
            self.state.jobs.attributes_mut(source)[attribute as usize] = value;
        }
        self.state.jobs[source].at = at;
        self.state.jobs[source].phase = Phase::Delayed;
        self.schedule_after(source, next.since(now))?;
        Ok(())
    }

    /// Let the source wait for the next arrival that it computes; it ends with the arrivals.
    fn await_arrival(
        &mut self,
        source: u32,
        at: u32,
        goes_on: u32,
        wait: u32,
    ) -> Result<(), Failure> {
        if goes_on != NO_AMOUNT && self.number(source, at, goes_on)? == 0.0 {
            self.state.jobs.end(source);
            return Ok(());
        }
        self.state.jobs[source].at = at;
        self.state.jobs[source].phase = Phase::Delayed;
        self.schedule(source, wait)
    }

    /// Bring the jobs of a class to their positions at time zero.
    pub(in crate::simulation::kernel) fn start_class(
        &mut self,
        index: u32,
        class: &ClassPlan,
    ) -> Result<(), Failure> {
        for &(at, count) in &class.placed {
            for _ in 0..count {
                let job = self.start_job(at, index, Role::Root)?;
                self.begin(job, index);
                self.state.jobs.push(job, class.begin + 2);
            }
        }
        for _ in 0..class.initial {
            self.start_job(class.begin, index, Role::Root)?;
        }
        let role = if class.population.is_some() {
            Role::Root
        } else {
            Role::Clock
        };
        for _ in 0..class.starting {
            self.start_job(class.entry, index, role)?;
        }
        Ok(())
    }

    /// Start a job, which walks as soon as those before it have walked.
    pub(in crate::simulation::kernel) fn start_job(
        &mut self,
        at: u32,
        class: u32,
        role: Role,
    ) -> Result<u32, Failure> {
        let job = self.new_job(at, class, role)?;
        self.make_ready(job);
        Ok(job)
    }

    /// Take a slot for a job that waits to be started.
    pub(in crate::simulation::kernel) fn new_job(
        &mut self,
        at: u32,
        class: u32,
        role: Role,
    ) -> Result<u32, Failure> {
        let priority = self.plan.classes[class as usize].priority;
        self.state
            .jobs
            .start(at, class, role, priority)
            .ok_or(Failure::TooManyJobs)
    }
}
