//! Tests of micro workloads.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::chances::assert_share;
use super::{drawn, made, refused};
use crate::systems::storage::workloads::request::Kind;

const MIB: u64 = 1 << 20;

#[test]
fn sequential_streams_walk_their_range_and_begin_again() {
    let workload =
        json!({"kind": "micro", "pattern": "sequential", "block_bytes": 4096, "streams": 2});
    let mut source = made(&workload, 1, 4 * 4096);
    let offsets = |requests: Vec<_>| -> Vec<u64> {
        requests
            .into_iter()
            .map(|one: super::Request| one.offset / 4096)
            .collect()
    };
    assert_eq!(offsets(drawn(&mut *source, 0, 6)), [0, 1, 2, 3, 0, 1]);
    assert_eq!(offsets(drawn(&mut *source, 1, 6)), [2, 3, 0, 1, 2, 3]);
}

#[test]
fn strided_passes_cover_the_whole_range() {
    let workload = json!({"kind": "micro", "pattern": "strided", "stride_bytes": 3 * 4096});
    let requests = drawn(&mut *made(&workload, 1, 8 * 4096), 0, 9);
    let places: Vec<u64> = requests.iter().map(|one| one.offset / 4096).collect();
    assert_eq!(places, [0, 3, 6, 1, 4, 7, 2, 5, 0]);
}

/// A workload of one stream with any pattern, sizes and shares.
fn any_workload() -> impl Strategy<Value = Value> {
    (
        prop::sample::select(vec!["random", "sequential", "strided", "zipf"]),
        prop::collection::vec((1..200_000_u64, 0.1..5.0_f64), 1..4),
        0.0..=1.0_f64,
        prop::option::of(1.0..1e6_f64),
        prop::sample::select(vec![1_u64, 512, 4096, 6000]),
        prop::sample::select(vec!["spread", "first", "random"]),
        prop::array::uniform4(0.0..0.3_f64),
    )
        .prop_map(
            |(pattern, blocks, read_share, rate, align, start, shares)| {
                let blocks: Vec<Value> = blocks
                    .iter()
                    .map(|(bytes, weight)| json!({"bytes": bytes, "weight": weight}))
                    .collect();
                let mut workload = json!({
                    "kind": "micro", "streams": 3, "pattern": pattern, "block_bytes": blocks,
                    "read_share": read_share, "align_bytes": align, "start": start,
                    "stride_bytes": align * 7, "offset_bytes": align * 3, "range_bytes": MIB,
                    "zipf_exponent": 0.9,
                });
                for (name, share) in ["random", "sequential", "strided", "zipf"]
                    .iter()
                    .zip(shares)
                {
                    if *name != pattern {
                        workload[format!("{name}_share")] = json!(share);
                    }
                }
                if let Some(rate) = rate {
                    workload["rate_per_s"] = json!(rate);
                }
                workload
            },
        )
}

proptest! {
    #[test]
    fn requests_stay_inside_and_aligned_and_due_times_never_fall(
        workload in any_workload(),
        seed: u64,
    ) {
        let align = workload["align_bytes"].as_u64().expect("a number");
        let first = workload["offset_bytes"].as_u64().expect("a number");
        let mut source = made(&workload, seed, 2 * MIB);
        for stream in 0..3 {
            let mut due_ns = None;
            for request in drawn(&mut *source, stream, 300) {
                prop_assert_eq!(request.offset % align, 0);
                prop_assert!(request.offset >= first);
                prop_assert!(request.offset + u64::from(request.length) <= first + MIB);
                prop_assert!(request.due_ns >= due_ns);
                prop_assert_eq!(request.due_ns.is_some(), workload.get("rate_per_s").is_some());
                due_ns = request.due_ns;
            }
        }
    }

    #[test]
    fn a_stream_gives_the_same_requests_in_any_order_of_asking(
        workload in any_workload(),
        seed: u64,
        order in prop::collection::vec(0..3_usize, 0..300),
    ) {
        let mut mixed = made(&workload, seed, 2 * MIB);
        let mut seen = [vec![], vec![], vec![]];
        for stream in order {
            seen[stream].extend(mixed.next(stream));
        }
        for (stream, seen) in seen.into_iter().enumerate() {
            let alone = drawn(&mut *made(&workload, seed, 2 * MIB), stream, seen.len());
            prop_assert_eq!(alone, seen);
        }
    }
}

#[test]
fn shares_of_kinds_and_sizes_are_those_asked_for() {
    let workload = json!({
        "kind": "micro", "read_share": 0.35, "trim_share": 0.1,
        "block_bytes": [{"bytes": 4096, "weight": 3.0}, {"bytes": 8192, "weight": 1.0}],
    });
    let requests = drawn(&mut *made(&workload, 7, 64 * MIB), 0, 200_000);
    let share = |kind| requests.iter().filter(|one| one.kind == kind).count();
    assert_share(share(Kind::Read), requests.len(), 0.35);
    assert_share(share(Kind::Trim), requests.len(), 0.1);
    assert_share(share(Kind::Write), requests.len(), 0.55);
    let small = requests.iter().filter(|one| one.length == 4096).count();
    assert_share(small, requests.len(), 0.75);
}

#[test]
fn shares_of_zero_and_one_are_exact() {
    for (read, trim, kind) in [
        (1.0, 0.0, Kind::Read),
        (0.0, 1.0, Kind::Trim),
        (0.0, 0.0, Kind::Write),
    ] {
        let workload = json!({"kind": "micro", "read_share": read, "trim_share": trim});
        let requests = drawn(&mut *made(&workload, 7, MIB), 0, 1000);
        assert!(requests.iter().all(|one| one.kind == kind));
    }
}

#[test]
fn refusals_name_the_key_and_the_cure() {
    let cases = [
        (json!({"kind": "micro", "dept": 3}), "workload.dept"),
        (json!({"kind": "micro", "depth": "3"}), "workload.depth"),
        (json!({"kind": "micro", "depth": 0}), "workload.depth"),
        (json!({"kind": "micro", "streams": []}), "workload.streams"),
        (
            json!({"kind": "micro", "streams": [{"depth": -1}]}),
            "workload.streams[0].depth",
        ),
        (
            json!({"kind": "micro", "read_share": 1.5}),
            "workload.read_share",
        ),
        (
            json!({"kind": "micro", "block_bytes": 2 * MIB}),
            "workload.block_bytes",
        ),
        (
            json!({"kind": "micro", "block_bytes": "4 KiB"}),
            "workload.block_bytes",
        ),
        (
            json!({"kind": "micro", "offset_bytes": 100}),
            "workload.offset_bytes",
        ),
        (
            json!({"kind": "micro", "range_bytes": 2 * MIB}),
            "workload.range_bytes",
        ),
        (
            json!({"kind": "micro", "pattern": "strided"}),
            "workload.stride_bytes",
        ),
        (
            json!({"kind": "micro", "random_share": 0.5}),
            "workload.random_share",
        ),
        (
            json!({"kind": "micro", "zipf_share": 0.6, "sequential_share": 0.6}),
            "workload.zipf_share",
        ),
        (
            json!({"kind": "micro", "arrivals": "poisson"}),
            "workload.arrivals",
        ),
        (
            json!({"kind": "micro", "rate_per_s": 0.0}),
            "workload.rate_per_s",
        ),
        (json!({"kind": "macro"}), "workload.kind"),
        (json!({}), "workload.kind"),
        (json!(3), "workload"),
    ];
    for (workload, key) in cases {
        let error = refused(&workload, MIB);
        assert_eq!(error.key, key, "{workload}: {error}");
        assert!(!error.cure.is_empty());
    }
}
