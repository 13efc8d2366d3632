//! The driver: brings a load and a backend together, in one thread.
//!
//! In each round, every operation that can begin is submitted at once, then the driver waits. The
//! clock is read twice a round, not twice a request: before the submission (the begin of all
//! submitted requests) and after the wait (the end of all completed requests).

use super::backend::{Backend, Completion};
use super::carrier::{Carrier, Load, Next};
use super::content::Content;
use super::error::EngineError;
use super::patience::Patience;
use super::record::Record;
use crate::systems::storage::workloads::request::Kind;

/// Maximum time (ns) that the driver waits without asking whether to continue.
const ASK_NS: u64 = 50_000_000;

/// The parts of a run.
pub struct Drive<'a> {
    /// The work to do.
    pub load: Load,
    /// How far its requests are.
    pub carrier: Carrier,
    /// The measurements so far.
    pub record: Record,
    /// Content of writes, and checks of reads.
    pub content: &'a mut dyn Content,
    /// How long the run waits.
    pub patience: Patience,
    /// Whether to continue.
    pub is_wanted: &'a mut dyn FnMut() -> bool,
}

impl Drive<'_> {
    /// Run to the end; return when it was (ns).
    ///
    /// # Errors
    ///
    /// If the backend breaks.
    pub fn run<B: Backend>(&mut self, backend: &mut B) -> Result<u64, EngineError> {
        let mut completions: Vec<Completion> = Vec::with_capacity(self.load.place_count());
        let mut batch: Vec<u32> = Vec::with_capacity(self.load.place_count());
        let mut ask_ns = ASK_NS;
        let mut now_ns = backend.now_ns();
        self.load.start(self.content.is_careful());
        loop {
            self.record.observe(now_ns, &mut self.load);
            self.load.advance(now_ns);
            if now_ns >= ask_ns {
                ask_ns = now_ns + ASK_NS;
                let is_wanted = (self.is_wanted)();
                if self.patience.is_over(&mut self.load, now_ns, is_wanted) {
                    return Ok(now_ns);
                }
            }
            self.hand_over(backend, &mut batch);
            if self.load.is_over() {
                return Ok(now_ns);
            }
            let begun_ns = backend.now_ns();
            self.record.observe(begun_ns, &mut self.load);
            self.load.begin(&batch, begun_ns);
            batch.clear();
            let until_ns = self
                .load
                .next_event_ns()
                .map_or(ask_ns, |next| next.min(ask_ns));
            backend.turn(Some(until_ns), &mut completions)?;
            // The last end is now, and saves a reading of the clock.
            now_ns = completions
                .last()
                .map_or_else(|| backend.now_ns(), |last| last.done_ns);
            let mut done_ns = u64::MAX;
            for completion in completions.drain(..) {
                if completion.done_ns != done_ns {
                    self.load.replenish(done_ns);
                    done_ns = completion.done_ns;
                    now_ns = now_ns.max(done_ns);
                    self.record.observe(done_ns, &mut self.load);
                }
                self.settle(backend, completion);
            }
            self.load.replenish(done_ns);
        }
    }

    #[inline]
    fn hand_over<B: Backend>(&mut self, backend: &mut B, batch: &mut Vec<u32>) {
        self.load.take_ready(batch);
        for &place in &*batch {
            self.push(backend, place);
        }
        while let Some(place) = self.load.take_waiting(&mut |request| self.content.admits(request)) {
            self.push(backend, place);
            batch.push(place);
        }
    }

    #[inline]
    fn push<B: Backend>(&mut self, backend: &mut B, place: u32) {
        let request = self.load.operation(place);
        if self.load.is_gated() || request.kind == Kind::Write {
            self.content.begin(place, request, backend.buffer(place));
        }
        backend.push(place, self.carrier.operation(&self.load, place));
    }

    #[inline]
    fn settle<B: Backend>(&mut self, backend: &mut B, completion: Completion) {
        let Completion {
            place,
            result,
            done_ns,
        } = completion;
        let errno = match self.carrier.complete(&mut self.load, place, result, done_ns) {
            Next::Rest => {
                return backend.push(place, self.carrier.operation(&self.load, place));
            }
            Next::Done => None,
            Next::Failed(errno) => Some(errno),
        };
        if self.load.is_gated() {
            let request = self.load.operation(place);
            self.content
                .end(place, request, backend.buffer(place), errno);
        }
    }
}
