//! Disks compared with theory.

use proptest::prelude::*;

use super::*;
use crate::simulation::kernel::random::stream::open;

fn parameters() -> Parameters {
    Parameters {
        disks: 1,
        capacity_bytes: 20_000_000_000,
        sector_bytes: 512,
        heads: 4,
        zones: 10,
        rotation_s: 4e-3,
        outer_bytes_per_s: 120e6,
        inner_bytes_per_s: 70e6,
        seek_single_s: 0.4e-3,
        seek_mean_s: 3.5e-3,
        seek_full_s: 7.5e-3,
        head_switch_s: 0.3e-3,
        write_settle_s: 0.2e-3,
        overhead_s: 0.1e-3,
        bus_bytes_per_s: 400e6,
        segments: 16,
        segment_bytes: 1 << 20,
    }
}

fn disks(parameters: &Parameters) -> Disks {
    Disks::new(parameters, open(1, 2)).expect("possible disks")
}

/// Uniform sector of the disk, with its bytes.
fn anywhere(stream: &mut Stream, length: u64) -> (u64, u64) {
    let start = 512 * stream.random_range(0..(20_000_000_000 - length) / 512);
    (start, start + length)
}

#[test]
fn random_reads_take_the_mean_seek_and_half_a_turn() {
    // As many bytes on every track, so that uniform bytes are uniform cylinders, as the curve's
    // mean has them.
    let flat = Parameters {
        inner_bytes_per_s: 120e6,
        ..parameters()
    };
    let (mut disks, mut stream) = (disks(&flat), open(3, 4));
    let (mut now_s, mut sum_s, count) = (0.0, 0.0, 40_000);
    for _ in 0..count {
        let time_s = disks.serve(0, now_s, anywhere(&mut stream, 512), false);
        sum_s += time_s;
        now_s += time_s + 1e-3 * stream.random::<f64>();
    }
    let expected_s = 0.1e-3 + 3.5e-3 + 0.5 * 4e-3 + 512.0 / 120e6;
    let mean_s = sum_s / f64::from(count);
    assert!(
        (mean_s / expected_s - 1.0).abs() < 0.01,
        "{mean_s} for {expected_s}"
    );
}

#[test]
fn random_writes_settle_longer() {
    let (mut one, mut two) = (disks(&parameters()), disks(&parameters()));
    let mut stream = open(5, 6);
    let (mut reads_s, mut writes_s) = (0.0, 0.0);
    let count = 40_000;
    for _ in 0..count {
        let bytes = anywhere(&mut stream, 4096);
        // A turn is interrupted at random, so the effect of settling is seen on average.
        let pause_s = 4e-3 * stream.random::<f64>();
        reads_s += one.serve(0, 100.0 + reads_s + pause_s, bytes, false);
        writes_s += two.serve(0, 100.0 + writes_s + pause_s, bytes, true);
    }
    let longer_s = (writes_s - reads_s) / f64::from(count);
    assert!((longer_s / 0.2e-3 - 1.0).abs() < 0.25, "{longer_s}");
}

#[test]
fn reading_on_goes_at_the_rate_of_the_zone() {
    for (from, rate) in [(0, 120e6), (19_800_000_000_u64, 70e6)] {
        let mut disks = disks(&parameters());
        let mut now_s = disks.serve(0, 0.0, (from, from + 65_536), false);
        let begin_s = now_s;
        let count = 2000;
        for request in 1..=count {
            let start = from + request * 65_536;
            now_s += disks.serve(0, now_s, (start, start + 65_536), false);
        }
        let found = 65_536.0 * count as f64 / (now_s - begin_s);
        assert!((found / rate - 1.0).abs() < 0.01, "{found} for {rate}");
    }
}

#[test]
fn writing_through_one_after_the_other_loses_a_turn_each_time() {
    let mut disks = disks(&parameters());
    let mut now_s = disks.serve(0, 0.0, (0, 4096), true);
    for request in 1..50_u64 {
        let time_s = disks.serve(0, now_s, (4096 * request, 4096 * (request + 1)), true);
        // The next sector has just begun when the command arrives.
        let turns = time_s / 4e-3;
        assert!(
            turns > 0.9 && turns < 1.1,
            "{turns} turns for request {request}"
        );
        now_s += time_s;
    }
}

#[test]
fn what_was_read_or_read_ahead_comes_from_the_buffer() {
    let mut disks = disks(&parameters());
    let first_s = disks.serve(0, 0.0, (1 << 20, (1 << 20) + 4096), false);
    let hit_s = 0.1e-3 + 4096.0 / 400e6;
    let again_s = disks.serve(0, first_s, (1 << 20, (1 << 20) + 4096), false);
    assert!((again_s - hit_s).abs() < 1e-12);
    let ahead_s = disks.serve(0, 1.0, (3 << 19, (3 << 19) + 4096), false);
    assert!((ahead_s - hit_s).abs() < 1e-12);
    disks.serve(0, 2.0, (3 << 19, (3 << 19) + 4096), true);
    let written_s = disks.serve(0, 3.0, (3 << 19, (3 << 19) + 4096), false);
    assert!(written_s > 2.0 * hit_s, "{written_s}");
}

#[test]
fn disks_of_a_group_start_at_angles_of_their_own() {
    let many = Parameters {
        disks: 200,
        ..parameters()
    };
    let mut disks = disks(&many);
    let times: Vec<f64> = (0..200)
        .map(|disk| disks.serve(disk, 0.0, (0, 512), false))
        .collect();
    let mean_s = times.iter().sum::<f64>() / 200.0 - 0.1e-3;
    assert!((mean_s / 2e-3 - 1.0).abs() < 0.2, "{mean_s}");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let mut disks = disks(&parameters());
    for (function, arguments, word) in [
        (0, &[1.0, 0.0, 512.0, 0.0][..], "disk 1"),
        (0, &[0.0, 2e10, 512.0, 0.0], "leave the device"),
        (0, &[0.0, 0.0, 0.0, 0.0], "at least a byte"),
        (0, &[0.0, -1.0, 512.0, 0.0], "must be a whole number"),
        (1, &[2e10], "leave the device"),
    ] {
        let said = disks.call(function, 0.0, arguments).expect_err("refused");
        assert!(said.contains(word), "{said}");
    }
    let none = Parameters {
        heads: 0,
        ..parameters()
    };
    assert!(Disks::new(&none, open(1, 1)).is_err_and(|said| said.contains("heads")));
}

proptest! {
    /// No request is quicker than its data can pass, none slower than a full stroke, a turn and
    /// the transfer; and the same calls give the same answers.
    #[test]
    fn the_time_of_a_request_has_bounds(
        calls in prop::collection::vec((0_u64..39_000_000, 1_u64..2000, any::<bool>(), 0.0..0.01_f64), 1..60),
    ) {
        let (mut one, mut two) = (disks(&parameters()), disks(&parameters()));
        let mut now_s = 0.0;
        for (sector, count, is_write, pause_s) in calls {
            let bytes = (512 * sector, 512 * (sector + count));
            let time_s = one.serve(0, now_s, bytes, is_write);
            let length = (512 * count) as f64;
            prop_assert!(time_s >= 0.1e-3 + length / 400e6 - 1e-12);
            prop_assert!(time_s <= 0.1e-3 + 7.5e-3 + 0.2e-3 + 4e-3 + 1.2 * length / 70e6 + 2e-3);
            prop_assert_eq!(time_s.to_bits(), two.serve(0, now_s, bytes, is_write).to_bits());
            now_s += time_s + pause_s;
        }
    }
}
