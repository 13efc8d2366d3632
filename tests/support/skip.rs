//! Tests in Rust that cannot run where something is missing: each says so, and fails in continuous
//! integration, as `conftest.py` lets those in Python do.

use std::io::Write as _;

/// Start of a reason -> why that skip is right even in continuous integration.
const MAY_SKIP: [(&str, &str); 2] = [
    (
        "fewer than two processors",
        "nothing is handed over on one; the refusal of such a pair is tried everywhere",
    ),
    (
        "no wide instructions",
        "other processors have none; the plain lists, which give the same, are tried everywhere",
    ),
];

/// Report that a test does not run because of `reason`.
///
/// # Panics
///
/// With `CI=true`, unless the reason is among those that may be.
pub fn skip(reason: &str) {
    let is_required = std::env::var("CI").is_ok_and(|value| value == "true");
    let is_allowed = MAY_SKIP.iter().any(|(start, _)| reason.starts_with(start));
    assert!(
        is_allowed || !is_required,
        "skipped, which CI=true does not allow: {reason}"
    );
    // The macros would be caught by the harness, which shows nothing of a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}
