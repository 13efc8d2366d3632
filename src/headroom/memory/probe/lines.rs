//! Lines that are handed over together, each by the word on it.

use super::sync::atomic::{AtomicU64, Ordering};

/// A word alone on its lines: neighbours are fetched in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Alone(pub AtomicU64);

/// Write a number to all words, to the last one last.
pub fn write(words: &[Alone], number: u64) {
    for word in words {
        word.0.store(number, Ordering::Release);
    }
}

/// Return whether all words have a number. The last one was written last, so that the others are
/// there if it is.
pub fn have(words: &[Alone], number: u64) -> bool {
    let (last, others) = words.split_last().expect("at least one word");
    last.0.load(Ordering::Acquire) == number
        && others
            .iter()
            .all(|word| word.0.load(Ordering::Relaxed) == number)
}
