//! Closed loads: an operation arrives as soon as there is room for it.

use serde_json::{Value, json};

use super::super::json as as_json;
use super::*;

#[test]
fn each_end_makes_room_for_the_next_operation() {
    let mut plan = plan(script([(2, [10, 20, 30, 40, 50].map(takes).into())]));
    plan.limits.operations = Some(4);
    plan.sample_ms = Some(10);
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(0, 10), (0, 20), (10, 30), (20, 40)]);
    assert_eq!(ended(&outcome), (StopReason::Requests, [20, 60]));
    let [total] = &outcome.classes[..] else {
        panic!("one class was used")
    };
    assert_eq!(total.name, "read");
    assert_eq!(
        [total.begin_count, total.defect_count, total.late_count],
        [4, 0, 0]
    );
    assert_eq!(
        (range(total.response_s), range(total.service_s)),
        ([10, 40], [10, 40])
    );
    assert!(total.submit_error_s.0.is_nan() && total.submit_error_s.1.is_nan());
    let series = &outcome.series[0].values;
    assert_eq!(all_ms(&series.values), [10, 20, 30, 40]);
    assert_eq!(all_ms(&series.end_times_s), [10, 20, 40, 60]);
    // The state at each moment: what ends at it is still there.
    let samples = outcome.samples.expect("samples");
    assert_eq!(all_ms(&samples.times_s), [10, 20, 30, 40, 50, 60]);
    for (name, expected) in [
        ("arrival_count", [2, 3, 4, 4, 4, 4]),
        ("completion_count", [0, 1, 2, 2, 3, 3]),
        ("bytes", [0, 100, 200, 200, 300, 300]),
        ("response_s_sum", [0, 10, 30, 30, 60, 60]),
        ("jobs_s", [20, 40, 60, 80, 90, 100]),
        ("busy_s", [20, 40, 60, 80, 90, 100]),
        ("age_s", [20, 30, 30, 50, 30, 40]),
        ("queue_s", [0; 6]),
        ("queue_age_s", [0; 6]),
    ] {
        assert_eq!(values(&samples.classes, name), expected, "{name}");
        assert_eq!(values(&samples.stations, name), expected, "{name}");
    }
    let last = values(&outcome.snapshots.classes, "completion_count").pop();
    assert_eq!(last, Some(4), "the last snapshot is the end");
}

#[test]
fn what_has_waited_longest_begins_first_and_a_station_sums_its_classes() {
    let (read, write) = (takes(10), takes(11).write());
    let mut plan = plan(script([(1, vec![read; 2]), (1, vec![write; 2])]));
    plan.places = 1;
    plan.sample_ms = Some(21);
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(0, 10), (10, 11), (21, 10), (31, 11)]);
    // The second write arrived at the end of the first, 21, and began at 31.
    let responses = outcome.classes.iter().map(|one| range(one.response_s));
    assert_eq!(responses.collect::<Vec<_>>(), [[10, 21], [21, 21]]);
    let samples = outcome.samples.expect("samples");
    // Rows of both classes at 21, then at 42: the first read left at 10, its successor waits.
    for (name, expected) in [
        ("wait_s_sum", [0, 10, 11, 20]),
        ("queue_age_s", [11, 0, 0, 0]),
        ("age_s", [11, 21, 0, 21]),
        ("queue_s", [11, 10, 11, 20]),
    ] {
        assert_eq!(values(&samples.classes, name), expected, "{name}");
    }
    assert_eq!(values(&samples.stations, "queue_s"), [21, 31]);
    assert_eq!(values(&samples.stations, "jobs_s"), [42, 73]);
    assert_eq!(samples.stations.capacity, [1.0]);
}

#[test]
fn a_stream_has_no_more_outstanding_than_its_depth_and_the_places_allow() {
    for (depth, places, begins) in [
        (1, 4, [0, 10, 20, 30]),
        (3, 2, [0, 0, 10, 10]),
        (3, 4, [0, 0, 0, 10]),
    ] {
        let mut plan = plan(script([(depth, vec![takes(10); 4])]));
        plan.places = places;
        let (outcome, begun) = plan.run();
        assert_eq!(begun, begins.map(|begin_ms| (begin_ms, 10)));
        assert_eq!(range(outcome.classes[0].response_s), [10, 10], "no wait");
    }
}

#[test]
fn a_load_ends_when_the_last_of_its_streams_does() {
    let (outcome, _) = plan(script([(1, vec![takes(10)]), (1, vec![takes(10); 3])])).run();
    assert_eq!(ended(&outcome), (StopReason::SourceEnded, [30, 30]));
    assert_eq!(outcome.classes[0].completion_count, 4);
}

#[test]
fn what_may_not_begin_lets_others_pass_until_something_ends() {
    let write = takes(5).write();
    let mut plan = plan(script([(1, vec![takes(10); 2]), (1, vec![write])]));
    plan.carrier.is_careful = true;
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(0, 10), (10, 5), (10, 10)]);
    assert_eq!(range(outcome.classes[1].response_s), [15, 15]);
}

#[test]
fn an_operation_ends_with_its_last_step() {
    let mut plan = plan(script([(1, [10, 20].map(takes).into())]));
    plan.carrier.count = 2;
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(0, 10), (10, 10), (20, 20), (40, 20)]);
    assert_eq!(outcome.classes[0].completion_count, 2);
    assert_eq!(range(outcome.classes[0].service_s), [20, 40]);
}

/// Time from the end of an operation to the arrival of the next one is the think time, and no
/// part of a response time.
#[test]
fn nothing_is_due_in_a_closed_load_without_an_end() {
    let load = plan(script([(1, vec![takes(10)])])).load();
    assert_eq!(load.next_event_ns(), None);
}

#[test]
fn a_user_thinks_before_each_operation_and_the_pause_is_in_no_response_time() {
    let mut plan = plan(script([(1, vec![takes(7); 3])]));
    plan.script.thinks_ms = [10, 20, 30, 40].into();
    plan.limits.operations = Some(3);
    let (outcome, begun) = plan.run();
    assert_eq!(begun, [(10, 7), (37, 7), (74, 7)]);
    assert_eq!(range(outcome.classes[0].response_s), [7, 7]);
    assert_eq!(ended(&outcome), (StopReason::Requests, [74, 81]));
}

#[test]
#[should_panic(expected = "a user thinks of one operation at a time")]
fn a_user_who_thinks_of_two_operations_is_a_bug() {
    let mut plan = plan(script([(2, vec![takes(7)])]));
    plan.script.thinks_ms = [10].into();
    plan.load();
}

#[test]
fn a_long_series_keeps_means_of_batches() {
    let (outcome, _) = plan(script([(1, vec![takes(3); 1100])])).run();
    let series = &outcome.series[0].values;
    assert!(series.batch_size > 1);
    assert!(all_ms(&series.values).iter().all(|&mean_ms| mean_ms == 3));
}

#[test]
fn a_result_as_json_has_the_names_that_merging_reads() {
    let mut plan = plan(script([(2, [10, 20, 30, 40].map(takes).into())]));
    plan.sample_ms = Some(30);
    let written = Value::Object(as_json::outcome(&plan.run().0));
    for (place, expected) in [
        ("/stop_reason", json!("source_ended")),
        ("/load_s", json!(0.04)),
        ("/end_s", json!(0.06)),
        ("/outstanding_count", json!(0)),
        ("/classes/read/completion_count", json!(4)),
        ("/classes/read/response_s_min", json!(0.01)),
        ("/classes/read/response_s_max", json!(0.04)),
        ("/classes/read/submit_error_s_min", json!(null)),
        ("/histograms/response_s/read/totals/sums", json!([0.1])),
        ("/histograms/response_s/read/counts", json!([1, 1, 1, 1])),
        ("/histograms/submit_error_s/read/counts", json!([])),
        ("/series/read/values", json!([0.01, 0.02, 0.03, 0.04])),
        ("/samples/times_s", json!([0.03, 0.06])),
        ("/samples/classes/columns/busy_s", json!([0.06, 0.1])),
        ("/snapshots/stations/names", json!(["server"])),
    ] {
        assert_eq!(written.pointer(place), Some(&expected), "{place}");
    }
}
