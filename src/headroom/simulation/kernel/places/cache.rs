//! A prefetch hint to the processor.
//!
//! In a large model, hardly any data that an event needs are in the cache. Prefetching them while
//! the previous event is processed costs a fraction of the miss. A hint changes no result.

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
