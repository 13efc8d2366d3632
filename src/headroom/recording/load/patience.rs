//! Time limits that end a run although some requests have not ended.
//!
//! Requests that wait at the end of the load are still begun for a limited time. Requests in flight
//! get the same time again, because the system has them and no one can take them back. A target
//! that answers nothing at all while requests are outstanding ends the load itself.
//!
//! Invariant: however a target behaves, a load that has an end has a run that ends, and a load
//! without one ends with the target.

use super::operation::Source;
use super::{Load, StopReason};
use crate::recording::clock::ns_of;
use crate::recording::silence::Silence;

/// How long a run waits, and its observations so far.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    drain_ns: u64,
    silence: Silence,
}

impl Patience {
    /// Return the patience of a run that waits `drain_s` (s) after the end of its load, and
    /// `silence_s` (s) for any end at all.
    pub fn new(drain_s: f64, silence_s: f64) -> Self {
        Self {
            drain_ns: ns_of(drain_s),
            silence: Silence::new(silence_s, 0),
        }
    }

    /// Check `load` at `now_ns`, and stop it if it is no longer wanted or the target is silent;
    /// return whether nothing is waited for any longer.
    pub fn is_over<S: Source>(&mut self, load: &mut Load<S>, now_ns: u64, is_wanted: bool) -> bool {
        if !is_wanted {
            load.stop(StopReason::Interrupted, now_ns);
            load.give_up_waiting(now_ns);
        }
        if self.is_silent(load, now_ns) {
            load.stop(StopReason::TargetSilent, now_ns);
            load.give_up_waiting(now_ns);
            return true;
        }
        let Some((_, stopped_ns)) = load.stopped() else {
            return false;
        };
        if now_ns.saturating_sub(stopped_ns) > self.drain_ns {
            load.give_up_waiting(now_ns);
        }
        load.given_up_ns()
            .is_some_and(|since_ns| now_ns.saturating_sub(since_ns) > self.drain_ns)
    }

    fn is_silent<S: Source>(&mut self, load: &mut Load<S>, now_ns: u64) -> bool {
        load.settle();
        let is_awaited = load.outstanding_count() > 0;
        let silence = &mut self.silence;
        silence
            .too_long(load.ended_count(), now_ns, is_awaited)
            .is_some()
    }
}
