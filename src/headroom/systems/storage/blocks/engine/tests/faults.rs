//! Failing requests, vanishing targets, partial operations, and contents that reject data.

use serde_json::json;

use super::scripted::{
    Listed, Scripted, assert_laws, at_end, job, reads, request, run, run_with, whole,
};
use crate::recording::load::StopReason;
use crate::systems::storage::blocks::engine::content::Content;
use crate::systems::storage::blocks::engine::pattern::Pattern;
use crate::systems::storage::workloads::request::{Kind, Request};

#[test]
fn a_failed_request_is_counted_by_its_error_and_is_in_no_histogram() {
    let mut backend = Scripted::new(|operation| {
        let is_bad = operation.offset / 4096 % 10 == 3;
        (
            if is_bad { 9_000_000 } else { 1000 },
            if is_bad { -libc::EIO } else { 4096 },
        )
    });
    let source = Listed::new(vec![(1, reads(100, |_| None))]);
    let outcome = run(&job(&json!({})), source, &mut backend);
    let failure = &outcome.failures[0];
    assert_eq!(
        (failure.class.as_str(), failure.failure.errno),
        ("read", libc::EIO)
    );
    assert_eq!(
        (failure.failure.count, failure.failure.first.offset),
        (10, 3 * 4096)
    );
    assert_eq!(failure.failure.first_ns, 3 * 1000 + 9_000_000);
    assert_eq!(outcome.classes[0].completion_count, 90);
    assert!(outcome.classes[0].response_s.1 < 1e-5);
    assert_eq!(
        outcome.response[0]
            .values
            .histogram
            .counts
            .iter()
            .sum::<u64>(),
        90
    );
    assert_laws(&outcome);
}

#[test]
fn a_target_that_fails_again_and_again_ends_the_run_with_what_was_measured() {
    let mut backend = Scripted::new(|operation| {
        let is_gone = operation.offset >= 500 * 4096;
        (1000, if is_gone { -libc::EIO } else { 4096 })
    });
    let source = Listed::new(vec![(4, reads(1_000_000, |_| None))]);
    let outcome = run(&job(&json!({"failure_limit": 20})), source, &mut backend);
    assert_eq!(outcome.stop_reason, StopReason::TargetFailed);
    assert_eq!(outcome.classes[0].completion_count, 500);
    let failed = outcome.failures[0].failure.count;
    assert!((20..=20 + 4).contains(&failed), "{failed}");
    assert_laws(&outcome);
}

#[test]
fn a_device_that_is_no_longer_there_ends_the_run_at_once() {
    let mut backend = Scripted::new(|_| (1000, -libc::ENODEV));
    let source = Listed::new(vec![(1, reads(1_000_000, |_| None))]);
    let outcome = run(&job(&json!({})), source, &mut backend);
    assert_eq!(outcome.stop_reason, StopReason::TargetFailed);
    assert_eq!(outcome.failures[0].failure.count, 1);
}

#[test]
fn failures_apart_from_each_other_do_not_end_a_run() {
    let mut backend = Scripted::new(|operation| {
        let is_bad = operation.offset / 4096 % 2 == 0;
        (1000, if is_bad { -libc::EIO } else { 4096 })
    });
    let source = Listed::new(vec![(1, reads(1000, |_| None))]);
    let outcome = run(&job(&json!({"failure_limit": 2})), source, &mut backend);
    assert_eq!(outcome.stop_reason, StopReason::SourceEnded);
    assert_eq!(outcome.failures[0].failure.count, 500);
}

#[test]
fn a_part_is_continued_until_the_request_is_whole() {
    let mut moved = Vec::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut backend = Scripted::new(move |operation| {
        sender
            .send((operation.offset, operation.length, operation.at))
            .expect("a receiver");
        (1000, operation.length.min(1500).cast_signed())
    });
    let source = Listed::new(vec![(1, reads(1, |_| None))]);
    let pattern = Pattern::new(1, 0.0);
    let (outcome, carrier) = run_with(&job(&json!({})), source, &mut backend, pattern);
    drop(backend);
    moved.extend(receiver);
    assert_eq!(
        moved,
        [(0, 4096, 0), (1500, 2596, 1500), (3000, 1096, 3000)]
    );
    assert_eq!(carrier.continued_count(), 2);
    assert_eq!(outcome.classes[0].completion_count, 1);
    assert!((at_end(&outcome, "service_s_sum") - 3e-6).abs() < 1e-15);
    assert_laws(&outcome);
}

#[test]
fn the_end_of_a_file_is_a_failure_and_no_success() {
    let mut backend = Scripted::new(|_| (1000, 0));
    let source = Listed::new(vec![(1, reads(3, |_| None))]);
    let outcome = run(&job(&json!({})), source, &mut backend);
    assert_eq!(
        (
            outcome.failures[0].failure.errno,
            outcome.failures[0].failure.count
        ),
        (0, 3)
    );
    assert_eq!(outcome.classes[0].completion_count, 0);
}

#[test]
fn requests_that_nobody_can_serve_any_more_are_given_up_and_told() {
    // One place, a second each, a thousand due in the first second: the rest is waited for 1 s.
    let source = Listed::new(vec![(1, reads(1000, |index| Some(1_000_000 * index)))]);
    let plan = job(&json!({"stop": {"seconds": 0.9}}));
    let outcome = run(&plan, source, &mut Scripted::constant(1_000_000_000));
    assert_eq!(outcome.stop_reason, StopReason::Seconds);
    assert_eq!(outcome.classes[0].arrival_count, 900);
    assert_eq!(
        outcome.classes[0].completion_count + outcome.waiting_count,
        900
    );
    assert!(outcome.classes[0].completion_count < 5);
    assert_laws(&outcome);
}

/// A content that lets one request for each offset be outstanding.
#[derive(Default)]
struct OneAtATime {
    outstanding: Vec<u64>,
    most: usize,
    ends: u64,
}

impl Content for OneAtATime {
    fn is_careful(&self) -> bool {
        true
    }

    fn admits(&mut self, request: &Request) -> bool {
        !self.outstanding.contains(&request.offset)
    }

    fn begin(&mut self, _place: u32, request: &Request, _buffer: &mut [u8]) {
        assert!(self.admits(request));
        self.outstanding.push(request.offset);
        self.most = self.most.max(self.outstanding.len());
    }

    fn end(&mut self, _place: u32, request: &Request, _buffer: &[u8], _errno: Option<i32>) {
        self.outstanding.retain(|&offset| offset != request.offset);
        self.ends += 1;
    }
}

#[test]
fn a_content_may_hold_requests_back_that_overlap() {
    let writes = |step: u64| (0..100).map(move |i| request(Kind::Write, i * step % 3, 4096, None));
    let source = Listed::new(vec![(4, writes(1).collect()), (4, writes(2).collect())]);
    let content = OneAtATime::default();
    let mut backend = Scripted::new(|operation| (1000 + operation.offset, whole(operation)));
    let (outcome, carrier) = run_with(&job(&json!({})), source, &mut backend, content);
    assert_eq!((carrier.content.ends, carrier.content.most), (200, 3));
    assert_eq!(outcome.classes[0].completion_count, 200);
    assert_laws(&outcome);
}
