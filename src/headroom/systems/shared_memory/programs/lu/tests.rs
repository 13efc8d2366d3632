//! Factors against plain elimination.

use super::super::run::run_threads;
use super::*;

fn factored(spec: Spec, threads: usize) -> Lu {
    let lu = Lu::new(spec, threads, 7).expect("sound");
    run_threads(&lu);
    lu
}

/// Oracle: elimination of the whole matrix, element by element, with the same order of
/// subtractions: the same bits.
#[test]
fn factors_are_those_of_plain_elimination() {
    let spec = Spec {
        order: 24,
        block: 4,
        storage: Storage::Contiguous,
    };
    let lu = factored(spec, 6);
    let mut plain: Vec<Vec<f64>> = (0..24)
        .map(|i| (0..24).map(|j| lu.input(i, j)).collect())
        .collect();
    for k in 0..24 {
        let (above, below) = plain.split_at_mut(k + 1);
        for row in below {
            row[k] /= above[k][k];
            for j in k + 1..24 {
                row[j] -= row[k] * above[k][j];
            }
        }
    }
    assert_eq!(lu.result(), plain.concat());
}

#[test]
fn storage_threads_and_blocks_change_no_bit() {
    let spec = |block, storage| Spec {
        order: 48,
        block,
        storage,
    };
    let one = factored(spec(8, Storage::Contiguous), 1);
    one.verify().expect("right");
    for (block, storage, threads) in [
        (8, Storage::Contiguous, 4),
        (8, Storage::Array, 6),
        (16, Storage::Contiguous, 2),
        (48, Storage::Array, 1),
    ] {
        assert_eq!(
            factored(spec(block, storage), threads).result(),
            one.result()
        );
    }
}

#[test]
fn a_wrong_factor_is_found() {
    let lu = factored(Spec::default(), 2);
    let check = lu.verify().expect("right");
    assert!(check.deviations[0].value > 0.0);
    let element = lu.element(200, 100);
    let right: f64 = lu.matrix.get(element, &mut Silent);
    for wrong in [right + 1e-9, f64::NAN] {
        lu.matrix.set(element, wrong, &mut Silent);
        assert!(
            lu.verify()
                .is_err_and(|why| why.contains("above its bound"))
        );
    }
}

#[test]
fn blocks_belong_to_the_threads_that_write_them() {
    for storage in [Storage::Contiguous, Storage::Array] {
        let spec = Spec {
            order: 20,
            block: 4,
            storage,
        };
        let lu = Lu::new(spec, 4, 1).expect("sound");
        let mut words = std::collections::BTreeSet::new();
        for (row, column) in (0..20).flat_map(|row| (0..20).map(move |column| (row, column))) {
            let word = lu.element(row, column);
            assert!(words.insert(word), "two elements share a word");
            let owner = lu.owner_of((row / 4, column / 4));
            assert_eq!(lu.owner(lu.matrix.address(word)), Some(owner));
        }
        assert_eq!(lu.owner(0), None);
    }
}

#[test]
fn impossible_sizes_are_refused_with_the_reason() {
    let refused = |order, block, threads| {
        let spec = Spec {
            order,
            block,
            storage: Storage::Array,
        };
        Lu::new(spec, threads, 1).expect_err("impossible")
    };
    assert!(refused(256, 0, 1).contains("a multiple of the block's"));
    assert!(refused(0, 16, 1).contains("1 to 16384 rows"));
    assert!(refused(250, 16, 1).contains("250 x 250 in blocks of 16 x 16"));
    assert!(refused(32, 16, 5).contains("each needs a block, but a row has 2"));
}
