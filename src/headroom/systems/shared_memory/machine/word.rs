//! Actions of a processor, 8 bytes each.
//!
//! | bits | access | else |
//! | --- | --- | --- |
//! | 62, 63 | 0 read, 1 write | 2 |
//! | 56 to 61 | bytes - 1 | 0 compute, 1 lock, 2 unlock |
//! | 48 to 55 | instructions before | |
//! | 0 to 47 | address | instructions, or the lock's number |

const KIND_BITS: u32 = 62;
const SIZE_BITS: u32 = 56;
const BEFORE_BITS: u32 = 48;
/// Addresses are below this.
pub const ADDRESS_END: u64 = 1 << BEFORE_BITS;
/// Instructions that an access carries at most.
const MOST_BEFORE: u64 = 0xFF;
/// Bytes (B) of the largest access.
pub const MOST_BYTES: u32 = 64;

/// A word, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads or writes memory.
    Access {
        /// First byte.
        address: u64,
        /// Bytes, from 1 to 64.
        bytes: u32,
        /// Whether it writes.
        is_write: bool,
        /// Instructions before it.
        instructions: u32,
    },
    /// Executes instructions that do not use memory.
    Compute(u64),
    /// Takes a lock.
    Lock(u64),
    /// Gives a lock back.
    Unlock(u64),
}

impl Action {
    /// Take a word apart.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "fields of 8 and 6 bits")]
    pub fn of(word: u64) -> Self {
        let value = word & (ADDRESS_END - 1);
        let size = (word >> SIZE_BITS & 0x3F) as u32;
        match (word >> KIND_BITS, size) {
            (kind @ (0 | 1), _) => Self::Access {
                address: value,
                bytes: size + 1,
                is_write: kind == 1,
                instructions: (word >> BEFORE_BITS & MOST_BEFORE) as u32,
            },
            (_, 0) => Self::Compute(value),
            (_, 1) => Self::Lock(value),
            (_, _) => Self::Unlock(value),
        }
    }
}

/// Writes words.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    words: Vec<u64>,
    /// Instructions since the last word.
    instructions: u64,
}

impl Recorder {
    /// Note an access of 1 to 64 bytes below [`ADDRESS_END`].
    #[inline]
    pub fn access(&mut self, address: u64, bytes: u32, is_write: bool) {
        debug_assert!(address < ADDRESS_END && (1..=MOST_BYTES).contains(&bytes));
        let before = self.instructions.min(MOST_BEFORE);
        if self.instructions > before {
            self.words.push(special(0, self.instructions - before));
        }
        self.instructions = 0;
        self.words.push(
            u64::from(is_write) << KIND_BITS
                | u64::from(bytes - 1) << SIZE_BITS
                | before << BEFORE_BITS
                | address,
        );
    }

    /// Note instructions that do not use memory.
    #[inline]
    pub fn compute(&mut self, instructions: u64) {
        self.instructions += instructions;
    }

    /// Note that a lock is taken.
    pub fn lock(&mut self, lock: u64) {
        self.flush();
        self.words.push(special(1, lock));
    }

    /// Note that a lock is given back.
    pub fn unlock(&mut self, lock: u64) {
        self.flush();
        self.words.push(special(2, lock));
    }

    /// Return the words so far.
    pub fn finish(mut self) -> Vec<u64> {
        self.flush();
        self.words
    }

    fn flush(&mut self) {
        if self.instructions > 0 {
            self.words.push(special(0, self.instructions));
            self.instructions = 0;
        }
    }
}

fn special(what: u64, value: u64) -> u64 {
    2 << KIND_BITS | what << SIZE_BITS | value & (ADDRESS_END - 1)
}

#[cfg(test)]
mod tests {
    use super::{Action, Recorder};
    use proptest::prelude::*;

    fn actions() -> impl Strategy<Value = Action> {
        prop_oneof![
            (0..super::ADDRESS_END, 1..=64_u32, any::<bool>()).prop_map(
                |(address, bytes, is_write)| Action::Access {
                    address,
                    bytes,
                    is_write,
                    instructions: 0
                }
            ),
            (0..100_000_u64).prop_map(Action::Compute),
            (0..1000_u64).prop_map(Action::Lock),
            (0..1000_u64).prop_map(Action::Unlock),
        ]
    }

    /// Returns the actions other than computing, and all instructions.
    fn summary(actions: impl Iterator<Item = Action>) -> (Vec<Action>, u64) {
        let mut total = 0;
        let mut rest = Vec::new();
        for action in actions {
            match action {
                Action::Compute(count) => total += count,
                Action::Access {
                    address,
                    bytes,
                    is_write,
                    instructions,
                } => {
                    total += u64::from(instructions);
                    rest.push(Action::Access {
                        address,
                        bytes,
                        is_write,
                        instructions: 0,
                    });
                }
                other => rest.push(other),
            }
        }
        (rest, total)
    }

    proptest! {
        #[test]
        fn words_keep_actions_and_instructions(all in prop::collection::vec(actions(), 0..200)) {
            let mut recorder = Recorder::default();
            for action in &all {
                match *action {
                    Action::Access { address, bytes, is_write, .. } => {
                        recorder.access(address, bytes, is_write);
                    }
                    Action::Compute(count) => recorder.compute(count),
                    Action::Lock(lock) => recorder.lock(lock),
                    Action::Unlock(lock) => recorder.unlock(lock),
                }
            }
            let words = recorder.finish();
            prop_assert_eq!(
                summary(words.iter().map(|&word| Action::of(word))),
                summary(all.into_iter())
            );
        }
    }
}
