//! Giving up: time-outs, visits rejected by a full station, fork branches that no job waits for.
//!
//! A failed try returns the job to its attempt: its current wait is abandoned, the jobs that it
//! waited for are ended, and the tokens acquired since then are released. A failure outside of any
//! attempt goes to the job that waits for this one; if there is none, the job is lost. So does that
//! of the last try of an attempt that says nothing about it.
//!
//! Invariant: a job that ends here is in no line and has no event.

use crate::simulation::kernel::places::jobs::{NO_JOB, NO_STATION, NO_WORK, Phase, Role};
use crate::simulation::kernel::plan::instruction::{Instruction, NO_AMOUNT, Wait};
use crate::simulation::kernel::run::engine::{Engine, Failure, Progress, State};
use crate::simulation::kernel::run::holdings;
use crate::simulation::kernel::run::recorder::Kind;
use crate::simulation::kernel::statistics::classes::Loss;

impl Engine<'_> {
    /// Guard the next try of `attempt`, which `job` begins.
    pub(in crate::simulation::kernel) fn begin_try(
        &mut self,
        job: u32,
        at: u32,
        attempt: u32,
    ) -> Result<(), Failure> {
        let plan = &self.plan.attempts[attempt as usize];
        self.state.jobs[job].at = at;
        let class = self.state.jobs[job].class;
        let guard = self.new_job(plan.work - 1, class, Role::Guard)?;
        let jobs = &mut self.state.jobs;
        jobs[guard].parent = job;
        jobs[guard].depth = jobs[job].depth;
        jobs[guard].next = jobs.extra(job).guard;
        jobs[guard].phase = Phase::Delayed;
        jobs.extra_mut(job).guard = guard;
        if plan.timeout != NO_AMOUNT {
            let ticks = self.ticks(job, plan.timeout)?;
            self.schedule_after(guard, ticks)?;
        }
        Ok(())
    }

    /// End the innermost guard of `job`.
    pub(in crate::simulation::kernel) fn drop_guard(&mut self, job: u32) {
        let guard = self.state.jobs.extra(job).guard;
        self.cancel(guard);
        let outer = self.state.jobs[guard].next;
        self.state.jobs.extra_mut(job).guard = outer;
        self.state.jobs.end(guard);
    }

    /// The time of a try is over.
    pub(in crate::simulation::kernel) fn time_out(&mut self, guard: u32) -> Result<(), Failure> {
        let job = self.state.jobs[guard].parent;
        self.fail_attempt(job, guard)
    }

    /// `job` was refused by a station, its patience is over, or its last try has failed.
    pub(in crate::simulation::kernel) fn fail_visit(
        &mut self,
        job: u32,
        why: Loss,
    ) -> Result<(), Failure> {
        let mut who = job;
        loop {
            let guard = self.state.jobs.extra(who).guard;
            if guard != NO_JOB {
                return self.fail_attempt(who, guard);
            }
            let parent = self.state.jobs[who].parent;
            if parent == NO_JOB {
                return self.lose(who, why);
            }
            who = parent;
        }
    }

    /// Take `job` back to the attempt of `guard`.
    fn fail_attempt(&mut self, job: u32, guard: u32) -> Result<(), Failure> {
        self.count_step()?;
        self.recorder.note(&self.state, Kind::Fail, job, 0);
        let held = holdings::of_job(self.plan, &self.state.jobs, job);
        self.withdraw(job)?;
        let (at, depth) = (self.state.jobs[guard].at, self.state.jobs[guard].depth);
        while self.state.jobs.extra(job).guard != guard {
            self.drop_guard(job);
        }
        self.drop_guard(job);
        self.state.jobs[job].depth = depth;
        let before = {
            let stack = self.state.jobs.stack(job);
            holdings::at(self.plan, &stack[..stack.len() - 1], at)
        };
        self.give_back_since(job, &held, &before);
        let class = self.state.jobs[job].class;
        self.state.classes[class as usize].count_failed_try();
        let Instruction::Wait(Wait::Attempt { attempt }) = self.instructions[at as usize] else {
            unreachable!("a guard is always at an attempt");
        };
        let plan = &self.plan.attempts[attempt as usize];
        if self.state.jobs.count_down(job) > 0 {
            self.state.jobs[job].at = plan.again;
        } else {
            self.state.jobs.pop(job);
            let Some(failed) = plan.failed else {
                self.state.jobs[job].at = at;
                return self.fail_visit(job, Loss::Failed);
            };
            self.state.jobs[job].at = failed;
        }
        self.make_ready(job);
        self.work_off_changes()
    }

    /// `job`, which no other job waits for, has failed where no attempt goes on.
    fn lose(&mut self, job: u32, why: Loss) -> Result<(), Failure> {
        if self.state.jobs[job].role != Role::Root {
            self.kill(job)?;
            return self.work_off_changes();
        }
        self.count_step()?;
        self.recorder.note(&self.state, Kind::Lose, job, 0);
        let held = holdings::of_job(self.plan, &self.state.jobs, job);
        self.withdraw(job)?;
        self.give_back_since(job, &held, &[]);
        let State {
            jobs,
            classes,
            progress: Progress { now, .. },
            ..
        } = &mut self.state;
        let class = jobs[job].class as usize;
        classes[class].lose(*now, jobs[job].arrived, why);
        if self.plan.classes[class].population.is_some() {
            jobs[job].depth = 0;
            jobs[job].at = self.plan.classes[class].home;
            self.make_ready(job);
        } else {
            jobs.end(job);
        }
        self.work_off_changes()
    }

    /// End `job`, wherever it is, and all jobs that it waits for.
    pub(in crate::simulation::kernel) fn kill(&mut self, job: u32) -> Result<(), Failure> {
        self.recorder.note(&self.state, Kind::Lose, job, 0);
        let held = holdings::of_job(self.plan, &self.state.jobs, job);
        self.withdraw(job)?;
        while self.state.jobs.extra(job).guard != NO_JOB {
            self.drop_guard(job);
        }
        self.give_back_since(job, &held, &[]);
        if self.state.jobs[job].parent != NO_JOB {
            self.state.jobs.release(job);
        }
        self.state.jobs.end(job);
        Ok(())
    }

    /// Release the tokens of `job` beyond those held `before`.
    fn give_back_since(&mut self, job: u32, held: &[(u32, u32)], before: &[(u32, u32)]) {
        for &(pool, tokens) in held {
            let kept = before
                .iter()
                .find(|entry| entry.0 == pool)
                .map_or(0, |entry| entry.1);
            if tokens > kept {
                self.recorder.note(&self.state, Kind::Release, job, pool);
                self.give_back(pool, tokens - kept);
            }
        }
    }

    /// Take `job` out of whatever it waits for.
    fn withdraw(&mut self, job: u32) -> Result<(), Failure> {
        match self.state.jobs[job].phase {
            Phase::Waiting => {
                self.cancel(job);
                self.leave_line(job, self.used(job).0);
            }
            Phase::Serving => self.leave_server(job, self.used(job).0)?,
            Phase::Blocked => {
                self.cancel(job);
                self.leave_entry(job, self.used(job).0);
                self.leave_behind(job);
            }
            Phase::Reserving => {
                let at = self.state.jobs[job].at as usize;
                if let Instruction::Wait(Wait::UseReserving { next, .. }) = self.instructions[at] {
                    self.leave_entry(job, next);
                }
                let (station, _) = self.used(job);
                self.end_holding(job, station, self.state.jobs[job].class);
                self.abandon(job, station);
            }
            Phase::Delayed => {
                self.cancel(job);
                self.end_delay(job);
            }
            Phase::Asking => {
                self.cancel(job);
                self.stop_asking(job);
            }
            Phase::Joining => self.end_children(job)?,
            Phase::Ready => self.ready.retain(|&one| one != job),
            Phase::Walking | Phase::Vacant => {}
        }
        self.state.jobs[job].phase = Phase::Walking;
        let extra = self.state.jobs.extra_mut(job);
        extra.remaining = NO_WORK;
        let reserved = std::mem::replace(&mut extra.reserved, NO_STATION);
        if reserved != NO_STATION {
            self.station(reserved).special().reserved -= 1;
            self.agenda.changed.push(reserved);
        }
        Ok(())
    }

    fn leave_line(&mut self, job: u32, station: u32) {
        let State {
            stations,
            jobs,
            waits,
            progress: Progress { now, .. },
            ..
        } = &mut self.state;
        let own = &mut stations[station as usize];
        own.advance(*now);
        own.line.remove(jobs, job);
        own.visits(jobs[job].class)
            .leave_queue(*now, jobs[job].since);
        own.rarer(jobs[job].class).leave_line(*now, jobs[job].since);
        waits.leave(
            (false, station),
            jobs[job].class,
            now.since(jobs[job].since),
        );
        self.abandon(job, station);
    }

    fn leave_entry(&mut self, job: u32, station: u32) {
        let State { stations, jobs, .. } = &mut self.state;
        stations[station as usize].special().entry.remove(jobs, job);
    }

    fn leave_server(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        self.recorder
            .note(&self.state, Kind::Interrupt, job, station);
        let now = self.state.progress.now;
        let own = self.station(station);
        own.advance(now);
        let Some(special) = &mut own.special else {
            self.cancel(job);
            self.abandon(job, station);
            return self.serve_next(station);
        };
        if let Some(sharing) = &mut special.sharing {
            sharing.remove(now, job);
            own.busy = sharing.busy();
            self.abandon(job, station);
            return self.set_clock(station);
        }
        if special.batch.is_some() {
            return self.leave_batch(job, station);
        }
        self.cancel(job);
        self.free_server(job, station);
        self.abandon(job, station);
        Ok(())
    }

    /// Take `job` out of the batch in which it is served; the others continue.
    fn leave_batch(&mut self, job: u32, station: u32) -> Result<(), Failure> {
        self.abandon(job, station);
        let special = self.station(station).special();
        let Some(mut members) = special.batches.remove(&job) else {
            for members in special.batches.values_mut() {
                members.retain(|&one| one != job);
            }
            return Ok(());
        };
        self.cancel(job);
        if members.is_empty() {
            self.free_server(job, station);
            return Ok(());
        }
        let leader = members.remove(0);
        let (finish, server) = {
            let extra = self.state.jobs.extra(job);
            (extra.finish, extra.server)
        };
        let extra = self.state.jobs.extra_mut(leader);
        (extra.finish, extra.server) = (finish, server);
        let special = self.station(station).special();
        special.batches.insert(leader, members);
        for one in &mut special.serving {
            if *one == job {
                *one = leader;
            }
        }
        let left = finish.since(self.state.progress.now);
        self.schedule_after(leader, left)?;
        Ok(())
    }

    /// Count the visit of `job` at `station` as given up.
    fn abandon(&mut self, job: u32, station: u32) {
        let (own, jobs, now) = self.state.at(station);
        own.advance(now);
        own.present -= 1;
        let (class, entered) = (jobs[job].class, jobs[job].entered);
        own.visits(class).leave(entered);
        own.rarer(class).abandon(now, entered);
        self.agenda.changed.push(station);
    }

    fn stop_asking(&mut self, job: u32) {
        let (pool, _) = self.asked(job);
        let State {
            pools,
            jobs,
            requests,
            waits,
            progress: Progress { now, .. },
            ..
        } = &mut self.state;
        let cell = requests.cell(pool, jobs[job].class);
        pools[pool as usize].give_up(*now, job, jobs, cell);
        waits.leave((true, pool), jobs[job].class, now.since(jobs[job].since));
        self.grant_waiting(pool);
    }

    fn end_children(&mut self, job: u32) -> Result<(), Failure> {
        let now = self.state.progress.now;
        let State { jobs, classes, .. } = &mut self.state;
        let waited = now.since(jobs[job].entered);
        classes[jobs[job].class as usize].add_join(waited);
        loop {
            let child = self.state.jobs.extra(job).first_child;
            if child == NO_JOB {
                return Ok(());
            }
            self.kill(child)?;
        }
    }
}
