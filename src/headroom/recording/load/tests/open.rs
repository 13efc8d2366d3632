//! Open loads: an operation arrives when it is due, whatever the target does.

use super::*;

/// Return operations due every 10 ms, of these durations (ms).
fn paced<const COUNT: usize>(durations_ms: [u64; COUNT]) -> Vec<Op> {
    let dues_ms = (0..).step_by(10);
    let all = durations_ms.into_iter().zip(dues_ms);
    all.map(|(takes_ms, due_ms)| takes(takes_ms).due(due_ms))
        .collect()
}

/// Cause (coordinated omission): a stall of 25 ms is felt by all that were due in it, and counted
/// from their due times.
#[test]
fn a_stall_is_felt_by_all_that_were_due_in_it() {
    let mut plan = plan(script([(u32::MAX, paced([25, 5, 5, 5, 5]))]));
    plan.places = 1;
    plan.script.allowance_ms = Some(15);
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(0, 25), (25, 5), (30, 5), (35, 5), (40, 5)]);
    let total = &outcome.classes[0];
    assert_eq!(
        (range(total.response_s), range(total.service_s)),
        ([5, 25], [5, 25])
    );
    assert_eq!(range(total.submit_error_s), [0, 15]);
    assert_eq!(ms(total.submit_error_s_sum), 15 + 10 + 5);
    // Response times 25, 20, 15, 10 and 5; the last found a place that became free at its due time.
    assert_eq!([total.defect_count, total.late_count], [2, 3]);
    assert_eq!(ms(outcome.response[0].values.totals[0].iter().sum()), 75);
}

#[test]
fn a_full_stream_makes_its_own_operations_late_and_no_others() {
    let (full, other) = (paced([25, 5]), takes(5).due(12).write());
    let (outcome, begun) = plan(script([(1, full), (1, vec![other])])).run();
    assert_eq!(begun, [(0, 25), (12, 5), (25, 5)]);
    assert_eq!(
        [0, 1].map(|class: usize| outcome.classes[class].late_count),
        [1, 0]
    );
}

#[test]
fn operations_of_several_streams_begin_when_they_are_due() {
    let (one, other) = (takes(3), takes(4));
    let one = vec![one.due(1), one.due(21)];
    let other = vec![other.due(11), other.due(11), other.due(31)];
    let (outcome, begun) = plan(script([(4, one), (4, other)])).run();
    assert_eq!(begun, [(1, 3), (11, 4), (11, 4), (21, 3), (31, 4)]);
    assert_eq!(range(outcome.classes[0].submit_error_s), [0, 0]);
    assert_eq!(ended(&outcome), (StopReason::SourceEnded, [31, 35]));
}

#[test]
fn what_is_due_at_the_end_of_the_load_or_later_does_not_arrive() {
    for (end_s, arrived, ends_ms) in [(0.020, 2, [20, 20]), (0.021, 3, [21, 29])] {
        let mut plan = plan(script([(4, paced([1, 7, 9, 1]))]));
        plan.limits.seconds = Some(end_s);
        let (outcome, begun) = plan.run();
        assert_eq!(begun.len(), arrived);
        assert_eq!(ended(&outcome), (StopReason::Seconds, ends_ms));
    }
}

#[test]
fn a_load_far_beyond_the_target_is_ended_as_overload() {
    let flood = (1 << 20) + 3;
    let mut plan = plan(script([(u32::MAX, vec![takes(NEVER).due(0); flood])]));
    plan.places = 1;
    plan.drain_s = 0.0;
    let (outcome, begun) = plan.run();
    assert_eq!((ended(&outcome).0, begun.len()), (StopReason::Overload, 1));
    assert_eq!(outcome.waiting_count, (1 << 20) + 1);
}
