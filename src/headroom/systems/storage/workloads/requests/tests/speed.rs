//! The time to draw a request. Not a test: it prints timings.
//!
//! `cargo test --release --lib requests::tests::speed -- --ignored --nocapture`

use std::hint::black_box;

use serde_json::{Value, json};

use super::made;

#[test]
#[ignore = "prints figures; depends on the machine"]
#[allow(clippy::disallowed_methods, reason = "this is a stopwatch, no model")]
fn speed_of_sources() {
    let weighted = json!([{"bytes": 4096, "weight": 3.0}, {"bytes": 65536, "weight": 1.0}]);
    let micro = |more: Value| {
        let mut workload = json!({"kind": "micro"});
        let own = more.as_object().expect("a table").clone();
        workload.as_object_mut().expect("a table").extend(own);
        workload
    };
    let cases = [
        ("random reads", micro(json!({}))),
        ("random, 70% reads", micro(json!({"read_share": 0.7}))),
        ("sequential", micro(json!({"pattern": "sequential"}))),
        (
            "strided",
            micro(json!({"pattern": "strided", "stride_bytes": 65536})),
        ),
        (
            "mixed pattern, sizes, kinds",
            micro(json!({
            "sequential_share": 0.5, "block_bytes": weighted, "read_share": 0.7})),
        ),
        ("random, Poisson", micro(json!({"rate_per_s": 1e5}))),
        (
            "random, constant rate",
            micro(json!({"rate_per_s": 1e5, "arrivals": "constant"})),
        ),
        ("Zipf", micro(json!({"pattern": "zipf"}))),
        (
            "SPC-1-like, 20 BSUs",
            json!({"kind": "spc1_like", "bsus": 20}),
        ),
    ];
    let count = 10_000_000;
    for (name, workload) in cases {
        let mut source = made(&workload, 1, 1 << 40);
        let streams = source.streams().len();
        let best_ns = (0..3)
            .map(|_| {
                let start = std::time::Instant::now();
                for turn in 0..count {
                    black_box(source.next(turn % streams));
                }
                start.elapsed().as_secs_f64() * 1e9 / count as f64
            })
            .fold(f64::INFINITY, f64::min);
        eprintln!("{name:30} {best_ns:6.1} ns a request");
    }
}
