//! Recorded accesses: a damaged trace is refused or cut, and both readers hand out the same.

#![no_main]

use headroom::systems::shared_memory::hook::{Access, Events, Pace, merge, read};
use libfuzzer_sys::fuzz_target;

/// Sums that do not depend on the order of the threads.
#[derive(Default, Debug, PartialEq)]
struct Sums {
    accesses: u64,
    bytes: u64,
}

impl Events for Sums {
    fn access(&mut self, _thread: u32, access: Access) {
        self.accesses += 1;
        self.bytes = self.bytes.wrapping_add(access.bytes);
    }
}

fuzz_target!(|trace: &[u8]| {
    let (mut one, mut other) = (Sums::default(), Sums::default());
    let first = read(trace, &mut one);
    let second = merge(trace, Pace::default(), &mut other);
    if let (Ok(first), Ok(second)) = (first, second) {
        // A cut trace loses what waits for the missing part.
        if first.missing.is_empty() && second.missing.is_empty() {
            assert_eq!(one, other);
        }
    }
});
