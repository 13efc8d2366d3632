//! Bodies and cells: records of words in shared memory.

use super::super::shared::{Shared, Word};
use super::super::watch::Watch;
use super::Vector;

/// Words of a body's record: the fields below, and one to spare.
pub const BODY_WORDS: usize = 12;
/// Mass of a body or of a cell, a number.
pub const MASS: usize = 0;
/// Position of a body, or centre of mass of a cell, three numbers.
pub const POSITION: usize = 1;
/// Velocity of a body, half a step ahead of its position, three numbers.
pub const VELOCITY: usize = 4;
/// Acceleration of a body, three numbers.
pub const ACCELERATION: usize = 7;
/// Interactions of a body in the step before, a number.
pub const BODY_COST: usize = 10;
/// The next body in the same place, see [`super::tree::Slot`].
pub const NEXT: usize = 11;

/// Words of a cell's record.
pub const CELL_WORDS: usize = 16;
/// Costs of all bodies in a cell, a number.
pub const CELL_COST: usize = 4;
/// The cell around a cell.
pub const PARENT: usize = 5;
/// Number of the cells directly inside of a cell.
pub const INNER: usize = 6;
/// Number of these that have been summarised.
pub const SUMMARISED: usize = 7;
/// The eight slots of a cell.
pub const SLOTS: usize = 8;

/// Records of a kind.
#[derive(Debug)]
pub struct Records {
    words: Shared,
    record_words: usize,
}

impl Records {
    /// Return records of `record_words` each.
    pub fn new(words: Shared, record_words: usize) -> Self {
        Self {
            words,
            record_words,
        }
    }

    #[inline]
    fn word(&self, record: usize, field: usize) -> usize {
        record * self.record_words + field
    }

    /// Read a field.
    #[inline]
    pub fn get<T: Word, W: Watch>(&self, record: usize, field: usize, watch: &mut W) -> T {
        self.words.get(self.word(record, field), watch)
    }

    /// Write a field.
    #[inline]
    pub fn set<T: Word, W: Watch>(&self, record: usize, field: usize, value: T, watch: &mut W) {
        self.words.set(self.word(record, field), value, watch);
    }

    /// Read a field, and see all writes of the thread that published it.
    #[inline]
    pub fn published<T: Word, W: Watch>(&self, record: usize, field: usize, watch: &mut W) -> T {
        self.words.published(self.word(record, field), watch)
    }

    /// Write a field, and with it all earlier writes of this thread.
    #[inline]
    pub fn publish<T: Word, W: Watch>(&self, record: usize, field: usize, value: T, watch: &mut W) {
        self.words.publish(self.word(record, field), value, watch);
    }

    /// Read a vector.
    #[inline]
    pub fn vector<W: Watch>(&self, record: usize, field: usize, watch: &mut W) -> Vector {
        [0, 1, 2].map(|axis| self.get(record, field + axis, watch))
    }

    /// Write a vector.
    #[inline]
    pub fn set_vector<W: Watch>(&self, record: usize, field: usize, value: Vector, watch: &mut W) {
        for (axis, part) in value.into_iter().enumerate() {
            self.set(record, field + axis, part, watch);
        }
    }
}
