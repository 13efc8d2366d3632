//! The seams of the driver: how operations are split into steps, and what carries a step out.
//!
//! A [`Carrier`] turns an operation into one or more steps and judges their results. Steps are
//! carried out by a [`Backend`], which has many of them in flight in one thread, or by a
//! [`Caller`], one in each thread. Both hold a slot for each place, with a buffer where operations
//! move data.

use std::error::Error;

use super::Load;
use super::operation::Source;

/// Splits operations into steps.
pub trait Carrier: Send {
    /// Source of the operations.
    type Source: Source;
    /// Carried out at once.
    type Step: Copy + Send;

    /// Return whether it must learn of every operation; otherwise [`Carrier::admits`] is never
    /// called.
    fn is_careful(&self) -> bool {
        false
    }

    /// Return whether `operation` may begin now; if not, the call is repeated when another has
    /// ended, and the later operations of its stream wait behind it.
    fn admits(&mut self, _operation: &<Self::Source as Source>::Operation) -> bool {
        true
    }

    /// Return the first step of the operation in `place`, whose `buffer` may be filled for it. It
    /// is a call, because most operations need no buffer, and to find it takes 3% of all
    /// instructions.
    fn begin<'b>(
        &mut self,
        load: &Load<Self::Source>,
        place: u32,
        buffer: impl FnOnce() -> &'b mut [u8],
    ) -> Self::Step;

    /// Judge the `completion` of a step, whose place has `buffer`, and return the next step of its
    /// operation. None: the operation has ended, and the load was told by [`Load::succeed`] or
    /// [`Load::fail`].
    fn end<'b>(
        &mut self,
        load: &mut Load<Self::Source>,
        completion: Completion,
        buffer: impl FnOnce() -> &'b [u8],
    ) -> Option<Self::Step>;
}

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Place that carried it.
    pub place: u32,
    /// What it achieved, >= 0, or the error number, negative.
    pub result: i32,
    /// When it was known (ns) since the start of the run; at or after the turn that began it.
    pub done_ns: u64,
}

/// Carries out many steps at once, and supplies the time.
///
/// A native backend reads the machine's clock; a scripted one may jump from event to event, so that
/// it reports exactly what its script says.
///
/// Invariant: time never goes back; each step completes exactly once.
pub trait Backend<Step> {
    /// Why the interface itself broke.
    type Error: Error;

    /// Let the time of the run begin.
    fn start(&mut self) {}

    /// Return the time (ns) since the start of the run.
    fn now_ns(&mut self) -> u64;

    /// Return the buffer of `place`; called for places that carry nothing only.
    fn buffer(&mut self, place: u32) -> &mut [u8];

    /// Put `step` into `place`; it begins with the next turn.
    fn push(&mut self, place: u32, step: Step);

    /// Begin the pushed steps, then wait until something is complete or until `until_ns`, if that
    /// is given; append what is complete to `done`. A backend may return early with nothing.
    ///
    /// # Errors
    ///
    /// If the interface itself broke; errors of steps are their results.
    fn turn(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Self::Error>;

    /// Return how many system calls were made.
    fn call_count(&self) -> u64 {
        0
    }
}

/// Carries out one step in the calling thread.
pub trait Caller<Step>: Send + Sync + 'static {
    /// Carry `step` out and return what it achieved, or the negative error number.
    fn call(&self, place: u32, step: Step) -> i32;

    /// Return the first byte and the length (B) of the buffer of `place`; valid as long as this
    /// lives, and of no other place.
    fn buffer(&self, place: u32) -> (*mut u8, usize);
}
