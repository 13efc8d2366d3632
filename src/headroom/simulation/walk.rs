//! The interpreter of programs: what each instruction does to a job.
//!
//! Invariant: a walk ends where the job waits for an event, a token or its arms, or where it ends.

use super::engine::{Engine, Failure, State};
use super::jobs::NO_JOB;
use super::program::Instruction;

impl Engine<'_> {
    /// Walk `job` from position `at` until it waits or ends.
    #[inline]
    pub(super) fn walk(&mut self, mut job: u32, mut at: u32) -> Result<(), Failure> {
        loop {
            match self.instructions[at as usize] {
                Instruction::Use { station, source } => {
                    let State {
                        stations,
                        jobs,
                        now,
                        ..
                    } = &mut self.state;
                    jobs[job].at = at;
                    if stations[station as usize].arrive(*now, job, jobs) {
                        self.schedule(job, source)?;
                    }
                    return Ok(());
                }
                Instruction::Delay { source } => {
                    self.state.jobs[job].at = at;
                    return self.schedule(job, source);
                }
                Instruction::Acquire { pool, tokens } => {
                    let State {
                        pools, jobs, now, ..
                    } = &mut self.state;
                    jobs[job].at = at;
                    if !pools[pool as usize].acquire(*now, job, tokens, jobs) {
                        return Ok(());
                    }
                    at += 1;
                }
                Instruction::Release { pool, tokens } => {
                    self.state.pools[pool as usize].release(self.state.now, tokens);
                    self.grant_waiting(pool);
                    at += 1;
                }
                Instruction::Branch { table } => at = self.branches[table as usize].draw(),
                Instruction::Jump { to } => at = to,
                Instruction::LoopEnter { source, exit } => {
                    at = self.enter_loop(job, at, source, exit);
                }
                Instruction::LoopNext { body } => {
                    self.count_step()?;
                    at = self.next_round(job, at, body);
                }
                Instruction::Fork { first, count } => {
                    self.state.jobs[job].at = at + 1;
                    return self.fork(job, first, count);
                }
                Instruction::ArmEnd => match self.end_arm(job) {
                    Some(parent) => {
                        job = parent;
                        at = self.state.jobs[parent].at + 1;
                    }
                    None => return Ok(()),
                },
                Instruction::Call { entry } => {
                    self.count_step()?;
                    self.state.jobs.push(job, at + 1);
                    at = entry;
                }
                Instruction::Return => at = self.state.jobs.pop(job),
                Instruction::Begin { class } => {
                    self.state.jobs[job].arrived = self.state.now;
                    self.state.classes[class as usize].begin(self.state.now);
                    at += 1;
                }
                Instruction::Complete { class } => {
                    self.complete(job, class);
                    at += 1;
                }
                Instruction::Spawn { class, entry } => {
                    self.start_job(entry, class, NO_JOB)?;
                    at += 1;
                }
                Instruction::Exit => {
                    self.state.jobs.end(job);
                    return Ok(());
                }
                Instruction::Join => unreachable!("job {job} walks into a join"),
            }
        }
    }

    /// Grant requests from the head of the queue while tokens last.
    fn grant_waiting(&mut self, pool: u32) {
        let State {
            pools, jobs, now, ..
        } = &mut self.state;
        let pool = &mut pools[pool as usize];
        while let Some(job) = pool.waiting().first() {
            let tokens = match self.instructions[jobs[job].at as usize] {
                Instruction::Acquire { tokens, .. } => tokens,
                other => unreachable!("job {job} waits for a pool but stands at {other:?}"),
            };
            if !pool.grant_first(*now, tokens, jobs) {
                break;
            }
            jobs[job].at += 1;
            self.ready.push_back(job);
        }
    }

    fn enter_loop(&mut self, job: u32, at: u32, source: u32, exit: u32) -> u32 {
        match self.sources[source as usize].draw() {
            0 => exit,
            rounds => {
                self.state
                    .jobs
                    .push(job, u32::try_from(rounds).unwrap_or(u32::MAX));
                at + 1
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

    /// Start a job in each arm; `job` waits for all of them.
    fn fork(&mut self, job: u32, first: u32, count: u32) -> Result<(), Failure> {
        self.state.jobs.push(job, count);
        let class = self.state.jobs[job].class;
        let arms = first as usize..(first + count) as usize;
        for &entry in &self.plan.arms[arms] {
            self.start_job(entry, class, job)?;
        }
        Ok(())
    }

    /// End an arm; return the parent if it was the last one.
    fn end_arm(&mut self, job: u32) -> Option<u32> {
        let parent = self.state.jobs[job].parent;
        self.state.jobs.end(job);
        if self.state.jobs.count_down(parent) > 0 {
            return None;
        }
        self.state.jobs.pop(parent);
        Some(parent)
    }

    #[inline]
    fn complete(&mut self, job: u32, class: u32) {
        let arrived = self.state.jobs[job].arrived;
        self.state.classes[class as usize].complete(self.state.now, arrived);
        self.state.completion_count += 1;
    }

    /// Start a job, which walks as soon as those before it have walked.
    pub(super) fn start_job(&mut self, at: u32, class: u32, parent: u32) -> Result<(), Failure> {
        let job = self
            .state
            .jobs
            .start(at, class, parent)
            .ok_or(Failure::TooManyJobs)?;
        self.ready.push_back(job);
        Ok(())
    }
}
