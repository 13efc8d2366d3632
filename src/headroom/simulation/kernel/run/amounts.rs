//! Durations, counts and values: drawn from a source, or computed for the requesting job.

use crate::simulation::kernel::plan::choice::{Rule, Target};
use crate::simulation::kernel::plan::expression::{self, Op};
use crate::simulation::kernel::plan::instruction::COMPUTED;
use crate::simulation::kernel::run::engine::{Culprit, Engine, Failure, State};
use crate::simulation::kernel::time::{BEYOND, TICKS_PER_UNIT, nearest, whole_ticks};

/// Largest number of servers or tokens.
const CAPACITY_LIMIT: u32 = (1 << 24) - 1;

impl Engine<'_> {
    /// Return the duration (ticks) given by `amount`.
    #[inline]
    pub(in crate::simulation::kernel) fn ticks(
        &mut self,
        job: u32,
        amount: u32,
    ) -> Result<u64, Failure> {
        if amount & COMPUTED == 0 {
            return Ok(self.sources[amount as usize].draw());
        }
        self.computed_ticks(job, amount)
    }

    /// Return the duration (ticks) given by `amount` at the instruction at `at`.
    pub(in crate::simulation::kernel) fn ticks_at(
        &mut self,
        job: u32,
        at: u32,
        amount: u32,
    ) -> Result<u64, Failure> {
        if amount & COMPUTED == 0 {
            return Ok(self.sources[amount as usize].draw());
        }
        match self.positive(job, at, amount) {
            Err(Failure::LargeDraw) => Err(Failure::TimeOverflow),
            value => Ok(whole_ticks(value? * TICKS_PER_UNIT)),
        }
    }

    #[cold]
    fn computed_ticks(&mut self, job: u32, amount: u32) -> Result<u64, Failure> {
        self.ticks_at(job, self.state.jobs[job].at, amount)
    }

    /// Return the count given by `amount`; a fraction is rounded half up.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates"
    )]
    pub(in crate::simulation::kernel) fn count(
        &mut self,
        job: u32,
        at: u32,
        amount: u32,
    ) -> Result<u32, Failure> {
        if amount & COMPUTED == 0 {
            let drawn = self.sources[amount as usize].draw();
            return Ok(u32::try_from(drawn).unwrap_or(u32::MAX));
        }
        Ok((self.positive(job, at, amount)? + 0.5) as u32)
    }

    /// Return the servers or tokens given by the expression `amount`; a fraction is rounded half
    /// up.
    pub(in crate::simulation::kernel) fn capacity(
        &mut self,
        job: u32,
        at: u32,
        amount: u32,
    ) -> Result<u32, Failure> {
        let count = self.count(job, at, amount)?;
        if count > CAPACITY_LIMIT {
            let value = f64::from(count);
            self.culprit = Culprit { at, value };
            return Err(Failure::Amount);
        }
        Ok(count)
    }

    /// Return the number given by the expression `amount`.
    pub(in crate::simulation::kernel) fn number(
        &mut self,
        job: u32,
        at: u32,
        amount: u32,
    ) -> Result<f64, Failure> {
        let code = &self.plan.expressions[(amount & !COMPUTED) as usize];
        let value = self.evaluate(job, at, code)?;
        if value.is_nan() {
            self.culprit = Culprit { at, value };
            return Err(Failure::Amount);
        }
        Ok(value)
    }

    fn positive(&mut self, job: u32, at: u32, amount: u32) -> Result<f64, Failure> {
        let value = self.number(job, at, amount)?;
        if value < 0.0 || value.is_infinite() {
            self.culprit = Culprit { at, value };
            return Err(Failure::Amount);
        }
        Ok(value)
    }

    fn evaluate(&mut self, job: u32, at: u32, code: &[Op]) -> Result<f64, Failure> {
        let leaving = self.station_left();
        let Self {
            state,
            sources,
            scratch,
            calls,
            culprit,
            ..
        } = self;
        let now = state.progress.now;
        let mut is_beyond = false;
        let value = expression::evaluate(
            code,
            scratch,
            |op| match op {
                Op::Jobs(station) => f64::from(others_at(state, station, leaving)),
                Op::Draw(source) => {
                    let ticks = sources[source as usize].draw();
                    is_beyond |= ticks == BEYOND;
                    ticks as f64 / TICKS_PER_UNIT
                }
                other => look_up(state, job, other),
            },
            |call, arguments| calls.call(call, now, arguments),
        );
        if calls.has_failed() {
            culprit.at = at;
            return Err(Failure::Call);
        }
        if is_beyond {
            culprit.at = at;
            return Err(Failure::LargeDraw);
        }
        Ok(value)
    }

    /// Return the station that the walking job is about to leave.
    fn station_left(&self) -> Option<u32> {
        self.agenda.leaving.map(|old| old.station)
    }

    /// Return where `job` continues by a choice that is not by probability.
    pub(in crate::simulation::kernel) fn choose(
        &mut self,
        job: u32,
        at: u32,
        choice: u32,
    ) -> Result<u32, Failure> {
        let plan = self.plan;
        let leaving = self.station_left();
        let chosen = &mut self.agenda.choices[choice as usize];
        Ok(match &plan.choices[choice as usize].rule {
            Rule::Probability(_) | Rule::RoundRobin => chosen.next_turn(),
            Rule::Deck(_) => chosen.next_card(),
            Rule::ShortestQueue(_) | Rule::SampledQueue(..) => {
                let (state, leaving) = (&self.state, leaving);
                chosen.shortest(|target| load(state, target, leaving))
            }
            Rule::Hash(code) => {
                let value = self.evaluate(job, at, code)?;
                self.agenda.choices[choice as usize].by_hash(value)
            }
            Rule::Index(code) => {
                let value = self.evaluate(job, at, code)?;
                let target = self.agenda.choices[choice as usize].numbered(value);
                if target.is_none() {
                    self.culprit = Culprit { at, value };
                }
                target.ok_or(Failure::Amount)?
            }
            Rule::Condition(conditions) => {
                let targets = &plan.choices[choice as usize].targets;
                for (code, &target) in conditions.iter().zip(targets) {
                    if self.evaluate(job, at, code)? != 0.0 {
                        return Ok(target);
                    }
                }
                targets[conditions.len()]
            }
        })
    }
}

/// Return the current value of `op` for `job`.
fn look_up(state: &State, job: u32, op: Op) -> f64 {
    match op {
        Op::Attribute(index) => state.jobs.attributes(job)[index as usize],
        Op::Free(pool) => f64::from(state.pools[pool as usize].free()),
        Op::Servers(station) => servers_of(state, station),
        Op::Tokens(pool) => f64::from(state.pools[pool as usize].tokens()),
        Op::BusyTime(station) => {
            let totals = state.stations[station as usize].totals_at(state.progress.now);
            nearest(totals.busy_area) / TICKS_PER_UNIT
        }
        Op::Now => state.progress.now.ticks() as f64 / TICKS_PER_UNIT,
        Op::Jobs(_) | Op::Draw(_) | Op::Number(_) | Op::Call { .. } | Op::Apply(_) => {
            unreachable!("it was looked up before")
        }
    }
}

/// Return the number of servers of `station`; infinity if every job has its own.
fn servers_of(state: &State, station: u32) -> f64 {
    match state.stations[station as usize].servers {
        u32::MAX => f64::INFINITY,
        servers => f64::from(servers),
    }
}

/// Return the jobs at `station`, without the one that is about to leave the station `leaving`.
///
/// It has been served there, and keeps its server only until it has a place further on.
fn others_at(state: &State, station: u32, leaving: Option<u32>) -> u32 {
    state.stations[station as usize].present - u32::from(leaving == Some(station))
}

/// Return the jobs and the servers, or tokens, of `target`.
///
/// One without any is never the better choice, although no job may be there.
fn load(state: &State, target: Target, leaving: Option<u32>) -> (u64, u64) {
    let (jobs, capacity) = match target {
        Target::Station(index) => {
            let servers = state.stations[index as usize].servers;
            (others_at(state, index, leaving), servers)
        }
        Target::Pool(index) => {
            let pool = &state.pools[index as usize];
            (pool.held() + pool.line().len(), pool.tokens())
        }
    };
    (
        u64::from(jobs) + u64::from(capacity == 0),
        u64::from(capacity),
    )
}
