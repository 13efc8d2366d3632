//! Memory that the threads of a program share, with the addresses that a watcher sees.
//!
//! Invariant: whatever threads do, [`Shared::get`] and [`Shared::set`] are sound, because each word
//! is atomic. Slices, which the inner loops need to be vectorised, are for words that no other
//! thread writes before the next barrier; a test of the programs checks that for every word.

#![allow(
    unsafe_code,
    reason = "an atomic word and a slice of numbers are the same memory"
)]

use std::alloc::{self, alloc_zeroed, dealloc};
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{PAGE_BYTES, WORD_BYTES};
use super::watch::Watch;

/// Value of a word.
pub trait Word: Copy {
    /// Return the value of the bits.
    fn from_word(word: u64) -> Self;
    /// Return the bits of the value.
    fn into_word(self) -> u64;
}

impl Word for u64 {
    #[inline]
    fn from_word(word: u64) -> Self {
        word
    }
    #[inline]
    fn into_word(self) -> u64 {
        self
    }
}

impl Word for f64 {
    #[inline]
    fn from_word(word: u64) -> Self {
        Self::from_bits(word)
    }
    #[inline]
    fn into_word(self) -> u64 {
        self.to_bits()
    }
}

/// An array of words, aligned to a page; the system gives a page once a thread touches it.
#[derive(Debug)]
pub struct Shared {
    address: u64,
    count: usize,
    words: NonNull<AtomicU64>,
}

// SAFETY: it owns its memory, as a box of atomic words does.
unsafe impl Send for Shared {}
// SAFETY: its safe methods access atomic words alone.
unsafe impl Sync for Shared {}

impl Shared {
    /// Return `count` words of 0 that a watcher sees from `address` on, None without memory.
    pub(super) fn zeroed(address: u64, count: usize) -> Option<Self> {
        let layout = Self::memory(count)?;
        // SAFETY: the size is not 0.
        let words = NonNull::new(unsafe { alloc_zeroed(layout) })?.cast();
        Some(Self {
            address,
            count,
            words,
        })
    }

    fn memory(count: usize) -> Option<alloc::Layout> {
        let bytes = count.max(1).checked_mul(WORD_BYTES as usize)?;
        alloc::Layout::from_size_align(bytes, PAGE_BYTES as usize).ok()
    }

    /// Return the address of a word.
    #[inline]
    pub fn address(&self, index: usize) -> u64 {
        self.address + index as u64 * WORD_BYTES
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.count, "word {index} of {}", self.count);
        // SAFETY: the array has this word; zeros are a valid atomic word.
        unsafe { self.words.add(index).as_ref() }
    }

    /// Read a word.
    #[inline]
    pub fn get<T: Word>(&self, index: usize, watch: &mut impl Watch) -> T {
        watch.read(self.address(index), WORD_BYTES as u32);
        T::from_word(self.word(index).load(Ordering::Relaxed))
    }

    /// Write a word.
    #[inline]
    pub fn set<T: Word>(&self, index: usize, value: T, watch: &mut impl Watch) {
        watch.write(self.address(index), WORD_BYTES as u32);
        self.word(index).store(value.into_word(), Ordering::Relaxed);
    }

    /// Read a word, and see all writes of the thread that published it.
    #[inline]
    pub fn published<T: Word>(&self, index: usize, watch: &mut impl Watch) -> T {
        watch.read(self.address(index), WORD_BYTES as u32);
        T::from_word(self.word(index).load(Ordering::Acquire))
    }

    /// Write a word, and with it all earlier writes of this thread.
    #[inline]
    pub fn publish<T: Word>(&self, index: usize, value: T, watch: &mut impl Watch) {
        watch.write(self.address(index), WORD_BYTES as u32);
        self.word(index).store(value.into_word(), Ordering::Release);
    }

    #[inline]
    fn start_of(&self, range: &Range<usize>) -> *mut f64 {
        let is_inside = range.start <= range.end && range.end <= self.count;
        assert!(is_inside, "words {range:?} of {}", self.count);
        // SAFETY: the array has these words.
        unsafe { self.words.as_ptr().add(range.start).cast() }
    }

    /// Return words as numbers; the caller reports its reads.
    ///
    /// # Safety
    ///
    /// No thread writes these words while the slice lives.
    #[inline]
    pub unsafe fn reals(&self, range: Range<usize>) -> &[f64] {
        // SAFETY: the words are inside; any bits are a number; the caller excludes writers.
        unsafe { slice::from_raw_parts(self.start_of(&range), range.len()) }
    }

    /// Return words as numbers that can be changed; the caller reports its reads and writes.
    ///
    /// # Safety
    ///
    /// There is no other access to these words while the slice lives.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the caller excludes other accesses")]
    pub unsafe fn reals_mut(&self, range: Range<usize>) -> &mut [f64] {
        // SAFETY: the words are inside; any bits are a number; the caller excludes other accesses.
        unsafe { slice::from_raw_parts_mut(self.start_of(&range), range.len()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let layout = Self::memory(self.count).expect("memory of this size was allocated");
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.words.as_ptr().cast(), layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::watch::Silent;
    use super::*;

    #[test]
    fn words_keep_every_number_and_slices_are_the_same_memory() {
        let shared = Shared::zeroed(PAGE_BYTES, 600).expect("memory");
        shared.set(0, -0.0_f64, &mut Silent);
        shared.set(599, u64::MAX, &mut Silent);
        shared.set(3, 1.5_f64, &mut Silent);
        assert_eq!(shared.get::<u64>(0, &mut Silent), 1 << 63);
        assert_eq!(shared.get::<u64>(599, &mut Silent), u64::MAX);
        // SAFETY: there is one thread, and one slice at a time.
        unsafe { shared.reals_mut(4..6).copy_from_slice(&[2.5, 3.5]) };
        // SAFETY: as before.
        assert_eq!(unsafe { shared.reals(2..6) }, [0.0, 1.5, 2.5, 3.5]);
        assert_eq!(shared.address(2), PAGE_BYTES + 16);
    }

    #[test]
    #[should_panic(expected = "word 600 of 600")]
    fn a_word_outside_stops_the_program() {
        let shared = Shared::zeroed(PAGE_BYTES, 600).expect("memory");
        shared.set(600, 1.0, &mut Silent);
    }

    #[test]
    #[should_panic(expected = "words 599..601 of 600")]
    fn a_slice_that_reaches_outside_stops_the_program() {
        let shared = Shared::zeroed(PAGE_BYTES, 600).expect("memory");
        // SAFETY: there is one thread.
        let _ = unsafe { shared.reals(599..601) };
    }
}
