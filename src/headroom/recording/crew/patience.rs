//! How long a crew waits without any sign of life.

use crate::recording::silence::Silence;

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
    silence: Silence,
    drain: Silence,
    is_ending: bool,
}

impl Patience {
    /// Return the patience of a run that ends after `silence_s` (s) without any sign, and then
    /// waits for `drain_s` (s) after each.
    pub fn new(silence_s: f64, drain_s: f64) -> Self {
        Self {
            silence: Silence::new(silence_s, 0),
            drain: Silence::new(drain_s, 0),
            is_ending: false,
        }
    }

    /// Look at `now_ns` at a run whose calls returned `answer_count` times.
    ///
    /// A run that `is_ending` has the time of its drain, from then or from its last answer on.
    pub fn look(&mut self, answer_count: u64, now_ns: u64, is_ending: bool) -> Advice {
        if is_ending != self.is_ending {
            self.is_ending = is_ending;
            self.drain.restart(now_ns);
        }
        let running = self.silence.too_long(answer_count, now_ns, !is_ending);
        let ending = self.drain.too_long(answer_count, now_ns, is_ending);
        match running {
            Some(silent_ns) => Advice::End(silent_ns),
            None if ending.is_some() => Advice::Leave,
            None => Advice::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::clock::ns_of;

    #[test]
    fn silence_ends_a_run_and_what_has_no_end_then_is_left() {
        let mut patience = Patience::new(300.0, 10.0);
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
}
