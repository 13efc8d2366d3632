//! Memory of one area, addressed by words of 4 bytes; the only place that follows addresses.
//!
//! Invariant: addresses come from a placer or from the store's own nodes, so they lie in memory
//! that the region owns. Whoever makes a region promises that: making one is unsafe, and using it
//! is not. Debug builds, and with them tests, check each address; in a release build that would cost
//! 6% of a look-up and 14% of an insert.

#![allow(unsafe_code, reason = "records lie where the placement puts them")]
#![allow(
    clippy::cast_ptr_alignment,
    reason = "bases are aligned to 16 bytes, and addresses count words"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::StoreError;
use super::touch::{Area, Touch, Work};
use crate::memory::probe::buffer::{Buffer, Pages};

/// An address: words of 4 bytes from the base of the region.
pub type At = u32;

/// No address.
pub const NOWHERE: At = u32::MAX;
/// Bytes (B) of a word.
pub const WORD_BYTES: u64 = 4;
/// Most bytes (B) that a region spans: what 32 bits of words reach.
pub const MOST_BYTES: u64 = WORD_BYTES << 32;

/// Allocates and returns blocks, and keeps some in the list.
pub type Churn<'a> = dyn FnMut(&mut Vec<NonNull<u8>>, Layout) -> Result<(), StoreError> + 'a;

/// Memory of one area.
#[derive(Debug)]
pub struct Region {
    area: Area,
    base: *mut u8,
    bytes: u64,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    #[cfg_attr(miri, allow(dead_code, reason = "Miri has no mappings"))]
    Mapped(Buffer),
    /// Blocks of the system's allocator, anywhere in the region's span.
    Blocks(Vec<NonNull<u8>>, Layout),
}

// SAFETY: a region owns its memory, as a box does.
unsafe impl Send for Region {}
// SAFETY: nothing is written through a shared region.
unsafe impl Sync for Region {}

impl Region {
    /// Return `bytes` >= 1 of zeros in pages of a kind; pages are present once they are used.
    ///
    /// # Errors
    ///
    /// The system gives no such memory, or a region does not reach so far.
    ///
    /// # Panics
    ///
    /// If the address space is smaller than that.
    ///
    /// # Safety
    ///
    /// Its owner reads and writes only within these bytes.
    pub unsafe fn mapped(area: Area, bytes: u64, pages: Pages) -> Result<Self, StoreError> {
        if bytes > MOST_BYTES {
            return Err(StoreError::Impossible(format!(
                "{bytes} B of nodes are more than the {MOST_BYTES} B that pointers of 4 B reach"
            )));
        }
        let length = usize::try_from(bytes).expect("a region fits into the address space");
        #[cfg(miri)]
        let (base, memory) = {
            // Miri has no mappings with advice, and sees every access to a block.
            let _ = pages;
            let layout = Layout::from_size_align(length, 4096).expect("a size");
            let block = allocated(layout)?;
            (block.as_ptr(), Memory::Blocks(vec![block], layout))
        };
        #[cfg(not(miri))]
        let (base, memory) = {
            let buffer = Buffer::reserve(length, pages).map_err(StoreError::NoMemory)?;
            (buffer.start(), Memory::Mapped(buffer))
        };
        Ok(Self {
            area,
            base,
            bytes,
            memory,
        })
    }

    /// Return `count` blocks of the system's allocator, and their addresses in the order in which
    /// it gave them.
    ///
    /// `churn` allocates and returns blocks before: the history of the allocator. Whatever it
    /// leaves in the list lives as long as the region.
    ///
    /// # Errors
    ///
    /// The blocks lie farther apart than pointers reach, or there is no memory.
    ///
    /// # Safety
    ///
    /// Its owner reads and writes only within the blocks whose addresses are returned.
    pub unsafe fn of_blocks(
        area: Area,
        block_bytes: usize,
        count: usize,
        churn: &mut Churn<'_>,
    ) -> Result<(Self, Vec<At>), StoreError> {
        let layout = Layout::from_size_align(block_bytes, 16)
            .map_err(|why| StoreError::Impossible(why.to_string()))?;
        let mut region = Self {
            area,
            base: std::ptr::null_mut(),
            bytes: MOST_BYTES,
            memory: Memory::Blocks(Vec::new(), layout),
        };
        let Memory::Blocks(blocks, _) = &mut region.memory else {
            unreachable!("it was made of blocks")
        };
        churn(blocks, layout)?;
        let first = blocks.len();
        for _ in 0..count {
            blocks.push(allocated(layout)?);
        }
        let lowest = blocks[first..]
            .iter()
            .map(|one| one.as_ptr() as usize)
            .min();
        let highest = blocks[first..]
            .iter()
            .map(|one| one.as_ptr() as usize)
            .max();
        let (lowest, highest) = (lowest.unwrap_or(0), highest.unwrap_or(0));
        if (highest - lowest + block_bytes) as u64 > MOST_BYTES {
            return Err(StoreError::NoMemory(
                "the system's allocator spread the nodes over more than 16 GiB".to_owned(),
            ));
        }
        let ats = blocks[first..]
            .iter()
            .map(|one| ((one.as_ptr() as usize - lowest) / 4) as At)
            .collect();
        let lowest_block = blocks[first..]
            .iter()
            .min_by_key(|one| one.as_ptr() as usize);
        region.base = lowest_block.map_or(std::ptr::null_mut(), |one| one.as_ptr());
        Ok((region, ats))
    }

    /// Return the area.
    pub const fn area(&self) -> Area {
        self.area
    }

    /// Return how much (B) of it the system keeps in huge pages now; None if it does not choose
    /// its pages.
    pub fn huge_bytes(&self) -> Option<u64> {
        match &self.memory {
            Memory::Mapped(buffer) => Some(buffer.huge_bytes_now()),
            Memory::Blocks(..) => None,
        }
    }

    /// Return the first byte of `at`, for system calls on whole pages.
    pub fn pointer(&self, at: At) -> *mut u8 {
        self.base.wrapping_add(at as usize * 4)
    }

    #[inline]
    fn checked(&self, at: At, bytes: u64) -> *mut u8 {
        debug_assert!(
            u64::from(at) * WORD_BYTES + bytes <= self.bytes,
            "{bytes} B at word {at} are outside of {:?}",
            self.area
        );
        self.base.wrapping_add(at as usize * 4)
    }

    /// Read one word.
    #[inline]
    pub fn word(&self, at: At, touch: &mut impl Touch) -> u32 {
        touch.read(self.area, u64::from(at) * WORD_BYTES, WORD_BYTES);
        // SAFETY: in the region, aligned, and initialised, as all of it is.
        unsafe { self.checked(at, WORD_BYTES).cast::<u32>().read() }
    }

    /// Write one word.
    #[inline]
    pub fn set_word(&mut self, at: At, value: u32, touch: &mut impl Touch) {
        touch.write(self.area, u64::from(at) * WORD_BYTES, WORD_BYTES);
        // SAFETY: as above, and borrowed alone.
        unsafe { self.checked(at, WORD_BYTES).cast::<u32>().write(value) }
    }

    /// Write words; they count as copied.
    #[inline]
    pub fn write(&mut self, at: At, words: &[u32], touch: &mut impl Touch) {
        let bytes = words.len() as u64 * WORD_BYTES;
        touch.write(self.area, u64::from(at) * WORD_BYTES, bytes);
        touch.work(Work::CopiedBytes, bytes);
        self.words_mut(at, words.len()).copy_from_slice(words);
    }

    /// Borrow words; who reads them says so to `Touch`.
    #[inline]
    pub fn words(&self, at: At, count: usize) -> &[u32] {
        let start = self.checked(at, count as u64 * WORD_BYTES);
        // SAFETY: as above; nothing writes while they are borrowed.
        unsafe { std::slice::from_raw_parts(start.cast(), count) }
    }

    /// Borrow words to change them; who changes them says so to `Touch`.
    #[inline]
    pub fn words_mut(&mut self, at: At, count: usize) -> &mut [u32] {
        let start = self.checked(at, count as u64 * WORD_BYTES);
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), count) }
    }

    /// Borrow bytes; who reads them says so to `Touch`.
    #[inline]
    pub fn bytes(&self, at: At, count: usize) -> &[u8] {
        let start = self.checked(at, count as u64);
        // SAFETY: as above; nothing writes while they are borrowed.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    /// Borrow bytes to change them; who changes them says so to `Touch`.
    #[inline]
    pub fn bytes_mut(&mut self, at: At, count: usize) -> &mut [u8] {
        let start = self.checked(at, count as u64);
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(start, count) }
    }

    /// Move words within the region, which may overlap.
    pub fn shift(&mut self, from: At, to: At, count: usize, touch: &mut impl Touch) {
        let bytes = count as u64 * WORD_BYTES;
        if count == 0 {
            return;
        }
        touch.read(self.area, u64::from(from) * WORD_BYTES, bytes);
        touch.write(self.area, u64::from(to) * WORD_BYTES, bytes);
        touch.work(super::touch::Work::CopiedBytes, bytes);
        let (source, target) = (self.checked(from, bytes), self.checked(to, bytes));
        // SAFETY: both ranges are in the region; `copy` allows that they overlap.
        unsafe { std::ptr::copy(source.cast::<u32>(), target.cast::<u32>(), count) }
    }

    /// Say that the line of an address will be used soon.
    #[inline]
    pub fn prefetch(&self, at: At) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let pointer = self.base.wrapping_add(at as usize * 4);
            // SAFETY: a hint: it reads nothing, at any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(pointer.cast()) }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = at;
    }

    /// Say that the line of an address will be used later: it goes to a cache that takes more of them at once.
    #[inline]
    pub fn prefetch_far(&self, at: At) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            let pointer = self.base.wrapping_add(at as usize * 4);
            // SAFETY: a hint: it reads nothing, at any address.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(pointer.cast()) }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = at;
    }
}

/// Return a zeroed block.
///
/// # Errors
///
/// There is no memory.
pub fn allocated(layout: Layout) -> Result<NonNull<u8>, StoreError> {
    // SAFETY: the layout has a size.
    let block = unsafe { alloc_zeroed(layout) };
    NonNull::new(block)
        .ok_or_else(|| StoreError::NoMemory(format!("no block of {} B is left", layout.size())))
}

/// Return a block to the allocator.
pub fn returned(block: NonNull<u8>, layout: Layout) {
    // SAFETY: it came from `allocated` with this layout, and its owner gave it up.
    unsafe { dealloc(block.as_ptr(), layout) }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Memory::Blocks(blocks, layout) = &mut self.memory {
            for block in blocks.drain(..) {
                returned(block, *layout);
            }
        }
    }
}
