//! How a load ends: by its limits, by failures, by silence, or because it is not wanted any more.

use super::super::failures::Failures;
use super::*;

const EIO: i32 = 5;

#[test]
fn a_limit_of_bytes_counts_those_that_arrive() {
    for (limit, arrived) in [(200, 2), (201, 3)] {
        let mut plan = plan(script([(4, vec![takes(10); 9])]));
        plan.limits.bytes = Some(limit);
        let (outcome, begun) = plan.run();
        assert_eq!(begun.len(), arrived);
        assert_eq!(ended(&outcome), (StopReason::Bytes, [0, 10]));
    }
}

#[test]
fn a_limit_of_zero_lets_nothing_arrive() {
    let requests = StopReason::Requests;
    for (operations, bytes, seconds, reason) in [
        (Some(0), None, None, requests),
        (None, Some(0), None, requests),
        (None, None, Some(0.0), StopReason::Seconds),
    ] {
        let mut plan = plan(script([(1, vec![takes(10)])]));
        (plan.limits.operations, plan.limits.bytes) = (operations, bytes);
        plan.limits.seconds = seconds;
        let (outcome, begun) = plan.run();
        assert_eq!((begun.len(), outcome.classes.len()), (0, 0));
        assert_eq!(ended(&outcome), (reason, [0, 0]));
    }
}

#[test]
fn a_closed_load_ends_in_time_and_lets_what_it_began_end() {
    let mut plan = plan(script([(1, vec![takes(10); 9])]));
    plan.limits.seconds = Some(0.035);
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(0, 10), (10, 10), (20, 10), (30, 10)]);
    assert_eq!(ended(&outcome), (StopReason::Seconds, [35, 40]));
}

#[test]
fn failures_are_counted_by_error_and_a_row_of_them_ends_the_load() {
    let (good, bad) = (takes(10), takes(10).fails(EIO));
    let operations = vec![good, bad, bad, good, bad.write(), bad, bad, good];
    let (outcome, _) = plan(script([(1, operations)])).run();
    assert_eq!(ended(&outcome), (StopReason::TargetFailed, [70, 70]));
    let kinds = outcome.failures.iter().map(|one| {
        let failure = one.failure;
        (
            &one.class[..],
            failure.errno,
            failure.count,
            failure.first_ns / MS,
        )
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [("read", EIO, 4, 20), ("write", EIO, 1, 50)]
    );
    let [read, write] = &outcome.classes[..] else {
        panic!("two classes")
    };
    assert_eq!(
        [read.completion_count, read.failure_count, read.bytes],
        [2, 4, 200]
    );
    assert_eq!(
        [write.completion_count, write.failure_count, write.bytes],
        [0, 1, 0]
    );
    assert!(write.response_s.0.is_nan(), "a failure is in no histogram");
    assert_eq!(
        values(&outcome.snapshots.stations, "lost_s_sum").last(),
        Some(&50)
    );
}

#[test]
fn a_target_that_is_gone_ends_the_load_at_once_and_nothing_more_begins() {
    let gone = takes(15).fails(libc::ENODEV).due(0);
    let others = [1, 2, 90].map(|due_ms| takes(10).due(due_ms));
    let mut plan = plan(script([(9, [&[gone], &others[..]].concat())]));
    plan.places = 1;
    let (outcome, begun) = plan.run();
    assert_eq!(ended(&outcome), (StopReason::TargetFailed, [15, 15]));
    assert_eq!((begun.len(), outcome.waiting_count), (1, 2));
}

#[test]
fn a_success_ends_a_row_of_failures_but_brings_no_target_back() {
    let mut failures = Failures::new(3);
    assert!(!failures.add(0, EIO, takes(1), 1) && !failures.add(0, EIO, takes(1), 2));
    failures.forget_row();
    assert_eq!(failures.in_a_row(), 0);
    assert!(!failures.add(0, EIO, takes(1), 3) && !failures.is_gone());
    assert!(failures.add(0, libc::ENXIO, takes(1), 4));
    failures.forget_row();
    assert!(failures.is_gone());
}

/// Every 50 ms the driver looks: at 50 one had ended, so 300 is the first look after 200 ms.
#[test]
fn a_target_that_answers_nothing_more_ends_the_run() {
    let mut plan = plan(script([(1, vec![takes(10), takes(NEVER)])]));
    plan.silence_s = 0.2;
    let (outcome, _) = plan.run();
    assert_eq!(ended(&outcome), (StopReason::TargetSilent, [300, 300]));
    assert_eq!((outcome.outstanding_count, outcome.waiting_count), (1, 0));
}

#[test]
fn what_waits_at_the_end_begins_for_a_limited_time() {
    let dues_ms = [0, 1, 2, 3, 4, 90];
    let waiting = dues_ms.map(|due_ms| takes(100).due(due_ms)).into();
    let mut plan = plan(script([(u32::MAX, waiting)]));
    plan.places = 1;
    plan.limits.seconds = Some(0.05);
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(0, 100), (100, 100), (200, 100)]);
    assert_eq!(ended(&outcome), (StopReason::Seconds, [50, 300]));
    assert_eq!((outcome.outstanding_count, outcome.waiting_count), (0, 2));
}

#[test]
fn what_is_in_flight_then_gets_the_same_time_again() {
    let mut plan = plan(script([(1, vec![takes(NEVER)])]));
    plan.limits.seconds = Some(0.05);
    let (outcome, _) = plan.run();
    assert_eq!(ended(&outcome), (StopReason::Seconds, [50, 550]));
    assert_eq!(outcome.outstanding_count, 1);
}

#[test]
fn an_interrupt_forgets_what_has_not_begun() {
    let mut plan = plan(script([(1, vec![takes(10); 99])]));
    plan.is_unwanted_at = 3;
    let (outcome, begun) = plan.run();
    assert_eq!(ended(&outcome), (StopReason::Interrupted, [150, 150]));
    assert_eq!((begun.len(), outcome.waiting_count), (15, 1));
}

#[test]
fn what_found_a_place_and_is_given_up_waits_again() {
    let mut load = plan(script([(3, vec![takes(1); 3])])).load();
    load.start(false);
    let begun = load.take(&mut |_| true).expect("a place");
    load.begin(&[begun], 0);
    assert_eq!((load.outstanding_count(), load.waiting_count()), (3, 0));
    load.stop(StopReason::Interrupted, 5);
    load.give_up_waiting(5);
    load.give_up_waiting(9);
    assert_eq!(load.given_up_ns(), Some(5));
    assert_eq!((load.outstanding_count(), load.waiting_count()), (1, 2));
    assert!(!load.is_runnable() && !load.is_over());
    let (mut waiting, mut present) = (0, 0);
    load.visit_present(|_, _| waiting += 1, |_, _, _| present += 1);
    assert_eq!((waiting, present), (2, 1));
    load.succeed(begun, 7);
    load.replenish(7);
    assert!(load.is_over());
}

#[test]
fn the_oldest_is_the_one_that_began_first_and_what_is_inserted_comes_before_all_others() {
    let operations = |all: [u64; 2]| all.map(takes).into();
    let mut plan = plan(script([(2, operations([1, 2])), (2, operations([3, 4]))]));
    plan.places = 3;
    let mut load = plan.load();
    load.start(false);
    assert!(load.oldest_outstanding().is_none(), "none has begun");
    let mut ready = Vec::new();
    load.take_ready(&mut ready);
    load.begin(&ready[1..2], 4);
    load.begin(&ready[..1], 6);
    assert_eq!(load.oldest_outstanding(), Some((&takes(2), 4)));
    load.insert(1, takes(9), 7);
    load.succeed(ready[0], 8);
    load.replenish(8);
    let next = load.take_waiting(&mut |_| true).expect("a place");
    assert_eq!(*load.operation(next), takes(9));
    assert_eq!((load.outstanding_count(), load.waiting_count()), (3, 1));
}
