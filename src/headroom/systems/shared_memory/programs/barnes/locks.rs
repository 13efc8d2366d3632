//! Locks that threads take in the program and that a watcher sees.

use std::sync::{Mutex, PoisonError};

use super::super::watch::Watch;

/// Locks by their numbers.
#[derive(Debug)]
pub struct Locks(Vec<Mutex<()>>);

impl Locks {
    /// Return `count` locks.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::new(())).collect())
    }

    /// Return their number.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Do something while holding a lock.
    #[inline]
    pub fn with<W: Watch, T>(
        &self,
        lock: usize,
        watch: &mut W,
        action: impl FnOnce(&mut W) -> T,
    ) -> T {
        watch.lock(lock as u32);
        // A lock has no data that a panic could leave half changed.
        let _guard = self.0[lock].lock().unwrap_or_else(PoisonError::into_inner);
        let result = action(watch);
        watch.unlock(lock as u32);
        result
    }
}
