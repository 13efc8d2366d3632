//! Statistical tolerances of random numbers, for tests.

/// Check that `count` of `total` independent draws is near the probability `share`.
///
/// # Panics
///
/// Panics if it is more than five standard deviations off: by chance once in 1.7 million.
pub fn assert_share(count: usize, total: usize, share: f64) {
    let deviation = (share * (1.0 - share) / total as f64).sqrt();
    let found = count as f64 / total as f64;
    let distance = (found - share).abs();
    assert!(
        distance <= 5.0 * deviation + 1e-12,
        "{count} of {total} is {found}, not {share} within {deviation}"
    );
}

/// Return Pearson's distance of `counts` from the expectation of `share`.
pub fn chi_square(counts: &[u32], share: impl Fn(usize) -> f64) -> f64 {
    let total: f64 = counts.iter().copied().map(f64::from).sum();
    let one = |(index, &count): (usize, &u32)| {
        let expected = total * share(index);
        (f64::from(count) - expected).powi(2) / expected
    };
    counts.iter().enumerate().map(one).sum()
}
