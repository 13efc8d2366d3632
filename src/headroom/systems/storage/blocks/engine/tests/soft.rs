//! The whole engine on a soft device: its report equals the script.

use crate::simulation::kernel::run::result::HistogramTable;
use crate::systems::storage::blocks::engine::{Measured, run};
use crate::systems::storage::verify::findings::Fault;

fn measured(script: &str, rest: &str) -> Measured {
    let job = format!(
        r#"{{"seed": 1, "target": {{"kind": "soft", "bytes": 1048576, "script": {script}}}, {rest}}}"#
    );
    run(job.as_bytes(), &mut || true).unwrap_or_else(|error| panic!("{error}: {job}"))
}

/// Return the value (s) that a share of the requests stays at or below, as bounds of its bin.
fn quantile(histogram: &HistogramTable, share: f64) -> (f64, f64) {
    let bins = histogram.bin_low.len();
    let counts: Vec<u64> = (0..bins)
        .map(|bin| histogram.counts.iter().skip(bin).step_by(bins).sum())
        .collect();
    let total: u64 = counts.iter().sum();
    let mut seen = 0;
    let place = counts.iter().position(|count| {
        seen += count;
        seen as f64 >= share * total as f64
    });
    let place = place.expect("the last bin is reached");
    (histogram.bin_low[place], histogram.bin_high[place])
}

fn holds((low, high): (f64, f64), value: f64) -> bool {
    low <= value * (1.0 + 1e-9) && value <= high * (1.0 + 1e-9)
}

const READS: &str = r#""workload": {"kind": "micro", "depth": 1, "block_bytes": 4096},
    "stop": {"requests": 1000}"#;

#[test]
fn percentiles_and_extremes_are_those_of_the_script() {
    // Of a hundred reads, 90 take 100 us, 8 take 1 ms, one 5 ms and one 20 ms.
    let mut times = vec!["1e-4"; 90];
    times.extend(["1e-3"; 8]);
    times.extend(["5e-3", "2e-2"]);
    let script = format!(r#"{{"servers": 1, "read_s": [{}]}}"#, times.join(", "));
    let outcome = measured(&script, READS).outcome;
    for (name, histograms) in [
        ("response", &outcome.response),
        ("service", &outcome.service),
    ] {
        let histogram = &histograms[0].values.histogram;
        for (share, expected) in [
            (0.5, 1e-4),
            (0.9, 1e-4),
            (0.95, 1e-3),
            (0.985, 5e-3),
            (0.999, 2e-2),
        ] {
            let found = quantile(histogram, share);
            assert!(
                holds(found, expected),
                "{name} p{}: {found:?}",
                100.0 * share
            );
        }
    }
    assert_eq!(outcome.classes[0].service_s, (1e-4, 2e-2));
    assert!((outcome.end_s - 10.0 * (90.0 * 1e-4 + 8e-3 + 25e-3)).abs() < 1e-12);
}

#[test]
fn a_stall_is_in_the_response_of_all_that_were_due_and_in_the_service_of_one() {
    let script = r#"{"servers": 1, "read_s": [1e-4], "stalls": [{"at_s": 1.0, "for_s": 0.5}]}"#;
    let load = r#""workload": {"kind": "micro", "block_bytes": 4096,
        "rate_per_s": 1000.0, "arrivals": "constant"}, "stop": {"seconds": 3.0}"#;
    let outcome = measured(script, load).outcome;
    let class = &outcome.classes[0];
    // Lindley's recursion for requests due every millisecond.
    let (mut free, mut sum, mut largest) = (0.0_f64, 0.0_f64, 0.0_f64);
    let first_due = 3.0 - class.completion_count as f64 * 1e-3;
    for number in 0..class.completion_count {
        let due = first_due + number as f64 * 1e-3;
        let begin = free.max(due);
        free = if begin < 1.5 && begin + 1e-4 > 1.0 {
            begin.min(1.0) + 0.5 + 1e-4
        } else {
            begin + 1e-4
        };
        sum += free - due;
        largest = largest.max(free - due);
    }
    assert!(class.completion_count >= 2999);
    assert!(largest > 0.5, "the stall is felt");
    let table = &outcome.snapshots.classes;
    let column = &table
        .columns
        .iter()
        .find(|one| one.0 == "response_s_sum")
        .expect("there")
        .1;
    let found = column[column.len() - 1];
    assert!(
        (found / sum - 1.0).abs() < 0.02,
        "{found} s, by the recursion {sum} s"
    );
    assert!((class.response_s.1 / largest - 1.0).abs() < 0.02);
}

#[test]
fn errors_are_as_many_as_the_script_has() {
    let script = r#"{"errors": [{"kind": "read", "offset": 65536, "bytes": 4096, "times": 3}]}"#;
    let load = r#""workload": {"kind": "micro", "pattern": "sequential", "depth": 1,
        "block_bytes": 4096}, "stop": {"requests": 2560}"#;
    let run = measured(script, load);
    assert_eq!(run.outcome.failures.len(), 1);
    let failure = &run.outcome.failures[0].failure;
    assert_eq!(
        (failure.errno, failure.count, failure.first.offset),
        (libc::EIO, 3, 65536)
    );
    assert_eq!(run.truth.expect("a soft device").error_count, 3);
    assert_eq!(run.outcome.classes[0].completion_count, 2557);
}

/// Each of 256 blocks is written once; then all is read back.
const WRITES: &str = r#""workload": {"kind": "micro", "pattern": "sequential", "depth": 4,
    "block_bytes": 4096, "read_share": 0.0}, "stop": {"requests": 256}, "verify": {"run": 9}"#;

#[test]
fn lost_torn_and_misdirected_writes_are_as_many_as_the_script_has() {
    let script = r#"{"lost": [5, 70, 200], "torn": [{"write": 100, "kept_bytes": 512}],
        "misdirected": [{"write": 30, "to": 4096}]}"#;
    let run = measured(script, WRITES);
    let findings = run.findings.expect("the run verifies");
    let counts = Fault::ALL.map(|fault| (fault.name(), findings.count(fault)));
    let truth = run.truth.expect("a soft device");
    assert_eq!(
        (truth.lost_count, truth.torn_count, truth.misdirected_count),
        (3, 1, 1)
    );
    // A lost first write leaves zeros, and so does a misdirected one at its intended place.
    let expected = [
        ("lost", 0),
        ("torn", 1),
        ("misdirected", 1),
        ("foreign", 4),
        ("unknown", 0),
    ];
    assert_eq!(counts, expected);
    assert_eq!(findings.cell_count, 256);
}

#[test]
fn an_honest_device_is_clean_under_overlapping_requests() {
    let load = r#""workload": {"kind": "micro", "depth": 64, "block_bytes": 16384, "align_bytes": 4096,
        "read_share": 0.5}, "stop": {"requests": 20000}, "verify": {"run": 9}"#;
    let script = r#"{"servers": 7, "read_s": [1e-4, 3e-4], "write_s": [2e-4, 1e-3, 5e-5]}"#;
    let run = measured(script, load);
    let findings = run.findings.expect("the run verifies");
    assert!(findings.is_clean(), "{findings:?}");
    assert!(findings.cell_count > 40_000);
}

#[test]
fn a_device_that_vanishes_ends_the_run_with_what_was_measured() {
    let load = r#""workload": {"kind": "micro", "depth": 4, "block_bytes": 4096},
        "stop": {"seconds": 10.0}"#;
    let run = measured(r#"{"read_s": [1e-3], "vanishes_at_s": 0.5}"#, load);
    assert_eq!(run.outcome.stop_reason.name(), "target_failed");
    assert_eq!(run.outcome.classes[0].completion_count, 4 * 500);
    assert!(run.outcome.problem.is_some());
}
