//! Buffers that requests read into and write from.
//!
//! Invariant: every byte is the run's own before the first request begins, so nothing of another
//! process or of an earlier use is ever written; places begin at page borders, as `O_DIRECT` needs.

use std::ptr::NonNull;

use super::error::EngineError;

/// Bytes of a page, and the alignment of every place.
const PAGE_BYTES: usize = 4096;
/// Maximum bytes of all places together.
pub const TOTAL_BYTES_LIMIT: u64 = 4 << 30;

/// Equal buffers, one for each place.
#[derive(Debug)]
pub struct Buffers {
    memory: NonNull<u8>,
    place_bytes: usize,
    total_bytes: usize,
}

#[allow(unsafe_code, reason = "memory that the kernel writes into")]
// SAFETY: the memory is owned, and each place is used by one operation at a time.
unsafe impl Send for Buffers {}
#[allow(unsafe_code, reason = "memory that the kernel writes into")]
// SAFETY: shared use hands out pointers only; code that turns them into slices says why it may.
unsafe impl Sync for Buffers {}

impl Buffers {
    /// Map `count` places of at least `bytes` each, all in memory already.
    ///
    /// # Errors
    ///
    /// If they are too large together, or the system has not enough memory.
    pub fn new(count: u32, bytes: u32) -> Result<Self, EngineError> {
        let place_bytes = (bytes as usize).max(1).next_multiple_of(PAGE_BYTES);
        let total_bytes = place_bytes * (count as usize).max(1);
        if total_bytes as u64 > TOTAL_BYTES_LIMIT {
            return Err(EngineError::refused(
                format!("the buffers of {count} places of {bytes} B are more than 4 GiB"),
                "ask for a smaller depth or for smaller blocks",
            ));
        }
        let memory = map(total_bytes)?;
        Ok(Self {
            memory,
            place_bytes,
            total_bytes,
        })
    }

    /// Return the start of the buffer of `place`.
    ///
    /// # Panics
    ///
    /// If there is no such place: the kernel would write there.
    #[inline]
    pub fn pointer(&self, place: u32) -> *mut u8 {
        let offset = place as usize * self.place_bytes;
        assert!(offset < self.total_bytes, "place {place} has no buffer");
        self.memory.as_ptr().wrapping_add(offset)
    }

    /// Return the address of `length` bytes in the buffer of `place`, from byte `at` of it on.
    ///
    /// # Panics
    ///
    /// If they are not all in that buffer.
    #[inline]
    pub fn part(&self, place: u32, at: u32, length: u32) -> *mut u8 {
        assert!(
            at as usize + length as usize <= self.place_bytes,
            "{length} B from byte {at} on are more than a place has"
        );
        self.pointer(place).wrapping_add(at as usize)
    }

    /// Return the size (B) of one place.
    pub const fn place_bytes(&self) -> usize {
        self.place_bytes
    }

    /// Return the size (B) of all places.
    pub const fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Return the buffer of `place`.
    pub fn place(&mut self, place: u32) -> &mut [u8] {
        let (from, length) = (place as usize * self.place_bytes, self.place_bytes);
        &mut self.all()[from..from + length]
    }

    /// Return all places at once.
    #[allow(unsafe_code, reason = "memory that the kernel writes into")]
    pub fn all(&mut self) -> &mut [u8] {
        // SAFETY: the mapping holds that many bytes, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.total_bytes) }
    }
}

impl Drop for Buffers {
    #[allow(unsafe_code, reason = "memory that the kernel writes into")]
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and is no longer in use.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), self.total_bytes);
        }
    }
}

#[allow(
    unsafe_code,
    reason = "a mapping, since the kernel wants aligned memory"
)]
fn map(bytes: usize) -> Result<NonNull<u8>, EngineError> {
    // SAFETY: a new private mapping touches no memory that is in use.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | populate(),
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(EngineError::system(
            "reserving memory for the buffers",
            std::io::Error::last_os_error(),
            "ask for a smaller depth or for smaller blocks",
        ));
    }
    Ok(NonNull::new(memory.cast()).expect("a mapping is not at address zero"))
}

/// All pages are present before the first request, if the system can do that.
const fn populate() -> i32 {
    #[cfg(target_os = "linux")]
    {
        libc::MAP_POPULATE
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}
