//! Capacities and speeds that change during a run: schedules, controllers, steps of jobs.
//!
//! A busy server that is removed finishes its service first and counts until then; idle servers are
//! removed at once. A new speed also applies to services in progress: their remaining time is
//! scaled accordingly.

use crate::simulation::kernel::plan::instruction::Change;
use crate::simulation::kernel::run::engine::{Culprit, Engine, Failure};
use crate::simulation::kernel::run::service::scaled;

impl Engine<'_> {
    /// Let `job` make a `change` at `at`.
    pub(in crate::simulation::kernel) fn change(
        &mut self,
        job: u32,
        at: u32,
        change: Change,
    ) -> Result<(), Failure> {
        match change {
            Change::Servers { station, amount } => {
                let servers = self.capacity(job, at, amount)?;
                self.set_servers(station, servers)
            }
            Change::Speed { station, amount } => {
                let speed = self.number(job, at, amount)?;
                if !(speed > 0.0 && speed.is_finite()) {
                    self.culprit = Culprit { at, value: speed };
                    return Err(Failure::Amount);
                }
                self.set_speed(station, speed)
            }
            Change::Tokens { pool, amount } => {
                let tokens = self.capacity(job, at, amount)?;
                self.state.pools[pool as usize].set_tokens(self.state.progress.now, tokens);
                self.grant_waiting(pool);
                Ok(())
            }
            Change::Break { station, servers } => self.break_servers(station, servers),
            Change::Repair { station, servers } => self.repair_servers(station, servers),
        }
    }

    /// Let `station` have `servers` from now on.
    fn set_servers(&mut self, station: u32, servers: u32) -> Result<(), Failure> {
        let now = self.state.progress.now;
        let own = self.station(station);
        own.advance(now);
        let before = std::mem::replace(&mut own.servers, servers);
        let special = own.special();
        if special.places != u32::MAX {
            special.places = special.places - before + servers;
        }
        if special.sharing.is_some() {
            self.set_shared_servers(station)?;
        }
        self.agenda.changed.push(station);
        self.work_off_changes()
    }

    /// Let all servers of `station` work at `pace` times their own speed from now on.
    fn set_speed(&mut self, station: u32, pace: f64) -> Result<(), Failure> {
        let now = self.state.progress.now;
        let own = self.station(station);
        own.advance(now);
        let special = own.special();
        let factor = std::mem::replace(&mut special.pace, pace) / pace;
        if let Some(sharing) = &mut special.sharing {
            sharing.stretch(now, factor);
            return self.set_clock(station);
        }
        let serving = special.serving.clone();
        for job in serving {
            let left = self.state.jobs.extra(job).finish.since(now);
            self.cancel(job);
            let finish = self.schedule_after(job, scaled(left, factor)?)?;
            self.state.jobs.extra_mut(job).finish = finish;
        }
        Ok(())
    }
}
