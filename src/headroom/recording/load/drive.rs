//! The driver: brings a load and a backend together, in one thread.
//!
//! In each round, every step that can begin is submitted at once, then the driver waits. The
//! clock is read twice a round, not twice an operation: before the submission (the begin of
//! all submitted ones) and after the wait (the end of all completed ones).

use super::Load;
use super::carrier::{Backend, Carrier, Completion};
use super::patience::Patience;
use super::record::Record;

/// Maximum time (ns) that the driver waits without asking whether to continue.
const ASK_NS: u64 = 50_000_000;

/// The parts of a run.
pub struct Drive<'a, C: Carrier> {
    /// The work to do.
    pub load: Load<C::Source>,
    /// How operations are carried out.
    pub carrier: C,
    /// The measurements so far.
    pub record: Record,
    /// How long the run waits.
    pub patience: Patience,
    /// Whether to continue.
    pub is_wanted: &'a mut dyn FnMut() -> bool,
}

impl<C: Carrier> Drive<'_, C> {
    /// Run to the end; return when it was (ns).
    ///
    /// # Errors
    ///
    /// If the backend breaks.
    pub fn run<B: Backend<C::Step>>(&mut self, backend: &mut B) -> Result<u64, B::Error> {
        let mut completions: Vec<Completion> = Vec::with_capacity(self.load.place_count());
        let mut batch: Vec<u32> = Vec::with_capacity(self.load.place_count());
        let mut ask_ns = ASK_NS;
        let mut now_ns = backend.now_ns();
        self.load.start(self.carrier.is_careful());
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
    fn hand_over<B: Backend<C::Step>>(&mut self, backend: &mut B, batch: &mut Vec<u32>) {
        self.load.take_ready(batch);
        for &place in &*batch {
            self.push(backend, place);
        }
        while let Some(place) = self
            .load
            .take_waiting(&mut |next| self.carrier.admits(next))
        {
            self.push(backend, place);
            batch.push(place);
        }
    }

    #[inline]
    fn push<B: Backend<C::Step>>(&mut self, backend: &mut B, place: u32) {
        let step = self
            .carrier
            .begin(&self.load, place, || backend.buffer(place));
        backend.push(place, step);
    }

    #[inline]
    fn settle<B: Backend<C::Step>>(&mut self, backend: &mut B, completion: Completion) {
        let place = completion.place;
        let next = self
            .carrier
            .end(&mut self.load, completion, || backend.buffer(place));
        if let Some(step) = next {
            backend.push(place, step);
        }
    }
}
