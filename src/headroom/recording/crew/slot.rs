//! The part of a thread, which can be taken from it at the end.
//!
//! Invariant: a thread holds its part except during its calls and while it waits for others.
//! A part may be taken whenever its thread does not hold it; the thread then finds nothing, and
//! ends without touching anything of the run.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

use super::sync::{Mutex, MutexGuard};

/// The place of a part: empty once it was taken.
pub type Slot<P> = Mutex<Option<P>>;

/// The part is gone: the run has ended without this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left;

/// A part that its thread holds, except during its calls.
pub struct Held<'a, P> {
    slot: &'a Slot<P>,
    guard: Option<MutexGuard<'a, Option<P>>>,
}

impl<'a, P> Held<'a, P> {
    /// Take hold of a part; None if it is gone.
    pub fn new(slot: &'a Slot<P>) -> Option<Self> {
        let guard = held(slot);
        guard.is_some().then_some(Self {
            slot,
            guard: Some(guard),
        })
    }

    /// Make a call, or wait, without holding the part.
    ///
    /// # Errors
    ///
    /// [`Left`] where the part is gone then.
    #[inline]
    pub fn released<T>(&mut self, call: impl FnOnce() -> T) -> Result<T, Left> {
        self.guard = None;
        let answer = call();
        let again = Self::new(self.slot).ok_or(Left)?;
        self.guard = again.guard;
        Ok(answer)
    }
}

const IS_HELD: &str = "a part is held except during calls";

impl<P> Deref for Held<'_, P> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        self.guard
            .as_deref()
            .and_then(Option::as_ref)
            .expect(IS_HELD)
    }
}

impl<P> DerefMut for Held<'_, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut P {
        let part = self.guard.as_deref_mut().and_then(Option::as_mut);
        part.expect(IS_HELD)
    }
}

/// Lock, whatever a thread that panicked left: the panic itself is passed on by the joining thread.
pub fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
