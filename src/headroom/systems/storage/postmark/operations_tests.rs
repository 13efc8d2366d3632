//! Tests of the generator: legality for all parameters, and probability laws.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn parameters() -> impl Strategy<Value = Parameters> {
    let sizes = (0_u64..200, 0_u64..200);
    let bias = || prop_oneof![Just(-1.0), 0.0..=10.0_f64];
    let numbers = (1_u64..40, 0_u64..400, 0_u32..4, any::<bool>());
    (numbers, sizes, bias(), bias()).prop_filter_map(
        "nothing to do",
        |(numbers, sizes, read, create)| {
            let (files, transactions, subdirectories, another) = numbers;
            Parameters {
                files,
                transactions,
                subdirectories,
                size_low_bytes: sizes.0.min(sizes.1),
                size_high_bytes: sizes.0.max(sizes.1),
                read_bias: read,
                create_bias: create,
                at_full: if another {
                    AtFull::Another
                } else {
                    AtFull::Nothing
                },
                ..Parameters::default()
            }
            .checked()
            .ok()
        },
    )
}

/// The pool as a plain map: number of the file -> (place, subfolder, size).
type Model = BTreeMap<u64, (u64, u32, u64)>;

fn carry_out(model: &mut Model, one: &Operation, asked: &Parameters) -> Result<(), TestCaseError> {
    let (low, high) = (asked.size_low_bytes, asked.size_high_bytes);
    let known = (one.slot, one.subdirectory);
    match one.kind {
        Kind::Create => {
            prop_assert!(one.bytes >= low && (one.bytes < high || low == high));
            prop_assert!(one.subdirectory < asked.subdirectories.max(1));
            prop_assert!(model.values().all(|file| file.0 != one.slot));
            prop_assert!(one.slot < asked.files_limit());
            prop_assert!(
                model
                    .insert(one.file, (one.slot, one.subdirectory, one.bytes))
                    .is_none()
            );
        }
        Kind::Read => {
            prop_assert_eq!(model.get(&one.file), Some(&(known.0, known.1, one.bytes)));
        }
        Kind::Append => {
            let file = model.get_mut(&one.file).expect("the file exists");
            prop_assert_eq!((file.0, file.1, file.2), (known.0, known.1, one.offset));
            prop_assert!(one.bytes > 0 && one.offset + one.bytes <= high);
            file.2 += one.bytes;
        }
        Kind::Delete => {
            prop_assert_eq!(model.remove(&one.file), Some((known.0, known.1, one.bytes)));
        }
        Kind::Nothing => prop_assert!(one.ends_transaction),
    }
    Ok(())
}

proptest! {
    /// Against a reference: each operation is legal on a plain map of files, and none is left.
    #[test]
    fn every_operation_is_legal_and_every_file_is_deleted(asked in parameters(), seed in any::<u64>()) {
        let mut operations = Operations::new(asked.clone(), seed, 0);
        let (mut model, mut phase, mut ended, mut largest) = (Model::new(), Phase::Creation, 0, 0);
        for one in operations.by_ref() {
            prop_assert!(one.phase >= phase);
            phase = one.phase;
            carry_out(&mut model, &one, &asked)?;
            largest = largest.max(model.len() as u64);
            ended += u64::from(one.ends_transaction);
        }
        prop_assert!(model.is_empty());
        prop_assert!(operations.files().is_empty());
        prop_assert!(largest <= asked.files_limit());
        prop_assert_eq!(ended, operations.transaction_count());
        prop_assert!(ended == asked.transactions || operations.undone().is_out_of_files);
    }

    /// Conservation: in each transaction one of each pair that is on, or it is counted as undone.
    #[test]
    fn each_transaction_has_one_of_each_pair(asked in parameters(), seed in any::<u64>()) {
        let mut operations = Operations::new(asked.clone(), seed, 0);
        let mut counts = [0_u64; 5];
        for one in operations.by_ref().filter(|one| one.phase == Phase::Transactions) {
            counts[one.kind as usize] += 1;
        }
        let (undone, done) = (operations.undone(), operations.transaction_count());
        let asked_of = |share: Option<f64>| if share.is_some() { done } else { 0 };
        let [creates, reads, appends, deletes, _] = counts;
        prop_assert_eq!(reads + appends + undone.full_append_count, asked_of(asked.read_share()));
        prop_assert_eq!(creates + deletes + undone.full_create_count, asked_of(asked.create_share()));
    }

    /// A walk repeats bit for bit, and a thread's walk differs from that of another.
    #[test]
    fn a_walk_is_a_function_of_parameters_seed_and_thread(asked in parameters(), seed in any::<u64>()) {
        let walk = |thread| Operations::new(asked.clone(), seed, thread).collect::<Vec<_>>();
        prop_assert_eq!(walk(0), walk(0));
    }
}

/// Return how often each kind came in the transactions, and its bytes.
fn totals(asked: &Parameters, seed: u64) -> ([f64; 5], [f64; 5]) {
    let (mut counts, mut bytes) = ([0.0; 5], [0.0; 5]);
    for one in Operations::new(asked.clone(), seed, 0) {
        if one.phase == Phase::Transactions {
            counts[one.kind as usize] += 1.0;
            bytes[one.kind as usize] += one.bytes as f64;
        }
    }
    (counts, bytes)
}

/// Oracle: shares of a known chance, within five standard deviations of the binomial law.
#[test]
fn the_mix_is_the_one_asked_for() {
    for (read_bias, create_bias) in [(3.5, 5.0), (0.0, 5.0), (10.0, 4.9), (6.25, 5.1)] {
        let asked = Parameters {
            files: 5_000,
            transactions: 40_000,
            read_bias,
            create_bias,
            at_full: AtFull::Another,
            ..Parameters::default()
        };
        let ([creates, reads, ..], _) = totals(&asked, 3);
        for (count, bias) in [(reads, read_bias), (creates, create_bias)] {
            let share: f64 = bias / 10.0;
            let deviation = (40_000.0 * share * (1.0 - share)).sqrt();
            assert!(
                (count - 40_000.0 * share).abs() <= 5.0 * deviation,
                "{count} at {bias}"
            );
        }
    }
}

/// Oracle: a file with room for r bytes takes H(r) = 1 + 1/2 + ... + 1/r appends on average until
/// it is full, because each append is uniform on what room is left.
#[test]
fn appends_fill_a_file_as_the_harmonic_numbers_say() {
    let asked = Parameters {
        files: 4_000,
        transactions: 300_000,
        size_low_bytes: 1,
        size_high_bytes: 10,
        read_bias: 0.0,
        create_bias: -1.0,
        ..Parameters::default()
    };
    let ([_, _, appends, ..], bytes) = totals(&asked, 5);
    // Sizes are 1..9, so the room is 1..9 too.
    let harmonic = |room: u32| (1..=room).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    let mean = (1..=9).map(harmonic).sum::<f64>() / 9.0;
    // The number of appends of one file has a variance below its mean.
    let bound = 5.0 * (mean / 4_000.0_f64).sqrt();
    assert!(
        (appends / 4_000.0 - mean).abs() < bound,
        "{} against {mean}",
        appends / 4_000.0
    );
    // All are full now: each got 10 B less its first size, which is uniform on 1..9.
    let growth = bytes[Kind::Append as usize] / 4_000.0;
    assert!(
        (growth - 5.0).abs() < 5.0 * (60.0 / 9.0 / 4_000.0_f64).sqrt(),
        "{growth}"
    );
}

#[test]
fn another_read_bias_meets_the_same_sizes() {
    let sizes = |read_bias| {
        let asked = Parameters {
            read_bias,
            ..Parameters::default()
        };
        let creates = Operations::new(asked, 9, 0).filter(|one| one.kind == Kind::Create);
        creates.map(|one| one.bytes).collect::<Vec<_>>()
    };
    assert_eq!(sizes(3.5), sizes(8.0));
}

#[test]
fn threads_walk_differently() {
    let walk = |thread| Operations::new(Parameters::default(), 9, thread).collect::<Vec<_>>();
    assert_ne!(walk(0), walk(1));
}

#[test]
fn a_pool_that_runs_out_ends_the_transactions() {
    let asked = Parameters {
        files: 7,
        transactions: 100,
        create_bias: 0.0,
        ..Parameters::default()
    };
    let mut operations = Operations::new(asked, 1, 0);
    assert_eq!(
        operations
            .by_ref()
            .filter(|one| one.kind == Kind::Delete)
            .count(),
        7
    );
    assert_eq!(operations.transaction_count(), 7);
    assert!(operations.undone().is_out_of_files);
}

#[test]
fn twice_the_files_are_the_most_that_exist() {
    let asked = Parameters {
        files: 500,
        transactions: 1000,
        create_bias: 10.0,
        ..Parameters::default()
    };
    let mut operations = Operations::new(asked, 1, 0);
    assert_eq!(
        operations
            .by_ref()
            .filter(|one| one.kind == Kind::Create)
            .count(),
        1000
    );
    assert_eq!(operations.undone().full_create_count, 500);
}
