//! Patience: the time that a job waits for a server or for tokens before it gives up.
//!
//! Patience is drawn when the job arrives. It runs while the job waits for the first time,
//! including outside a full station, and ends when the job gets a server or the tokens. A job whose
//! service was interrupted waits without limit for the remainder. When patience expires, the
//! innermost attempt of the job fails; a job without an attempt is lost.

use crate::simulation::kernel::plan::instruction::{Act, Instruction};
use crate::simulation::kernel::run::engine::{Engine, Failure};

impl Engine<'_> {
    /// Return how long (ticks) `job` waits at most at the instruction at `at`; None: without limit.
    pub(in crate::simulation::kernel) fn patience(
        &mut self,
        job: u32,
        at: u32,
    ) -> Result<Option<u64>, Failure> {
        match self.instructions.get(at as usize + 1) {
            Some(&Instruction::Act(Act::Patience { amount })) => {
                self.ticks_at(job, at + 1, amount).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Let `job`, which waits, give up after `patience`.
    pub(in crate::simulation::kernel) fn limit_wait(
        &mut self,
        job: u32,
        patience: Option<u64>,
    ) -> Result<(), Failure> {
        if let Some(ticks) = patience {
            self.schedule_after(job, ticks)?;
        }
        Ok(())
    }
}
