//! Signs of life of the threads, and the time that a run waits without any.
//!
//! A system call cannot be taken back. A thread that is stuck in one (a server that is gone, a file
//! system that hangs) is abandoned, and is notified in case its call returns after all.
//!
//! Invariant: an abandoned thread begins no further call.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::job::Job;
use crate::recording::clock::ns_of;

/// Signals between a thread and its supervisor, exchanged without waiting.
#[derive(Debug, Default)]
pub struct Signs {
    answer_count: AtomicU64,
    done_count: AtomicU64,
    is_left: AtomicBool,
}

impl Signs {
    /// Record that a call has returned; only the thread itself does this.
    ///
    /// # Errors
    ///
    /// The thread was abandoned meanwhile, and must end.
    #[inline]
    pub fn answered(&self) -> io::Result<()> {
        add_one(&self.answer_count);
        if self.is_left.load(Ordering::Relaxed) {
            return Err(io::Error::other("the run has ended without this call"));
        }
        Ok(())
    }

    /// Return how many calls have returned.
    pub fn answer_count(&self) -> u64 {
        self.answer_count.load(Ordering::Relaxed)
    }

    /// Record that a separate operation of a phase, or a transaction, is done.
    #[inline]
    pub fn has_done_one(&self) {
        add_one(&self.done_count);
    }

    /// Return how many operations of phases alone and transactions are done.
    pub fn done_count(&self) -> u64 {
        self.done_count.load(Ordering::Relaxed)
    }

    /// Leave the thread to itself.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }
}

/// Add to a counter that no other thread writes: a plain addition is enough.
#[inline]
fn add_one(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// What to do with threads at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Wait on.
    Wait,
    /// End the run: no call has returned for so long (ns).
    End(u64),
    /// Abandon any thread that is in a call.
    Leave,
}

/// How long a run waits, and the signs of life so far.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    silence_ns: u64,
    drain_ns: u64,
    answer_count: u64,
    heard_ns: u64,
    is_ending: bool,
}

impl Patience {
    /// Return the patience of `job`.
    pub fn new(job: &Job) -> Self {
        Self {
            silence_ns: ns_of(job.silence_s),
            drain_ns: ns_of(job.drain_s),
            answer_count: 0,
            heard_ns: 0,
            is_ending: false,
        }
    }

    /// Look at `now_ns` at a run whose calls returned `answer_count` times.
    ///
    /// A run that `is_ending` has the time of its drain, from then or from its last answer on.
    pub fn look(&mut self, answer_count: u64, now_ns: u64, is_ending: bool) -> Advice {
        if answer_count != self.answer_count || is_ending != self.is_ending {
            (self.answer_count, self.is_ending) = (answer_count, is_ending);
            self.heard_ns = now_ns;
        }
        let silent_ns = now_ns - self.heard_ns;
        match is_ending {
            false if silent_ns > self.silence_ns => Advice::End(silent_ns),
            true if silent_ns > self.drain_ns => Advice::Leave,
            _ => Advice::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn silence_ends_a_run_and_what_has_no_end_then_is_left() {
        let job = json!({
            "seed": 1, "target": {"kind": "nothing"}, "workload": {}, "silence_s": 300, "drain_s": 10
        });
        let job = Job::from_json(job.to_string().as_bytes()).expect("a sound job");
        let mut patience = Patience::new(&job);
        let s = ns_of(1.0);
        assert_eq!(patience.look(5, 100 * s, false), Advice::Wait);
        assert_eq!(patience.look(5, 400 * s, false), Advice::Wait);
        assert_eq!(patience.look(6, 401 * s, false), Advice::Wait);
        assert_eq!(patience.look(6, 702 * s, false), Advice::End(301 * s));
        // Whoever still answers has the drain for each call, from the end of the run on.
        assert_eq!(patience.look(6, 702 * s, true), Advice::Wait);
        assert_eq!(patience.look(7, 712 * s, true), Advice::Wait);
        assert_eq!(patience.look(7, 722 * s, true), Advice::Wait);
        assert_eq!(patience.look(7, 723 * s, true), Advice::Leave);
    }

    #[test]
    fn who_was_left_to_itself_hears_of_it_at_its_next_answer() {
        let signs = Signs::default();
        assert!(signs.answered().is_ok());
        signs.leave();
        assert!(signs.answered().is_err());
        assert_eq!(signs.answer_count(), 2);
    }
}
