//! The same load by threads, whose clock is the real one: counts and order, no times.

use std::thread;

use super::super::carrier::Caller;
use super::super::workers::{Shared, Workers};
use super::*;

/// Answers at once; what never ends stays in its call.
struct Calls;

impl Caller<Op> for Calls {
    fn call(&self, _place: u32, step: Op) -> i32 {
        if step.takes_ms == NEVER {
            loop {
                thread::park();
            }
        }
        step.result
    }

    fn buffer(&self, _place: u32) -> (*mut u8, usize) {
        (std::ptr::NonNull::dangling().as_ptr(), 0)
    }
}

fn run(plan: Plan) -> (Outcome<Op>, u64) {
    let patience = Patience::new(plan.drain_s, plan.silence_s);
    let (carrier, record) = (plan.carrier, Record::new(None));
    let shared = Shared::new(plan.load(), carrier, record, patience);
    let shared = Workers::run(shared, Calls, &mut || true).expect("enough threads");
    let (mut load, calls) = (shared.load, shared.call_count);
    (
        Outcome::new(&mut load, "server", shared.record, shared.end_ns, None),
        calls,
    )
}

#[test]
fn threads_carry_out_every_step_of_every_operation_once() {
    for (places, is_careful) in [(1, false), (3, false), (3, true)] {
        let bad = takes(0).fails(5);
        let mut plan = plan(script([
            (2, vec![takes(0); 40]),
            (2, [takes(0), bad].repeat(20)),
        ]));
        plan.places = places;
        plan.carrier = Steps {
            count: 2,
            is_careful,
            running: 0,
        };
        let (outcome, calls) = run(plan);
        let total = &outcome.classes[0];
        assert_eq!(outcome.stop_reason, StopReason::SourceEnded);
        assert_eq!(
            (calls, total.arrival_count, total.begin_count),
            (160, 80, 80)
        );
        assert_eq!((total.completion_count, total.failure_count), (60, 20));
        assert!(outcome.end_s >= outcome.load_s);
    }
}

#[test]
fn threads_begin_nothing_before_it_is_due() {
    let paced = (0..20).map(|due_ms| takes(0).due(due_ms)).collect();
    let (outcome, calls) = run(plan(script([(u32::MAX, paced)])));
    assert_eq!((calls, outcome.classes[0].completion_count), (20, 20));
    assert!(outcome.classes[0].submit_error_s.0 >= 0.0);
    assert!(outcome.load_s >= 0.019);
}

#[test]
fn a_thread_in_a_call_without_an_end_is_left_behind() {
    let mut plan = plan(script([(1, vec![takes(0), takes(NEVER), takes(0)])]));
    plan.silence_s = 0.05;
    let (outcome, calls) = run(plan);
    assert_eq!((outcome.stop_reason, calls), (StopReason::TargetSilent, 1));
    assert_eq!(
        (
            outcome.outstanding_count,
            outcome.classes[0].completion_count
        ),
        (1, 1)
    );
}
