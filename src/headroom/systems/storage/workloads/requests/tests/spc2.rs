//! Tests of SPC-2-like workloads.

use proptest::prelude::*;
use serde_json::json;

use super::super::chances::assert_share;
use super::super::spc2::{QUERY_READ_SHARE, VIDEO_BLOCK};
use super::{drawn, made, refused};
use crate::systems::storage::workloads::request::Kind;

const MIB: u64 = 1 << 20;

#[test]
fn files_are_written_converted_and_read_in_order() {
    let kinds_and_blocks = |phase: &str| -> Vec<(Kind, u64)> {
        let workload = json!({"kind": "spc2_like", "part": "lfp", "streams": 2,
            "block_bytes": MIB, "phase": phase});
        let mut source = made(&workload, 1, 9 * MIB);
        assert_eq!(source.streams()[1].depth, 1);
        let requests = drawn(&mut *source, 1, 5);
        requests
            .iter()
            .map(|one| (one.kind, one.offset / MIB))
            .collect()
    };
    let all = |kind| [4, 5, 6, 7, 4].map(|block| (kind, block));
    assert_eq!(kinds_and_blocks("write_only"), all(Kind::Write));
    assert_eq!(kinds_and_blocks("read_only"), all(Kind::Read));
    let (read, write) = (Kind::Read, Kind::Write);
    let turns = [(read, 4), (write, 6), (read, 5), (write, 7), (read, 4)];
    assert_eq!(kinds_and_blocks("read_write"), turns);
}

#[test]
fn queries_read_ninety_nine_of_a_hundred_blocks() {
    let workload = json!({"kind": "spc2_like", "part": "ldq", "streams": 1,
        "block_bytes": 65536, "depth": 4});
    let mut source = made(&workload, 1, 64 * MIB);
    assert_eq!(source.streams()[0].depth, 4);
    let requests = drawn(&mut *source, 0, 100_000);
    let reads = requests.iter().filter(|one| one.kind == Kind::Read).count();
    assert_share(reads, requests.len(), QUERY_READ_SHARE);
}

/// Oracle: block n of a stream of rate r is due at n x block / r, and late one block later.
#[test]
fn films_run_at_their_rate_and_tell_when_a_block_is_late() {
    let workload = json!({"kind": "spc2_like", "part": "vod", "streams": 4,
        "rate_bytes_per_s": 1_000_000.0});
    let mut source = made(&workload, 1, 64 * MIB);
    assert_eq!(source.streams()[0].depth, 8);
    let period_ns = VIDEO_BLOCK * 1000;
    assert_eq!(source.allowance_ns(2), Some(period_ns));
    // Streams begin one after the other within the period.
    let due: Vec<Option<u64>> = drawn(&mut *source, 2, 1000)
        .iter()
        .map(|one| one.due_ns)
        .collect();
    let expected = (0..1000).map(|turn| Some(period_ns / 2 + turn * period_ns));
    assert!(due.into_iter().eq(expected));
}

#[test]
fn what_does_not_belong_to_a_part_is_refused() {
    let cases = [
        (
            json!({"part": "lfp", "streams": 1, "block_bytes": MIB}),
            "phase",
        ),
        (
            json!({"part": "lfp", "streams": 1, "phase": "read_only"}),
            "block_bytes",
        ),
        (
            json!({"part": "lfp", "streams": 1, "phase": "read_only", "block_bytes": MIB, "depth": 4}),
            "depth",
        ),
        (
            json!({"part": "lfp", "streams": 9, "phase": "read_only", "block_bytes": MIB}),
            "streams",
        ),
        (
            json!({"part": "lfp", "streams": 5, "phase": "read_write", "block_bytes": MIB}),
            "streams",
        ),
        (
            json!({"part": "ldq", "streams": 1, "block_bytes": MIB}),
            "depth",
        ),
        (
            json!({"part": "ldq", "streams": 1, "block_bytes": MIB, "depth": 2}),
            "depth",
        ),
        (
            json!({"part": "ldq", "streams": 1, "block_bytes": MIB, "depth": 1, "phase": "read_only"}),
            "phase",
        ),
        (json!({"part": "vod", "streams": 1}), "rate_bytes_per_s"),
        (
            json!({"part": "vod", "streams": 0, "rate_bytes_per_s": 1.0}),
            "streams",
        ),
        (json!({"part": "dvd", "streams": 1}), "part"),
    ];
    for (mut workload, key) in cases {
        workload["kind"] = json!("spc2_like");
        let error = refused(&workload, 8 * MIB);
        assert_eq!(error.key, format!("workload.{key}"), "{workload}: {error}");
    }
}

proptest! {
    #[test]
    fn streams_keep_to_their_own_part(
        streams in 1..20_usize,
        bytes in 40 * MIB..400 * MIB,
        phase in prop::sample::select(vec!["write_only", "read_write", "read_only"]),
    ) {
        let workload = json!({"kind": "spc2_like", "part": "lfp", "streams": streams,
            "block_bytes": MIB, "phase": phase});
        let mut source = made(&workload, 1, bytes);
        let mut end = 0;
        for stream in 0..streams {
            let requests = drawn(&mut *source, stream, 900);
            let first = requests.iter().map(|one| one.offset).min().expect("some");
            prop_assert!(first >= end);
            end = requests.iter().map(|one| one.offset + MIB).max().expect("some");
        }
        prop_assert!(end <= bytes);
    }

    #[test]
    fn a_stream_gives_the_same_requests_in_any_order_of_asking(
        order in prop::collection::vec(0..3_usize, 0..200),
        seed: u64,
        part in prop::sample::select(vec![
            json!({"part": "ldq", "block_bytes": 65536, "depth": 4}),
            json!({"part": "vod", "rate_bytes_per_s": 1e6}),
            json!({"part": "lfp", "block_bytes": MIB, "phase": "read_write"}),
        ]),
    ) {
        let mut workload = part;
        workload["kind"] = json!("spc2_like");
        workload["streams"] = json!(3);
        let mut mixed = made(&workload, seed, 64 * MIB);
        let mut seen = [vec![], vec![], vec![]];
        for stream in order {
            seen[stream].extend(mixed.next(stream));
        }
        for (stream, seen) in seen.into_iter().enumerate() {
            let mut source = made(&workload, seed, 64 * MIB);
            prop_assert!(seen.iter().map(|one| one.due_ns).is_sorted());
            prop_assert_eq!(drawn(&mut *source, stream, seen.len()), seen);
        }
    }
}
