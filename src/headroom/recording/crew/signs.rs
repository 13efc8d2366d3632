//! Signs of life of a thread, exchanged with its supervisor without waiting.

use std::io;

use super::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
