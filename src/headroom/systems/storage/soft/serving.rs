//! The soft device in real time: it answers requests when the script says, several at once.
//!
//! The server passes each request with a function that answers it; one thread waits for the next
//! request that is due. The clock of the script starts with the first request.
//!
//! Invariant: every request is answered exactly once, and none before it is due, except that a loss
//! of power fails all requests in flight at once.

#![allow(
    clippy::disallowed_methods,
    reason = "it serves in real time: no model, but what is measured"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::device::{Data, SoftDevice, Truth};
use crate::systems::storage::workloads::request::Kind;

/// Answers a request: bytes moved or the error number, negative, and the data read.
pub type Reply = Box<dyn FnOnce(i32, &[u8]) + Send>;

/// The data that a request moves.
#[derive(Debug)]
pub enum Asked<'a> {
    /// Nothing.
    Nothing,
    /// This number of bytes from the device.
    Read(usize),
    /// These bytes to the device.
    Write(&'a [u8]),
}

/// A soft device that is served.
pub struct Serving {
    state: Mutex<State>,
    is_changed: Condvar,
}

struct State {
    device: SoftDevice,
    begin: Option<Instant>,
    /// Requests in flight: by due time (ns) and number.
    pending: BTreeMap<(u64, u64), Answer>,
    request_count: u64,
    has_power: bool,
    is_over: bool,
}

struct Answer {
    result: i32,
    content: Vec<u8>,
    reply: Reply,
}

impl Answer {
    fn give(self) {
        (self.reply)(self.result, &self.content);
    }
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Serving").finish_non_exhaustive()
    }
}

impl Serving {
    /// Return `device`, served by a thread that ends with [`Serving::end`].
    pub fn start(device: SoftDevice) -> Arc<Self> {
        let serving = Arc::new(Self {
            state: Mutex::new(State {
                device,
                begin: None,
                pending: BTreeMap::new(),
                request_count: 0,
                has_power: true,
                is_over: false,
            }),
            is_changed: Condvar::new(),
        });
        let own = Arc::clone(&serving);
        std::thread::spawn(move || own.answer_all());
        serving
    }

    /// Take a request over; `reply` is called when it is done.
    pub fn take(&self, kind: Kind, offset: u64, asked: &Asked<'_>, reply: Reply) {
        let mut state = self.state();
        if !state.has_power {
            let result = state.device.refuse(kind);
            drop(state);
            return reply(result, &[]);
        }
        let now_ns = state.now_ns();
        let mut content = match asked {
            Asked::Read(length) => vec![0; *length],
            Asked::Write(_) | Asked::Nothing => Vec::new(),
        };
        let data = match asked {
            Asked::Nothing => Data::Nothing,
            Asked::Read(_) => Data::Into(&mut content),
            Asked::Write(bytes) => Data::From(bytes),
        };
        let answer = state.device.carry(now_ns, kind, offset, data);
        state.request_count += 1;
        let key = (answer.done_ns, state.request_count);
        let answer = Answer {
            result: answer.result,
            content,
            reply,
        };
        state.pending.insert(key, answer);
        drop(state);
        self.is_changed.notify_one();
    }

    /// Switch the power off or on. Off: requests in flight fail, and volatile data is lost.
    pub fn switch(&self, has_power: bool) {
        let mut state = self.state();
        if state.has_power == has_power {
            return;
        }
        state.has_power = has_power;
        let mut failed = BTreeMap::new();
        if !has_power {
            state.device.lose_power();
            failed = std::mem::take(&mut state.pending);
        }
        drop(state);
        for answer in failed.into_values() {
            (answer.reply)(-libc::EIO, &[]);
        }
    }

    /// Return the size (B) of the device.
    pub fn bytes(&self) -> u64 {
        self.state().device.bytes()
    }

    /// Return the record of arrived requests and of deliberate faults.
    pub fn truth(&self) -> Truth {
        self.state().device.truth()
    }

    /// Answer requests in flight at once, and serve no more.
    pub fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        let rest = std::mem::take(&mut state.pending);
        drop(state);
        self.is_changed.notify_all();
        rest.into_values().for_each(Answer::give);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A reply that panicked has not touched the state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answer whatever is due, until the end.
    fn answer_all(&self) {
        let mut state = self.state();
        while !state.is_over {
            let Some((&(due_ns, _), _)) = state.pending.first_key_value() else {
                let waited = self.is_changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left_ns = due_ns.saturating_sub(state.now_ns());
            if left_ns > 0 {
                let waited = self
                    .is_changed
                    .wait_timeout(state, Duration::from_nanos(left_ns));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let first = state.pending.pop_first();
            drop(state);
            if let Some((_, answer)) = first {
                answer.give();
            }
            state = self.state();
        }
    }
}

impl State {
    fn now_ns(&mut self) -> u64 {
        let begin = *self.begin.get_or_insert_with(Instant::now);
        u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    fn serving(script: &str) -> Arc<Serving> {
        let script = serde_json::from_str(script).expect("a script");
        Serving::start(SoftDevice::new(script, 1 << 20).expect("a script that can be"))
    }

    /// Ask for something; what arrives is the answer, and when it came.
    fn ask(
        serving: &Serving,
        kind: Kind,
        offset: u64,
        asked: &Asked<'_>,
    ) -> Receiver<(i32, Vec<u8>, Instant)> {
        let (to, from) = channel();
        let reply = move |result, content: &[u8]| {
            let _ = to.send((result, content.to_vec(), Instant::now()));
        };
        serving.take(kind, offset, asked, Box::new(reply));
        from
    }

    #[test]
    fn nothing_is_answered_before_it_is_due_and_later_requests_may_come_first() {
        let serving = serving(r#"{"read_s": [0.06, 0.01]}"#);
        let begin = Instant::now();
        let (slow, fast) = (
            ask(&serving, Kind::Read, 0, &Asked::Read(4)),
            ask(&serving, Kind::Read, 0, &Asked::Read(4)),
        );
        let fast = fast.recv().expect("an answer");
        let slow = slow.recv().expect("an answer");
        assert!(fast.2 - begin >= Duration::from_millis(10));
        assert!(slow.2 - begin >= Duration::from_millis(60));
        assert!(fast.2 < slow.2);
        assert_eq!((slow.0, slow.1), (4, vec![0; 4]));
        serving.end();
    }

    #[test]
    fn a_loss_of_power_fails_what_is_under_way_and_what_comes_until_it_is_back() {
        let serving = serving(r#"{"write_s": [1e-6, 1e5], "is_volatile": true}"#);
        let first = ask(&serving, Kind::Write, 0, &Asked::Write(&[7]));
        assert_eq!(first.recv().expect("an answer").0, 1);
        let never = ask(&serving, Kind::Write, 0, &Asked::Write(&[8]));
        serving.switch(false);
        assert_eq!(never.recv().expect("an answer").0, -libc::EIO);
        let off = ask(&serving, Kind::Read, 0, &Asked::Read(1));
        assert_eq!(off.recv().expect("an answer").0, -libc::EIO);
        serving.switch(true);
        let on = ask(&serving, Kind::Read, 0, &Asked::Read(1));
        assert_eq!(on.recv().expect("an answer").1, [0]);
        assert_eq!(serving.truth().error_count, 1);
        serving.end();
    }

    #[test]
    fn at_the_end_everything_is_answered() {
        let serving = serving(r#"{"read_s": [1e5]}"#);
        let asked = ask(&serving, Kind::Read, 0, &Asked::Read(3));
        serving.end();
        assert_eq!(asked.recv().expect("an answer").0, 3);
    }
}
