//! Tests of the SPC-1-like workload against its published values.

use proptest::prelude::*;
use serde_json::json;

use super::super::chances::{assert_share, chi_square};
use super::super::order::merged;
use super::super::tests::{drawn, made, refused};
use super::*;

const GIB: u64 = 1 << 30;

/// Shares of random reads, random writes, sequential reads and sequential writes in the mix.
fn matrix() -> [f64; 4] {
    let mut matrix = [0.0; 4];
    for law in STREAMS {
        let row = if matches!(law.place, Place::Sequential(..)) {
            2
        } else {
            0
        };
        matrix[row] += law.intensity * law.read_share;
        matrix[row + 1] += law.intensity * (1.0 - law.read_share);
    }
    matrix
}

fn mean_blocks(law: &StreamLaw) -> f64 {
    match law.place {
        Place::Sequential(..) => SMIX
            .iter()
            .map(|&(size, share)| f64::from(size) * share / 100.0)
            .sum(),
        _ => 1.0,
    }
}

fn assert_near(found: f64, published: f64, half_digit: f64) {
    assert!(
        (found - published).abs() <= half_digit,
        "{found} against {published}"
    );
}

/// Oracle: the published figures, to the last digit printed.
#[test]
fn the_tables_add_up_to_the_published_figures() {
    let of_asu = |asu| -> f64 {
        let own = STREAMS.iter().filter(|law| law.asu == asu);
        own.map(|law| 100.0 * law.intensity).sum()
    };
    for (asu, published) in [59.6, 12.3, 28.1].into_iter().enumerate() {
        assert_near(of_asu(asu), published, 1e-9);
    }
    for (share, published) in matrix().into_iter().zip([28.9, 32.5, 10.5, 28.1]) {
        assert_near(100.0 * share, published, 0.05 + 1e-9);
    }
    let reads: f64 = STREAMS
        .iter()
        .map(|law| law.intensity * law.read_share)
        .sum();
    assert_near(100.0 * reads, 39.4, 0.05 + 1e-9);
    assert_near(4.0 * mean_blocks(&STREAMS[7]), 14.4, 1e-9);
    let mean: f64 = STREAMS
        .iter()
        .map(|law| law.intensity * mean_blocks(law))
        .sum();
    assert_near(4.0 * mean, 8.0, 0.05);
}

/// Oracle: the shares of the tables among the requests that are drawn.
#[test]
fn drawn_requests_have_the_shares_of_the_tables() {
    let mut source = made(&json!({"kind": "spc1_like", "bsus": 30}), 4, 4 * GIB);
    let count = 200_000;
    let requests: Vec<(usize, Request)> = merged(&mut *source, count);
    let mut cells = [0; 4];
    let mut streams = [0; 8];
    for &(stream, request) in &requests {
        let is_run = matches!(STREAMS[stream].place, Place::Sequential(..));
        let is_write = request.kind == Kind::Write;
        cells[2 * usize::from(is_run) + usize::from(is_write)] += 1;
        streams[stream] += 1;
    }
    for (found, share) in cells.into_iter().zip(matrix()) {
        assert_share(found, count, share);
    }
    for (found, law) in streams.into_iter().zip(STREAMS) {
        assert_share(found, count, law.intensity);
    }
    for (blocks, share) in SMIX {
        let runs = requests.iter().filter(|(stream, _)| *stream == 7);
        let own = runs.filter(|(_, request)| request.length == 4096 * blocks);
        assert_share(own.count(), streams[7], share / 100.0);
    }
    // The time of the last of n requests has a mean of n / rate and a deviation of its root.
    let end_s = requests[count - 1].1.due_ns.expect("open") as f64 / 1e9;
    let expected_s = count as f64 / (30.0 * RATE_OF_BSU);
    assert_near(end_s / expected_s, 1.0, 5.0 / (count as f64).sqrt());
}

/// Oracle: gaps of a Poisson process fall into ten equally likely bins alike (99.9% point of
/// chi-square with 9 degrees: 27.88).
#[test]
fn gaps_of_each_stream_are_exponential() {
    let mut source = made(&json!({"kind": "spc1_like", "bsus": 250}), 9, 4 * GIB);
    for (stream, law) in STREAMS.iter().enumerate() {
        let mean_ns = 1e9 / (250.0 * RATE_OF_BSU * law.intensity);
        let mut counts = [0_u32; 10];
        let mut last_ns = 0;
        for request in drawn(&mut *source, stream, 50_000) {
            let due_ns = request.due_ns.expect("open");
            let below = 1.0 - (-((due_ns - last_ns) as f64) / mean_ns).exp();
            let bin = (0..9)
                .find(|&bin| below < f64::from(bin + 1) / 10.0)
                .unwrap_or(9);
            counts[usize::try_from(bin).expect("ten bins")] += 1;
            last_ns = due_ns;
        }
        let distance = chi_square(&counts, |_| 0.1);
        assert!(distance < 27.88, "{}: {distance} {counts:?}", law.name);
    }
}

/// Every BSU runs on its own, for 10% of the ASU less what no longer fits, and starts inside.
#[test]
fn sequential_runs_last_a_tenth_of_the_unit_and_start_where_they_may() {
    let mut source = made(&json!({"kind": "spc1_like", "bsus": 3}), 5, GIB);
    let asu = asus(GIB)[0];
    let mut running: Vec<(u64, u64)> = Vec::new();
    let mut ended = Vec::new();
    for request in drawn(&mut *source, 2, 20_000) {
        let block = request.offset / BLOCK;
        let behind = block + u64::from(request.length) / BLOCK;
        if let Some(run) = running.iter_mut().find(|(_, next)| *next == block) {
            run.1 = behind;
            continue;
        }
        assert!((asu.at(20)..asu.at(60)).contains(&block));
        if running.len() == 3 {
            // Which one ended shows only by its length.
            let longest = (0..3).max_by_key(|&run| running[run].1 - running[run].0);
            let (start, next) = running.swap_remove(longest.expect("three runs"));
            ended.push(next - start);
        }
        running.push((block, behind));
    }
    assert!(ended.len() > 5, "{ended:?}");
    for length in ended {
        assert!(length <= asu.at(10) && length + 16 > asu.at(10), "{length}");
    }
}

#[test]
fn the_ramp_offers_exactly_the_share_asked_for() {
    for (bsus, share) in [(50, 0.95), (50, 0.1), (3, 0.5), (1, 0.1)] {
        let load = Load::new(bsus, share);
        assert_near(load.rate_per_s, bsus as f64 * share * 50.0, 1e-9);
        assert!(load.bsus >= 1 && load.bsus <= bsus);
    }
}

#[test]
fn targets_without_room_for_a_walk_are_refused() {
    let workload = json!({"kind": "spc1_like", "bsus": 1});
    let error = refused(&workload, 80 << 20);
    assert!(error.problem.contains("89 MiB"), "{error}");
    made(&workload, 1, 89 << 20);
    let first = json!({"kind": "spc1_like", "bsus": 1, "variant": "version_1"});
    assert!(refused(&first, 177 << 20).problem.contains("178 MiB"));
    made(&first, 1, 178 << 20);
    for (wrong, key) in [
        (json!({"kind": "spc1_like"}), "workload"),
        (json!({"kind": "spc1_like", "bsus": 0}), "workload.bsus"),
        (
            json!({"kind": "spc1_like", "bsus": 1, "load_share": 0.0}),
            "workload.load_share",
        ),
        (
            json!({"kind": "spc1_like", "bsus": 1, "variant": "v2"}),
            "workload.variant",
        ),
    ] {
        assert_eq!(refused(&wrong, GIB).key, key);
    }
}

proptest! {
    #[test]
    fn streams_stay_in_their_part_and_do_not_depend_on_the_order_of_asking(
        mebibytes in 178..3000_u64,
        rest in 0..10_000_u64,
        bsus in 1..250_u64,
        is_first: bool,
        seed: u64,
        order in prop::collection::vec(0..8_usize, 0..400),
    ) {
        let bytes = (mebibytes << 20) + rest;
        let variant = if is_first { "version_1" } else { "published" };
        let workload = json!({"kind": "spc1_like", "bsus": bsus, "variant": variant});
        let mut source = made(&workload, seed, bytes);
        let mut seen = vec![vec![]; 8];
        for stream in order {
            seen[stream].extend(source.next(stream));
        }
        for (stream, (seen, law)) in seen.into_iter().zip(STREAMS).enumerate() {
            let asu = asus(bytes)[law.asu];
            let (low, high) = match law.place {
                Place::Uniform => (0, asu.blocks),
                Place::Walk(low, high) => (asu.at(low), asu.at(high)),
                // Rounded down to 64 KiB in version 1.
                Place::Sequential(low, high, run) => {
                    (asu.at(low).saturating_sub(15), asu.at(high) + asu.at(run))
                }
            };
            let mut due_ns = Some(0);
            for request in &seen {
                let block = request.offset / BLOCK - asu.first;
                prop_assert_eq!(request.offset % BLOCK, 0);
                prop_assert!(block >= low && block + u64::from(request.length) / BLOCK <= high);
                prop_assert!(request.offset + u64::from(request.length) <= bytes);
                prop_assert!(request.due_ns >= due_ns);
                due_ns = request.due_ns;
            }
            let alone = drawn(&mut *made(&workload, seed, bytes), stream, seen.len());
            prop_assert_eq!(alone, seen);
        }
    }
}
