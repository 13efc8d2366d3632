//! Times and counts, compared with closed forms and an independent reference implementation.

use proptest::prelude::*;
use serde_json::json;

use super::scripted::{
    Listed, Scripted, assert_laws, at_end, job, reads, request, run, station, whole,
};
use crate::recording::load::StopReason;
use crate::systems::storage::blocks::engine::Outcome;
use crate::systems::storage::workloads::request::{Kind, Request};

const NS: f64 = 1e-9;

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * (1.0 + other.abs())
}

/// Arrivals every 10 us, service 25 us, one at a time: request i waits 15 i us.
#[test]
fn an_overloaded_server_makes_each_request_wait_longer() {
    let source = Listed::new(vec![(1, reads(100, |index| Some(10_000 * index)))]);
    let outcome = run(&job(&json!({})), source, &mut Scripted::constant(25_000));
    let total_ns: u64 = (0..100).map(|index| 25_000 + 15_000 * index).sum();
    assert!(close(
        at_end(&outcome, "response_s_sum"),
        total_ns as f64 * NS
    ));
    assert!(close(
        at_end(&outcome, "service_s_sum"),
        100.0 * 25_000.0 * NS
    ));
    assert!(close(
        outcome.classes[0].response_s.1,
        (25_000.0 + 15_000.0 * 99.0) * NS
    ));
    assert!(close(
        outcome.classes[0].submit_error_s.1,
        15_000.0 * 99.0 * NS
    ));
    assert!(close(outcome.end_s, 100.0 * 25_000.0 * NS));
    // Only the first found the place free.
    assert_eq!(outcome.classes[0].late_count, 99);
    assert_laws(&outcome);
}

/// As above: request i takes 25 + 15 i us, so those from the sixth on are later than 100 us.
#[test]
fn a_request_that_is_later_than_its_stream_allows_is_a_defect() {
    let mut source = Listed::new(vec![(1, reads(100, |index| Some(10_000 * index)))]);
    source.allowance_ns = Some(100_000);
    let outcome = run(&job(&json!({})), source, &mut Scripted::constant(25_000));
    assert_eq!(outcome.classes[0].defect_count, 100 - 6);
    assert_eq!(outcome.classes[0].completion_count, 100);
}

/// A stall of 10 ms meets one request only, but all that come due meanwhile feel it.
#[test]
fn a_stall_counts_for_all_requests_that_were_due_in_it() {
    let stall = |operation: &_| {
        (
            if at(operation) == 50 {
                10_000_000
            } else {
                1000
            },
            4096,
        )
    };
    let source = Listed::new(vec![(1, reads(200, |index| Some(100_000 * index)))]);
    let outcome = run(&job(&json!({})), source, &mut Scripted::new(stall));
    let slow = |limit_s: f64| count_above(&outcome, limit_s);
    // Due at 5.0, 5.1, ... 14.9 ms, served from 15 ms on, 1 us each: (10 - 0.1 i) ms at least.
    assert_eq!(slow(0.002), 80 + 1);
    assert_eq!(outcome.classes[0].service_s.1.to_bits(), 0.01_f64.to_bits());
    assert_eq!(outcome.stop_reason, StopReason::SourceEnded);
    assert_laws(&outcome);
}

fn at(operation: &crate::systems::storage::blocks::engine::backend::Operation) -> u64 {
    operation.offset / 4096
}

fn count_above(outcome: &Outcome, limit_s: f64) -> u64 {
    let table = &outcome.response[0].values.histogram;
    let bins = table.bin_low.len();
    let of_bin = |bin: usize| table.counts.iter().skip(bin).step_by(bins).sum::<u64>();
    (0..bins)
        .filter(|&bin| table.bin_low[bin] > limit_s)
        .map(of_bin)
        .sum()
}

/// Closed load: a request arrives when its place is free, so response is service.
#[test]
fn a_closed_load_keeps_its_depth_and_has_no_wait() {
    let source = Listed::new(vec![(8, reads(800, |_| None))]);
    let mut backend = Scripted::constant(5_000);
    let outcome = run(&job(&json!({})), source, &mut backend);
    assert_eq!(backend.running_max, 8);
    assert_eq!(outcome.classes[0].late_count, 0);
    assert!(close(outcome.end_s, 100.0 * 5_000.0 * NS));
    assert!(close(at_end(&outcome, "jobs_s"), 8.0 * outcome.end_s));
    assert!(close(at_end(&outcome, "wait_s_sum"), 0.0));
    assert!(close(at_end(&outcome, "bytes"), 800.0 * 4096.0));
    assert_laws(&outcome);
}

#[test]
fn a_request_is_never_begun_before_it_is_due_and_the_pause_is_nobodys() {
    let source = Listed::new(vec![(4, reads(10, |index| Some(1_000_000_000 * index)))]);
    let outcome = run(&job(&json!({})), source, &mut Scripted::constant(1000));
    assert!(close(outcome.classes[0].submit_error_s.1, 0.0));
    assert!(close(outcome.end_s, 9.0 + 1000.0 * NS));
    assert!(close(at_end(&outcome, "jobs_s"), 10.0 * 1000.0 * NS));
    assert_laws(&outcome);
}

#[test]
fn the_load_stops_at_the_first_limit_and_what_arrived_is_still_counted() {
    let endless = || Listed::new(vec![(4, reads(100_000, |_| None))]);
    let cases = [
        (json!({"seconds": 0.01}), StopReason::Seconds, 4 * 10),
        (json!({"requests": 17}), StopReason::Requests, 17),
        (json!({"bytes": 4096 * 9 + 1}), StopReason::Bytes, 10),
        (
            json!({"seconds": 1.0, "requests": 5}),
            StopReason::Requests,
            5,
        ),
    ];
    for (stop, reason, count) in cases {
        let mut backend = Scripted::constant(1_000_000);
        let outcome = run(&job(&json!({"stop": stop})), endless(), &mut backend);
        assert_eq!(outcome.stop_reason, reason);
        assert_eq!(outcome.classes[0].completion_count, count, "{stop}");
        assert_laws(&outcome);
    }
}

#[test]
fn syncs_follow_every_third_write_and_are_requests_of_their_own() {
    let writes = (0..10).map(|index| request(Kind::Write, 4096 * index, 4096, None));
    let source = Listed::new(vec![(1, writes.collect())]);
    let plan = json!({"sync": {"every": 3, "kind": "fdatasync"}});
    let order = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let seen = order.clone();
    let mut backend = Scripted::new(move |operation| {
        let mark = match operation.kind {
            Kind::Write => 'w',
            Kind::DataSync => 's',
            _ => '?',
        };
        seen.lock().expect("a lock").push(mark);
        (1000, whole(operation))
    });
    let outcome = run(&job(&plan), source, &mut backend);
    assert_eq!(*order.lock().expect("a lock"), "wwwswwwswwwsw");
    let names: Vec<&str> = outcome
        .classes
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["write", "sync"]);
    assert_eq!(outcome.classes[1].completion_count, 3);
    assert_laws(&outcome);
}

#[test]
fn what_ended_before_a_sample_is_in_it_and_nothing_else() {
    let source = Listed::new(vec![(1, reads(1000, |_| None))]);
    let plan = job(&json!({"sample_every_s": 0.0001}));
    let outcome = run(&plan, source, &mut Scripted::constant(30_000));
    let samples = outcome.samples.expect("samples");
    let counts = samples
        .stations
        .columns
        .iter()
        .find(|one| one.0 == "completion_count");
    for (&at_s, &count) in samples.times_s.iter().zip(&counts.expect("a column").1) {
        // An end at the very moment of the sample comes after it.
        let expected = ((at_s * 1e9).round() - 1.0).div_euclid(30_000.0);
        assert!(close(count, expected), "{at_s} {count} {expected}");
    }
    assert!(samples.times_s.len() > 290);
}

/// One request of a random script.
#[derive(Clone, Debug)]
struct Scene {
    gap_ns: u64,
    service_ns: u64,
    is_write: bool,
}

fn scenes() -> impl Strategy<Value = Vec<Scene>> {
    let one = (0_u64..50_000, 1_u64..200_000, any::<bool>());
    let scene = one.prop_map(|(gap_ns, service_ns, is_write)| Scene {
        gap_ns,
        service_ns,
        is_write,
    });
    prop::collection::vec(scene, 1..200)
}

/// Return arrival, begin and end of each request on `depth` servers, first come first served.
fn reference(scenes: &[Scene], depth: usize, is_open: bool) -> Vec<[u64; 3]> {
    let mut free = vec![0_u64; depth];
    let mut due_ns = 0;
    let mut times = Vec::new();
    for scene in scenes {
        free.sort_unstable();
        due_ns += scene.gap_ns;
        let arrived = if is_open { due_ns } else { free[0] };
        let begun = arrived.max(free[0]);
        free[0] = begun + scene.service_ns;
        times.push([arrived, begun, free[0]]);
    }
    times
}

fn requests_of(scenes: &[Scene], is_open: bool) -> Vec<Request> {
    let mut due_ns = 0;
    let one = |(index, scene): (u64, &Scene)| {
        due_ns += scene.gap_ns;
        let kind = if scene.is_write {
            Kind::Write
        } else {
            Kind::Read
        };
        request(kind, 4096 * index, 4096, is_open.then_some(due_ns))
    };
    (0..).zip(scenes).map(one).collect()
}

proptest! {
    /// Against a reference: every sum agrees to the nanosecond, class by class.
    #[test]
    fn all_times_are_those_of_servers_in_parallel(
        scenes in scenes(), depth in 1_usize..8, is_open in any::<bool>()
    ) {
        let service: Vec<u64> = scenes.iter().map(|scene| scene.service_ns).collect();
        let mut backend = Scripted::new(move |operation| {
            (service[usize::try_from(at(operation)).expect("small")], whole(operation))
        });
        let depth_of_stream = u32::try_from(depth).expect("small");
        let source = Listed::new(vec![(depth_of_stream, requests_of(&scenes, is_open))]);
        let outcome = run(&job(&json!({})), source, &mut backend);
        let times = reference(&scenes, depth, is_open);
        for (is_write, name) in [(false, "read"), (true, "write")] {
            let own = || scenes.iter().zip(&times).filter(|one| one.0.is_write == is_write);
            let Some(class) = outcome.classes.iter().position(|one| one.name == name) else {
                prop_assert_eq!(own().count(), 0);
                continue;
            };
            let sum = |from: usize, to: usize| {
                own().map(|(_, one)| one[to] - one[from]).sum::<u64>() as f64 * NS
            };
            let found = |column: &str| {
                let columns = &outcome.snapshots.classes.columns;
                let values = &columns.iter().find(|one| one.0 == column).expect("a column").1;
                values[values.len() - outcome.classes.len() + class]
            };
            prop_assert_eq!(outcome.classes[class].completion_count, own().count() as u64);
            prop_assert!(close(found("response_s_sum"), sum(0, 2)));
            prop_assert!(close(found("service_s_sum"), sum(1, 2)));
            prop_assert!(close(found("wait_s_sum"), sum(0, 1)));
            let waited = own().filter(|one| one.1[1] > one.1[0]).count() as u64;
            prop_assert_eq!(outcome.classes[class].late_count, if is_open { waited } else { 0 });
            let largest = own().map(|(_, one)| one[2] - one[0]).max().unwrap_or(0);
            prop_assert!(close(outcome.classes[class].response_s.1, largest as f64 * NS));
        }
        let end_ns = times.iter().map(|one| one[2]).max().unwrap_or(0);
        prop_assert!(close(outcome.end_s, end_ns as f64 * NS));
        assert_laws(&outcome);
    }

    /// Whatever answers come, at whatever depths: every request is in one account, and one only.
    #[test]
    fn no_request_is_lost_or_counted_twice(
        streams in prop::collection::vec((1_u32..6, 0_u64..60, any::<bool>()), 1..4),
        answers in prop::collection::vec((0_u64..90_000, -6_i32..4097), 1..50),
        every in 1_u64..5,
        seconds in prop::option::of(1e-5_f64..5e-3),
    ) {
        let of = |(count, is_open): (u64, bool)| {
            (0..count).map(|index| {
                let kind = [Kind::Read, Kind::Write, Kind::Trim, Kind::Sync][(index % 4) as usize];
                let length = if kind == Kind::Sync { 0 } else { 4096 };
                request(kind, 4096 * index, length, is_open.then_some(20_000 * index))
            }).collect::<Vec<_>>()
        };
        let source = Listed::new(
            streams.iter().map(|one| (one.0, of((one.1, one.2)))).collect()
        );
        let mut turn = 0;
        let mut backend = Scripted::new(move |operation| {
            turn += 1;
            let (service_ns, result) = answers[turn % answers.len()];
            let most = whole(operation);
            (service_ns, if result < 0 { result } else { result.min(most) })
        });
        let plan = json!({
            "sync": {"every": every, "kind": "fsync"},
            "stop": {"seconds": seconds},
            "failure_limit": 1000,
            "classes": "stream",
        });
        let outcome = run(&job(&plan), source, &mut backend);
        assert_laws(&outcome);
        prop_assert_eq!(outcome.outstanding_count, 0);
        for class in &outcome.classes {
            let ended = class.completion_count + class.failure_count;
            prop_assert!(ended <= class.begin_count && class.begin_count <= class.arrival_count);
        }
        let failed: u64 = outcome.failures.iter().map(|one| one.failure.count).sum();
        prop_assert_eq!(failed, outcome.classes.iter().map(|one| one.failure_count).sum::<u64>());
        let counted: u64 = outcome.response.iter().flat_map(|one| &one.values.histogram.counts).sum();
        let ends: u64 = outcome.classes.iter().map(|one| one.completion_count).sum();
        prop_assert_eq!(counted, ends);
        let jobs = station(&outcome, "jobs_s");
        prop_assert!(jobs.is_sorted());
    }
}
