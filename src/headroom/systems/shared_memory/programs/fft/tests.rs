//! Transforms against the definition and Parseval's theorem.

use super::super::run::run_threads;
use super::*;

fn transformed(points: usize, threads: usize) -> Fft {
    let fft = Fft::new(Spec { points }, threads, 3).expect("sound");
    run_threads(&fft);
    fft
}

/// Oracle: the definition.
#[test]
fn the_result_is_the_discrete_fourier_transform() {
    for (points, threads) in [(4, 1), (16, 4), (64, 2), (256, 16), (1024, 4)] {
        let fft = transformed(points, threads);
        for (frequency, found) in fft.spectrum().into_iter().enumerate() {
            let terms = (0..points).map(|j| product(fft.input(j), root(frequency * j, points)));
            let sum = terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
            let error = (sum.0 - found.0).abs() + (sum.1 - found.1).abs();
            assert!(
                error < 1e-15 * (points as f64).powf(1.5),
                "{points}, {frequency}: {error}"
            );
        }
    }
}

/// Oracle: Parseval's theorem.
#[test]
fn the_transform_keeps_the_energy_of_many_points() {
    let fft = transformed(1 << 16, 8);
    fft.verify().expect("right");
    let energy = |(real, imaginary): Complex| real * real + imaginary * imaginary;
    let after: f64 = fft.spectrum().into_iter().map(energy).sum();
    let before: f64 = (0..1 << 16).map(|point| energy(fft.input(point))).sum();
    assert!((after / before / 65_536.0 - 1.0).abs() < 1e-12);
}

#[test]
fn threads_change_no_bit() {
    let one = transformed(1024, 1).result();
    for threads in [2, 8, 32] {
        assert_eq!(transformed(1024, threads).result(), one);
    }
}

#[test]
fn a_wrong_number_is_found() {
    let fft = transformed(1024, 2);
    fft.verify().expect("right");
    fft.transposed.set(fft.element(31, 5), 0.25, &mut Silent);
    assert!(
        fft.verify()
            .is_err_and(|why| why.contains("above its bound"))
    );
}

#[test]
fn impossible_sizes_are_refused_with_the_reason() {
    let refused = |points, threads| Fft::new(Spec { points }, threads, 1).expect_err("impossible");
    for points in [0, 1, 2, 9, 36, 512, 1 << 26] {
        assert!(
            refused(points, 1).contains("a power of four from 4 to"),
            "{points}"
        );
    }
    assert!(refused(1024, 3).contains("divide the 32 rows of 1024 points equally"));
    assert!(refused(1024, 64).contains("use a power of two, at most 32"));
}
