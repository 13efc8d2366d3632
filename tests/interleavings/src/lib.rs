//! What the threads of a run share, in every interleaving and under the memory model of C11.
//!
//! The files are those of the product; their `sync` is loom's here, which carries out each test
//! once for each order in which its threads can meet. A deadlock, a lost signal or a value that is
//! not published fails the test.

#![cfg(test)]
#![allow(
    dead_code,
    reason = "the product uses more of these files than the tests"
)]

#[path = ""]
mod recording {
    pub mod clock {
        //! A clock that stands still, so that each order gives the same.

        #[derive(Clone, Copy)]
        pub struct Clock;

        impl Clock {
            #[allow(clippy::unused_self, reason = "as the clock that it stands for")]
            pub const fn now_ns(self) -> u64 {
                1
            }
        }

        pub const fn processor_ns() -> u64 {
            1
        }
    }

    #[path = ""]
    pub mod crew {
        mod sync {
            pub use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
        }

        #[path = "../../../src/headroom/recording/crew/meeting.rs"]
        mod meeting;
        #[path = "../../../src/headroom/recording/crew/signs.rs"]
        mod signs;
        #[path = "../../../src/headroom/recording/crew/slot.rs"]
        mod slot;

        mod crew_tests;
    }
}

#[path = ""]
mod memory {
    mod sync {
        pub use loom::sync::atomic;
    }

    #[path = "../../../src/headroom/memory/probe/lines.rs"]
    mod lines;

    mod lines_tests;
}
