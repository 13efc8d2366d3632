//! What the memory of this machine takes, whatever the store: the floor of a look-up and of a scan.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::hint::black_box;

use headroom::memory::probe::buffer::{Buffer, Pages};

/// Lines that are asked for at once.
const AT_ONCE: usize = 32;
/// Words of 8 bytes of a line.
const LINE_WORDS: usize = 8;

/// Memory as large as the records.
pub struct Floor {
    buffer: std::cell::RefCell<Buffer>,
    lines: usize,
}

impl Floor {
    /// Return the floor of `bytes` of records.
    pub fn new(bytes: usize, pages: Pages) -> Self {
        let buffer = Buffer::new(bytes, pages).expect("memory").into();
        Self {
            buffer,
            lines: bytes / 64,
        }
    }

    /// Read one random line for each key, 32 of them at once; return how many.
    pub fn random_lines(&self, keys: &[u32]) -> u64 {
        let mut buffer = self.buffer.borrow_mut();
        let words = buffer.words();
        let mut places = [0_usize; AT_ONCE];
        let mut sum = 0;
        for keys in keys.chunks(AT_ONCE) {
            for (place, &key) in places.iter_mut().zip(keys) {
                *place = (u64::from(key) * self.lines as u64 >> 32) as usize * LINE_WORDS;
                // SAFETY: a hint: it reads nothing, at any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(*place).cast()) }
            }
            for &place in &places[..keys.len()] {
                sum ^= words[place];
            }
        }
        black_box(sum);
        keys.len() as u64
    }

    /// Read all of the memory once, a whole line at a time; return its lines.
    pub fn read(&self) -> u64 {
        let mut buffer = self.buffer.borrow_mut();
        let words = &buffer.words()[..self.lines * LINE_WORDS];
        let mut sums = [0_u64; LINE_WORDS];
        for line in words.as_chunks::<LINE_WORDS>().0 {
            for (sum, word) in sums.iter_mut().zip(line) {
                *sum ^= word;
            }
        }
        black_box(sums);
        self.lines as u64
    }
}
