//! Treatment of each record that a query visits.

use super::region::{At, Region, WORD_BYTES};
use super::touch::{Area, Touch, Work};

/// Does something with records.
pub trait Operation {
    /// Take the record at `at`.
    fn take(&mut self, region: &Region, at: At, touch: &mut impl Touch);

    /// Take the records at `ats`, one after the other.
    #[inline]
    fn take_each(
        &mut self,
        region: &Region,
        ats: impl Iterator<Item = At>,
        touch: &mut impl Touch,
    ) {
        ats.for_each(|at| self.take(region, at, touch));
    }
}

/// Copies each record to the user.
#[derive(Debug, Default)]
pub struct Retrieve {
    /// Words that the user gets: one record, or all.
    user: Vec<u32>,
    words: usize,
    at: usize,
    /// Words from one record of the user's to the next: 0 if each replaces the last.
    step: usize,
}

impl Retrieve {
    /// Return a reader of records of `stride_bytes`.
    ///
    /// `keeps` records lie side by side afterwards; with 1, each replaces the last.
    pub fn new(stride_bytes: u64, keeps: usize) -> Self {
        let words = (stride_bytes / WORD_BYTES) as usize;
        Self {
            user: vec![0; words * keeps.max(1)],
            words,
            at: 0,
            step: if keeps > 1 { words } else { 0 },
        }
    }

    /// Return the user's memory.
    pub fn user(&self) -> &[u32] {
        &self.user
    }

    /// Begin again at the first place.
    pub const fn restart(&mut self) {
        self.at = 0;
    }
}

impl Retrieve {
    /// Say what copying a record touches, and return where it goes.
    #[inline]
    fn next_place(&mut self, region: &Region, at: At, touch: &mut impl Touch) -> usize {
        let bytes = self.words as u64 * WORD_BYTES;
        touch.work(Work::Records, 1);
        touch.work(Work::CopiedBytes, bytes);
        if self.at + self.words > self.user.len() {
            self.at = 0;
        }
        touch.read(region.area(), u64::from(at) * WORD_BYTES, bytes);
        touch.write(Area::User, self.at as u64 * WORD_BYTES, bytes);
        self.at
    }

    /// Copy records of `WORDS`.
    #[inline]
    fn copy_each<const WORDS: usize>(
        &mut self,
        region: &Region,
        ats: impl Iterator<Item = At>,
        touch: &mut impl Touch,
    ) {
        ats.for_each(|at| {
            let place = self.next_place(region, at, touch);
            copy::<WORDS>(region, at, &mut self.user[place..place + WORDS]);
            self.at += self.step;
        });
    }
}

impl Operation for Retrieve {
    #[inline]
    fn take(&mut self, region: &Region, at: At, touch: &mut impl Touch) {
        let place = self.next_place(region, at, touch);
        let target = &mut self.user[place..place + self.words];
        // A length that is known when this is compiled needs no call.
        match self.words {
            2 => copy::<2>(region, at, target),
            8 => copy::<8>(region, at, target),
            16 => copy::<16>(region, at, target),
            32 => copy::<32>(region, at, target),
            64 => copy::<64>(region, at, target),
            words => target.copy_from_slice(region.words(at, words)),
        }
        self.at += self.step;
    }

    #[inline]
    fn take_each(
        &mut self,
        region: &Region,
        ats: impl Iterator<Item = At>,
        touch: &mut impl Touch,
    ) {
        // The length is asked for once, instead of for each record.
        match self.words {
            2 => self.copy_each::<2>(region, ats, touch),
            8 => self.copy_each::<8>(region, ats, touch),
            16 => self.copy_each::<16>(region, ats, touch),
            32 => self.copy_each::<32>(region, ats, touch),
            64 => self.copy_each::<64>(region, ats, touch),
            _ => ats.for_each(|at| self.take(region, at, touch)),
        }
    }
}

#[inline]
fn copy<const WORDS: usize>(region: &Region, at: At, target: &mut [u32]) {
    let source: &[u32; WORDS] = region.words(at, WORDS).try_into().expect("that many words");
    target.copy_from_slice(source);
}

/// Adds the word after the number of each record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// The sum.
    pub total: u64,
}

impl Operation for Sum {
    #[inline]
    fn take(&mut self, region: &Region, at: At, touch: &mut impl Touch) {
        touch.work(Work::Records, 1);
        self.total += u64::from(region.word(at + 1, touch));
    }
}
