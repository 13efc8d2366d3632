//! Hints to the processor and to the operating system, for the data of large models.
//!
//! In a large model, hardly any data that an event needs are in the cache. Prefetching them while
//! earlier events are processed costs a fraction of the miss; and in huge pages the processor finds
//! them without a walk through the page tables. A hint changes no result.

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// Return an empty vector with room for `count`, in huge pages if it fills a part of one and the
/// system has some.
pub fn roomy<T>(count: usize) -> Vec<T> {
    let bytes = count.saturating_mul(size_of::<T>());
    if bytes < HUGE / 4 {
        return Vec::with_capacity(count);
    }
    // The unused part of whole pages costs addresses only.
    let mut room = Vec::with_capacity(bytes.next_multiple_of(HUGE) / size_of::<T>());
    prefer_huge_pages(room.spare_capacity_mut());
    room
}

/// Ask for huge pages wherever they fit into `place`.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "an advice about addresses")]
fn prefer_huge_pages<T>(place: &mut [std::mem::MaybeUninit<T>]) {
    const PAGE: usize = 4096;
    let ahead = place.as_ptr().addr() % PAGE;
    let first = place.as_mut_ptr().cast::<u8>().wrapping_sub(ahead);
    // SAFETY: the advice changes no content, not even that of others in the first and the last
    // page; where the system does not take it, all stays as it is.
    unsafe {
        libc::madvise(
            first.cast(),
            ahead + size_of_val(place),
            libc::MADV_HUGEPAGE,
        )
    };
}

#[cfg(not(target_os = "linux"))]
const fn prefer_huge_pages<T>(_place: &mut [std::mem::MaybeUninit<T>]) {}

/// Let the cache fetch the line in which `place` begins.
#[inline(always)]
pub fn fetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    #[allow(
        unsafe_code,
        reason = "the hint takes a pointer, and there is no safe way to give it"
    )]
    // SAFETY: a prefetch reads nothing and cannot fault; the address is that of a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_in_small_and_in_huge_pages() {
        for count in [0, 1, HUGE / 8, HUGE / 3, HUGE] {
            let mut room = roomy::<u64>(count);
            let first = room.as_ptr();
            room.extend(0..count as u64);
            assert_eq!(room.as_ptr(), first, "it never moved");
            assert!(room.iter().copied().eq(0..count as u64));
        }
        assert_eq!(roomy::<()>(3).len(), 0);
    }
}
