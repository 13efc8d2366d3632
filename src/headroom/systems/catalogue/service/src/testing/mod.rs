//! Helpers that the tests of several parts share.

pub mod logs;
pub mod pki;
mod random;
pub mod tokens;

pub use random::Random;
