//! Threads that carry out operations of their own, supervised until they end.
//!
//! Each thread has a part: its work and its measurements, which it holds except during calls. The
//! calling thread makes no such call itself, so it can end the run even if a call never returns (a
//! server that is gone, a file system that hangs). A system call cannot be taken back: a thread
//! that is stuck in one is abandoned, its part is taken, and it hears of that in case its call
//! returns after all.
//!
//! Invariant: an abandoned thread begins no further call.

mod meeting;
mod patience;
mod signs;
mod slot;
/// What the threads share is made of this, so that a model checker can take its place.
mod sync {
    pub use std::sync::{Condvar, Mutex, MutexGuard, atomic};
}

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use self::meeting::{Ending, Mark, Shared};
pub use self::patience::{Advice, Patience};
pub use self::signs::Signs;
pub use self::slot::{Held, Left, Slot, held};

/// Interval of the checks whether the run is still wanted, and whether any call has returned.
const LOOK: Duration = Duration::from_millis(50);

/// The threads that work for a run.
pub struct Crew<T, E: Ending> {
    shared: Arc<Shared<E>>,
    signs: Vec<Arc<Signs>>,
    threads: Vec<JoinHandle<T>>,
    /// Carries nothing: it is closed when the last thread is done.
    sender: Sender<()>,
    finished: Receiver<()>,
}

impl<T: Send + 'static, E: Ending> Crew<T, E> {
    /// Return a crew without threads.
    pub fn new(shared: Arc<Shared<E>>) -> Self {
        let (sender, finished) = mpsc::channel();
        Self {
            shared,
            signs: Vec::new(),
            threads: Vec::new(),
            sender,
            finished,
        }
    }

    /// Let a thread with that `name` do `work`.
    ///
    /// # Errors
    ///
    /// If the system has no thread left; the others then end.
    pub fn employ(
        &mut self,
        name: &str,
        signs: &Arc<Signs>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<()> {
        let (sender, panics) = (self.sender.clone(), EndsInPanic(Arc::clone(&self.shared)));
        let named = thread::Builder::new().name(name.into());
        let spawned = named.spawn(move || {
            let (_sender, _panics) = (sender, panics);
            work()
        });
        let thread = spawned.inspect_err(|_| self.shared.end(E::unwanted()))?;
        self.signs.push(Arc::clone(signs));
        self.threads.push(thread);
        Ok(())
    }

    /// Look after the threads until the last has ended, and return what they return.
    ///
    /// None if some are abandoned in calls that do not return. `all` is their total work; `oldest`
    /// returns the call that has been waited for longest.
    pub fn look_after(
        self,
        mut patience: Patience,
        all: u64,
        oldest: impl Fn() -> Option<E::Call>,
        is_wanted: &mut dyn FnMut(f64) -> bool,
    ) -> Option<Vec<T>> {
        let shared = &self.shared;
        drop(self.sender);
        while self.finished.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let done: u64 = self.signs.iter().map(|one| one.done_count()).sum();
            if !is_wanted(done as f64 / all as f64) {
                shared.end(E::unwanted());
            }
            let answers = self.signs.iter().map(|one| one.answer_count()).sum();
            match patience.look(answers, shared.clock.now_ns(), shared.is_over()) {
                Advice::Wait => {}
                Advice::End(silent_ns) => shared.end(E::silent(oldest(), silent_ns)),
                Advice::Leave => {
                    self.signs.iter().for_each(|one| one.leave());
                    return None;
                }
            }
        }
        let join =
            |thread: JoinHandle<T>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        Some(self.threads.into_iter().map(join).collect())
    }
}

/// Ends the run if its thread panics, so that no thread waits for it.
struct EndsInPanic<E: Ending>(Arc<Shared<E>>);

impl<E: Ending> Drop for EndsInPanic<E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end(E::unwanted());
        }
    }
}
