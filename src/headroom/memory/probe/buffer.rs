//! Memory with pages of a chosen kind.

#![allow(unsafe_code, reason = "pages of a kind have no safe interface")]

use std::io::Error;
use std::ptr::NonNull;

use serde::Deserialize;

/// Bytes (B) of a huge page.
pub const HUGE_BYTES: usize = 2 << 20;

/// A kind of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pages {
    /// The machine's usual pages, never joined.
    Small,
    /// Joined to huge ones by the system, where it can.
    Transparent,
    /// Huge pages that were set aside for it.
    Huge,
}

/// Memory of its own.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    pages: Pages,
    /// The whole mapping, which is larger, to align the start.
    mapping: (*mut libc::c_void, usize),
    /// Bytes (B) of it that were in huge pages once all were present, as the system said.
    pub huge_bytes: u64,
}

// SAFETY: it owns its memory, as a box does.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Return memory of at least `bytes` >= 1 in pages of a kind, all of them present.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, String> {
        let mut buffer = Self::mapped(bytes, pages, 0)?;
        // SAFETY: the range is mapped and writable; written, so that every page is present.
        unsafe { std::ptr::write_bytes(buffer.start.as_ptr(), 1, buffer.bytes) };
        buffer.huge_bytes = buffer.huge_bytes_now();
        Ok(buffer)
    }

    /// Return zeros, at least `bytes` >= 1 of them, whose pages are present once they are used.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub fn reserve(bytes: usize, pages: Pages) -> Result<Self, String> {
        Self::mapped(bytes, pages, libc::MAP_NORESERVE)
    }

    fn mapped(bytes: usize, pages: Pages, small: libc::c_int) -> Result<Self, String> {
        // Whole huge pages, in any case: where the memory begins must not differ by kind.
        let bytes = bytes.next_multiple_of(HUGE_BYTES);
        // Huge pages are reserved now: one that is missing later would kill the process.
        let kind = if pages == Pages::Huge {
            libc::MAP_HUGETLB
        } else {
            small
        };
        let wanted = if pages == Pages::Huge {
            bytes
        } else {
            bytes + HUGE_BYTES
        };
        // SAFETY: a new mapping touches no other memory.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                wanted,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | kind,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            let why = Error::last_os_error();
            return Err(match pages {
                Pages::Huge => {
                    format!("{} huge pages are not set aside: {why}", bytes / HUGE_BYTES)
                }
                _ => format!("no {bytes} B of memory: {why}"),
            });
        }
        let offset = mapped.align_offset(HUGE_BYTES) % HUGE_BYTES;
        let start = mapped
            .cast::<u8>()
            .wrapping_add(if pages == Pages::Huge { 0 } else { offset });
        let advice = match pages {
            Pages::Small => Some(libc::MADV_NOHUGEPAGE),
            Pages::Transparent => Some(libc::MADV_HUGEPAGE),
            Pages::Huge => None,
        };
        if let Some(advice) = advice {
            // SAFETY: the range is within the mapping. A kernel without huge pages refuses, and
            // then has small ones only, which `huge_bytes` shows.
            unsafe { libc::madvise(start.cast(), bytes, advice) };
        }
        Ok(Self {
            start: NonNull::new(start).ok_or("no memory")?,
            bytes,
            pages,
            mapping: (mapped, wanted),
            huge_bytes: 0,
        })
    }

    /// Return the first byte.
    pub const fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Return the memory as numbers of 8 bytes.
    pub const fn words(&mut self) -> &mut [u64] {
        // SAFETY: mapped, initialised, aligned to a page, and borrowed as long as the buffer.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / 8) }
    }

    /// Return how much of it (B) the system keeps in huge pages now.
    pub fn huge_bytes_now(&self) -> u64 {
        if self.pages == Pages::Huge {
            return self.bytes as u64;
        }
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let (start, end) = (self.start() as usize, self.start() as usize + self.bytes);
        let mut is_here = false;
        let mut joined = 0;
        for line in text.lines() {
            if let Some((from, to)) = range_of(line) {
                is_here = from < end && to > start;
            } else if let Some(rest) = line.strip_prefix("AnonHugePages:")
                && is_here
            {
                let number = rest.trim().trim_end_matches(" kB").trim();
                joined += number.parse::<u64>().unwrap_or(0) * 1024;
            }
        }
        joined.min(self.bytes as u64)
    }
}

/// Return the addresses of a mapping, from the first line about it.
fn range_of(line: &str) -> Option<(usize, usize)> {
    let (range, _) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let parse = |text| usize::from_str_radix(text, 16).ok();
    Some((parse(from)?, parse(to)?))
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this buffer alone.
        unsafe { libc::munmap(self.mapping.0, self.mapping.1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_present_and_aligned() {
        for pages in [Pages::Small, Pages::Transparent] {
            let mut buffer = Buffer::new(3 << 20, pages).expect("memory");
            assert_eq!(buffer.start().align_offset(HUGE_BYTES), 0);
            assert_eq!(buffer.words().len() * 8, 4 << 20);
            assert!(
                buffer
                    .words()
                    .iter()
                    .all(|&word| word == 0x0101_0101_0101_0101)
            );
        }
        assert_eq!(
            Buffer::new(4 << 20, Pages::Small)
                .expect("memory")
                .huge_bytes,
            0
        );
    }

    #[test]
    fn too_much_is_refused() {
        assert!(Buffer::new(1 << 60, Pages::Small).is_err_and(|why| why.contains("no 1152")));
        assert!(Buffer::new(1 << 46, Pages::Huge).is_err_and(|why| why.contains("set aside")));
    }
}
