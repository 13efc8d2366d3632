//! Numbers of the format of a trace; a test compares them with `runtime/format.h`.
//!
//! `docs/background/formats.md` draws the format, the header explains each event.

/// First bytes of a trace.
pub const TRACE_MAGIC: &[u8; 8] = b"HRHOOK1\n";
/// The version that this reader knows.
pub const TRACE_VERSION: u32 = 2;
/// Reversed if the trace is of a big-endian machine.
pub const TRACE_BYTE_ORDER: u32 = 0x0102_0304;
/// Bytes of the head of a trace.
pub const HEAD_BYTES: usize = 16;

/// First bytes of a chunk.
pub const CHUNK_MAGIC: u32 = 0x4b4e_4843;
/// Bytes of the head of a chunk.
pub const CHUNK_HEAD_BYTES: usize = 32;
/// A chunk with events.
pub const CHUNK_WORDS: u32 = 1;
/// A chunk that says where the code of the program is.
pub const CHUNK_MAPS: u32 = 2;
/// The last chunk.
pub const CHUNK_END: u32 = 3;
/// Words of a chunk with events, at most.
pub const MOST_WORDS: u32 = 8192;
/// Words of a chunk with maps, at most.
pub const MOST_MAPS_WORDS: u32 = 524_288;
/// Words of the last chunk.
pub const END_WORDS: u32 = 8;

/// Bits of an address.
pub const ADDRESS_BITS: u32 = 48;
/// Where the code of a word starts.
pub const CODE_SHIFT: u32 = 59;
/// The step of the site 0, as it is written.
pub const SITE_BIAS: u64 = 1024;
/// Code of an event.
pub const EVENT_CODE: u64 = 31;
/// Sizes of an access: 1 to 16 bytes.
pub const SIZES: u64 = 5;
/// Kinds of accesses.
pub const KINDS: u64 = 5;
/// The thread that was joined, if the runtime does not know it.
pub const NO_THREAD: u64 = 0xffff_ffff;

/// The next site.
pub const EVENT_SITE: u64 = 0;
/// A read of any length.
pub const EVENT_READ_RANGE: u64 = 1;
/// A write of any length.
pub const EVENT_WRITE_RANGE: u64 = 2;
/// An allocation.
pub const EVENT_ALLOCATED: u64 = 3;
/// The end of an allocation.
pub const EVENT_FREED: u64 = 4;
/// An atomic operation has changed an object.
pub const EVENT_ORDER_RELEASE: u64 = 5;
/// An atomic operation follows that sees an object.
pub const EVENT_ORDER_ACQUIRE: u64 = 6;
/// A thread will be made.
pub const EVENT_STARTED: u64 = 7;
/// The thread begins.
pub const EVENT_BEGUN: u64 = 8;
/// The thread ends.
pub const EVENT_ENDED: u64 = 9;
/// Another thread has ended.
pub const EVENT_JOINED: u64 = 10;
/// The thread comes to a barrier.
pub const EVENT_ENTERED: u64 = 11;
/// The thread continues after a barrier.
pub const EVENT_LEFT: u64 = 12;
/// The thread has a lock.
pub const EVENT_ACQUIRED: u64 = 13;
/// The thread gives a lock back.
pub const EVENT_RELEASED: u64 = 14;
/// Accesses are recorded from here on.
pub const EVENT_REGION_BEGUN: u64 = 15;
/// Accesses are recorded until here.
pub const EVENT_REGION_ENDED: u64 = 16;
/// A semaphore is posted.
pub const EVENT_POSTED: u64 = 17;
/// A semaphore has let the thread through.
pub const EVENT_PASSED: u64 = 18;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const HEADER: &str = include_str!("runtime/format.h");

    fn defined() -> BTreeMap<&'static str, u64> {
        HEADER
            .lines()
            .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
            .filter_map(|(name, value)| {
                let hexadecimal = value.strip_prefix("0x");
                let number = hexadecimal
                    .map_or_else(|| value.parse(), |digits| u64::from_str_radix(digits, 16));
                Some((name, number.ok()?))
            })
            .collect()
    }

    macro_rules! same {
        ($defined:ident: $($name:ident),* $(,)?) => {
            $(assert_eq!($defined.remove(stringify!($name)), Some($name.into()), stringify!($name));)*
        };
    }

    #[test]
    fn the_reader_and_the_runtime_have_the_same_numbers() {
        let mut defined = defined();
        same!(defined: TRACE_VERSION, TRACE_BYTE_ORDER, CHUNK_MAGIC, CHUNK_WORDS, CHUNK_MAPS);
        same!(defined: CHUNK_END, MOST_WORDS, MOST_MAPS_WORDS, END_WORDS, ADDRESS_BITS);
        same!(defined: CODE_SHIFT, SITE_BIAS, EVENT_CODE, SIZES, NO_THREAD);
        same!(defined: EVENT_SITE, EVENT_READ_RANGE, EVENT_WRITE_RANGE, EVENT_ALLOCATED);
        same!(defined: EVENT_FREED, EVENT_ORDER_RELEASE, EVENT_ORDER_ACQUIRE, EVENT_STARTED);
        same!(defined: EVENT_BEGUN, EVENT_ENDED, EVENT_JOINED, EVENT_ENTERED, EVENT_LEFT);
        same!(defined: EVENT_ACQUIRED, EVENT_RELEASED, EVENT_REGION_BEGUN, EVENT_REGION_ENDED);
        same!(defined: EVENT_POSTED, EVENT_PASSED);
        let kinds = [
            "READ",
            "WRITE",
            "ATOMIC_READ",
            "ATOMIC_WRITE",
            "ATOMIC_MODIFY",
        ];
        for (number, kind) in (0..KINDS).zip(kinds) {
            assert_eq!(defined.remove(kind), Some(number), "{kind}");
        }
        assert!(defined.is_empty(), "the reader does not know {defined:?}");
        assert!(HEADER.contains("#define TRACE_MAGIC \"HRHOOK1\\n\""));
    }
}
