//! Targets that never answer: the run ends, keeps its measurements, and leaves memory in use alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::json;

use super::scripted::{Listed, Scripted, assert_laws, job, reads, run};
use crate::recording::load::StopReason;
use crate::recording::load::carrier::Caller;
use crate::recording::load::carrier::Carrier;
use crate::recording::load::patience::Patience;
use crate::recording::load::record::Record;
use crate::recording::load::workers::{Shared, Workers};
use crate::systems::storage::blocks::engine::Outcome;
use crate::systems::storage::blocks::engine::backend::Operation;
use crate::systems::storage::blocks::engine::buffers::Buffers;
use crate::systems::storage::blocks::engine::carrier::{self, Blocks};
use crate::systems::storage::blocks::engine::carry::STATION;
use crate::systems::storage::blocks::engine::job::Job;
use crate::systems::storage::blocks::engine::pattern::Pattern;
use crate::systems::storage::blocks::engine::problem::problem;
use crate::systems::storage::blocks::engine::target::Layout;

/// Opens once, for all waiting threads.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn wait(&self) {
        let open = self.is_open.lock().expect("a lock");
        drop(self.opened.wait_while(open, |open| !*open).expect("a lock"));
    }

    fn open(&self) {
        *self.is_open.lock().expect("a lock") = true;
        self.opened.notify_all();
    }
}

/// Calls of which one hangs until the gate opens.
struct Hanging {
    buffers: Buffers,
    count: AtomicU64,
    hangs_at: u64,
    gate: Arc<Gate>,
    /// Is gone when the buffers are no longer in use.
    _alive: Sender<()>,
}

impl Caller<Operation> for Hanging {
    fn call(&self, _place: u32, operation: Operation) -> i32 {
        if self.count.fetch_add(1, Ordering::Relaxed) == self.hangs_at {
            self.gate.wait();
        }
        operation.length.cast_signed()
    }

    fn buffer(&self, place: u32) -> (*mut u8, usize) {
        (self.buffers.pointer(place), self.buffers.place_bytes())
    }
}

struct Ended {
    outcome: Outcome,
    gate: Arc<Gate>,
    alive: Receiver<()>,
}

/// Run endless reads with `depth` at once, of which the one numbered `hangs_at` hangs.
fn hang(job: &Job, depth: u32, hangs_at: u64, is_wanted: &mut dyn FnMut() -> bool) -> Ended {
    let gate = Arc::new(Gate::default());
    let (sender, alive) = channel();
    let caller = Hanging {
        buffers: Buffers::new(depth, 4096).expect("memory"),
        count: AtomicU64::new(0),
        hangs_at,
        gate: gate.clone(),
        _alive: sender,
    };
    let source = Listed::new(vec![(depth, reads(50_000, |_| None))]);
    let load = carrier::load(job, Box::new(source), depth);
    let layout = Layout::new(&job.target, 4096);
    let carrier = Blocks::new(job, layout, Pattern::new(1, 0.0));
    let patience = Patience::new(job.drain_s, job.silence_s);
    let shared = Shared::new(load, carrier, Record::new(None), patience);
    let mut shared = Workers::run(shared, caller, is_wanted).expect("threads");
    assert!(!shared.carrier.is_careful());
    let problem = problem(job, &shared.load, shared.end_ns);
    let outcome = Outcome::new(
        &mut shared.load,
        STATION,
        shared.record,
        shared.end_ns,
        problem,
    );
    assert_laws(&outcome);
    Ended {
        outcome,
        gate,
        alive,
    }
}

fn threads(changes: &serde_json::Value) -> Job {
    let mut plan = json!({"interface": "threads", "drain_s": 0.0});
    for (key, value) in changes.as_object().expect("an object") {
        plan[key] = value.clone();
    }
    job(&plan)
}

#[test]
fn a_call_that_never_returns_does_not_hold_the_end_of_the_run() {
    let plan = threads(&json!({"stop": {"seconds": 0.02}}));
    let ended = hang(&plan, 1, 10, &mut || true);
    let outcome = &ended.outcome;
    assert_eq!(outcome.stop_reason, StopReason::Seconds);
    assert_eq!(outcome.classes[0].completion_count, 10);
    assert_eq!((outcome.outstanding_count, outcome.waiting_count), (1, 0));
    let problem = outcome.problem.as_deref().expect("a problem");
    assert!(problem.contains("1 request had not finished"), "{problem}");
    assert!(
        problem.contains("a read of 4096 B at offset 40960"),
        "{problem}"
    );
    // The thread in the call keeps its resources, until the call returns after all.
    assert_eq!(ended.alive.try_recv(), Err(TryRecvError::Empty));
    ended.gate.open();
    assert!(ended.alive.recv().is_err());
}

#[test]
fn the_others_go_on_while_one_hangs() {
    let plan = threads(&json!({"stop": {"requests": 1000}}));
    let ended = hang(&plan, 4, 10, &mut || true);
    assert_eq!(ended.outcome.stop_reason, StopReason::Requests);
    assert_eq!(ended.outcome.classes[0].completion_count, 999);
    assert_eq!(ended.outcome.outstanding_count, 1);
    ended.gate.open();
    assert!(ended.alive.recv().is_err());
}

#[test]
fn a_load_without_end_ends_with_a_target_that_is_silent() {
    let plan = threads(&json!({"silence_s": 0.1}));
    let ended = hang(&plan, 1, 100, &mut || true);
    assert_eq!(ended.outcome.stop_reason, StopReason::TargetSilent);
    assert_eq!(ended.outcome.classes[0].completion_count, 100);
    assert!(ended.outcome.problem.is_some());
    ended.gate.open();
}

#[test]
fn an_interrupt_is_heard_while_a_call_hangs() {
    let mut asked = 0;
    let mut is_wanted = || {
        asked += 1;
        asked < 20
    };
    let ended = hang(&threads(&json!({})), 1, 100, &mut is_wanted);
    assert_eq!(ended.outcome.stop_reason, StopReason::Interrupted);
    assert_eq!(ended.outcome.classes[0].completion_count, 100);
    ended.gate.open();
}

#[test]
fn when_nothing_hangs_nothing_is_left_alive() {
    let plan = threads(&json!({"stop": {"requests": 1000}}));
    let ended = hang(&plan, 4, u64::MAX, &mut || true);
    assert_eq!(ended.outcome.problem, None);
    assert_eq!(ended.outcome.classes[0].completion_count, 1000);
    assert_eq!(ended.alive.try_recv(), Err(TryRecvError::Disconnected));
}

/// The same for the driver of rings and soft devices, in virtual time.
#[test]
fn a_driver_leaves_what_never_ends_and_waits_for_what_is_slow() {
    let slow = |operation: &Operation| {
        let service_ns = match operation.offset / 4096 {
            7 => u64::MAX / 2,
            8 => 1_500_000_000,
            _ => 1000,
        };
        (service_ns, 4096)
    };
    let source = Listed::new(vec![(4, reads(100, |_| None))]);
    let outcome = run(&job(&json!({})), source, &mut Scripted::new(slow));
    assert_eq!(outcome.classes[0].completion_count, 99);
    assert_eq!(outcome.outstanding_count, 1);
    assert_laws(&outcome);
}

#[test]
fn a_driver_ends_a_load_whose_target_is_silent() {
    let silent = |operation: &Operation| {
        let is_silent = operation.offset / 4096 >= 50;
        (if is_silent { u64::MAX / 2 } else { 1000 }, 4096)
    };
    let source = Listed::new(vec![(2, reads(100, |_| None))]);
    let outcome = run(&job(&json!({})), source, &mut Scripted::new(silent));
    assert_eq!(outcome.stop_reason, StopReason::TargetSilent);
    assert_eq!(outcome.classes[0].completion_count, 50);
    assert!((300.0..301.0).contains(&outcome.end_s), "{}", outcome.end_s);
    assert_laws(&outcome);
}
