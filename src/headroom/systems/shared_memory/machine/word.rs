//! Actions of a processor, 8 bytes each.
//!
//! | bits | access | else |
//! | --- | --- | --- |
//! | 62, 63 | 0 read, 1 write | 2 |
//! | 56 to 61 | bytes - 1 | 0 compute, 1 lock, 2 unlock, 3 near, 4 private, 5 post, 6 to 8 await, 9 last |
//! | 48 to 55 | instructions before | |
//! | 0 to 47 | address | instructions, the lock's number, accesses, or posts (20 to 47) and signal |

const KIND_BITS: u32 = 62;
const SIZE_BITS: u32 = 56;
const BEFORE_BITS: u32 = 48;
/// Addresses are below this.
pub const ADDRESS_END: u64 = 1 << BEFORE_BITS;
/// Instructions that an access carries at most.
const MOST_BEFORE: u64 = 0xFF;
/// Bytes (B) of the largest access.
pub const MOST_BYTES: u32 = 64;
const SIGNAL_BITS: u32 = 20;
/// Signals have numbers below this.
pub const SIGNALS_END: u32 = 1 << SIGNAL_BITS;
/// Posts of a signal at most.
pub const MOST_POSTS: u32 = (1 << (BEFORE_BITS - SIGNAL_BITS)) - 1;

/// What a processor waits for, which decides what the wait costs besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Another thread's start or end: no more.
    Thread,
    /// A lock.
    Lock,
    /// A barrier.
    Barrier,
}

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
    /// Accesses that the second level of the processor's caches answers.
    Near(u64),
    /// Accesses that its part of the last level answers.
    Last(u64),
    /// Accesses of private memory.
    Private(u64),
    /// Gives a signal, after all its node's posted writes.
    Post(u32),
    /// Waits until a signal was given some times.
    Await {
        /// The signal.
        signal: u32,
        /// How often.
        posts: u32,
        /// What it stands for.
        sync: Sync,
    },
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
            (_, 2) => Self::Unlock(value),
            (_, 3) => Self::Near(value),
            (_, 4) => Self::Private(value),
            (_, 5) => Self::Post(value as u32),
            (_, 9) => Self::Last(value),
            (_, what) => Self::Await {
                signal: value as u32 & (SIGNALS_END - 1),
                posts: (value >> SIGNAL_BITS) as u32,
                sync: match what {
                    6 => Sync::Thread,
                    7 => Sync::Lock,
                    _ => Sync::Barrier,
                },
            },
        }
    }
}

/// Writes words.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    words: Vec<u64>,
    /// Instructions since the last word.
    instructions: u64,
    /// Accesses since then that need no address: see [`Action::Near`], [`Action::Last`] and
    /// [`Action::Private`].
    near: u64,
    last: u64,
    private: u64,
}

impl Recorder {
    /// Note an access of 1 to 64 bytes below [`ADDRESS_END`].
    #[inline]
    pub fn access(&mut self, address: u64, bytes: u32, is_write: bool) {
        debug_assert!(address < ADDRESS_END && (1..=MOST_BYTES).contains(&bytes));
        let before = self.instructions.min(MOST_BEFORE);
        self.instructions -= before;
        self.flush();
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

    /// Note an access that the second level of the processor's caches answers.
    #[inline]
    pub fn near(&mut self) {
        self.near += 1;
    }

    /// Note an access that the processor's part of the last level answers.
    #[inline]
    pub fn last(&mut self) {
        self.last += 1;
    }

    /// Note an access of private memory.
    #[inline]
    pub fn private(&mut self) {
        self.private += 1;
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

    /// Note that a signal is given.
    pub fn post(&mut self, signal: u32) {
        debug_assert!(signal < SIGNALS_END);
        self.flush();
        self.words.push(special(5, signal.into()));
    }

    /// Note that a signal is awaited.
    pub fn wait(&mut self, signal: u32, posts: u32, sync: Sync) {
        debug_assert!(signal < SIGNALS_END && posts <= MOST_POSTS);
        self.flush();
        let what = 6 + sync as u64;
        let value = u64::from(posts) << SIGNAL_BITS | u64::from(signal);
        self.words.push(special(what, value));
    }

    /// Return the words that are complete.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Return the words so far.
    pub fn finish(mut self) -> Vec<u64> {
        self.flush();
        self.words
    }

    #[inline]
    fn flush(&mut self) {
        let counts = [
            (0, &mut self.instructions),
            (3, &mut self.near),
            (9, &mut self.last),
            (4, &mut self.private),
        ];
        for (what, count) in counts {
            if *count > 0 {
                self.words.push(special(what, std::mem::take(count)));
            }
        }
    }
}

fn special(what: u64, value: u64) -> u64 {
    2 << KIND_BITS | what << SIZE_BITS | value & (ADDRESS_END - 1)
}

#[cfg(test)]
mod tests {
    use super::{Action, Recorder, Sync};
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
            Just(Action::Near(1)),
            Just(Action::Last(1)),
            Just(Action::Private(1)),
            (0..super::SIGNALS_END).prop_map(Action::Post),
            (0..super::SIGNALS_END, 0..=super::MOST_POSTS, 0..3_usize).prop_map(
                |(signal, posts, sync)| Action::Await {
                    signal,
                    posts,
                    sync: [Sync::Thread, Sync::Lock, Sync::Barrier][sync],
                }
            ),
        ]
    }

    /// Returns the actions with an address or a lock, and the sums of instructions and of near,
    /// private and last accesses.
    fn summary(actions: impl Iterator<Item = Action>) -> (Vec<Action>, [u64; 4]) {
        let mut total = [0; 4];
        let mut rest = Vec::new();
        for action in actions {
            match action {
                Action::Compute(count) => total[0] += count,
                Action::Near(count) => total[1] += count,
                Action::Private(count) => total[2] += count,
                Action::Last(count) => total[3] += count,
                Action::Access {
                    address,
                    bytes,
                    is_write,
                    instructions,
                } => {
                    total[0] += u64::from(instructions);
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
                    Action::Near(_) => recorder.near(),
                    Action::Last(_) => recorder.last(),
                    Action::Private(_) => recorder.private(),
                    Action::Post(signal) => recorder.post(signal),
                    Action::Await { signal, posts, sync } => recorder.wait(signal, posts, sync),
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
