//! The content of a trace, and the trait of those who take it.

/// Effect of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Reads data atomically.
    AtomicRead,
    /// Writes data atomically.
    AtomicWrite,
    /// Reads and writes data atomically; also a comparison that failed.
    AtomicModify,
}

impl Kind {
    /// All kinds, in the order of their numbers in a trace.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::AtomicRead,
        Self::AtomicWrite,
        Self::AtomicModify,
    ];

    /// True if other copies of the data become invalid.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite | Self::AtomicModify)
    }
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// First byte, below 2^48.
    pub address: u64,
    /// Bytes, >= 1; a copy or a fill is one access, of any length.
    pub bytes: u64,
    /// Its effect.
    pub kind: Kind,
    /// Address of the code behind the access.
    pub site: u64,
}

/// An event that is not an access.
///
/// Locks and barriers are named by their addresses. Outside the region there are no events of
/// locks and barriers, so a lock that was taken before is released without having been acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Memory was allocated.
    Allocated {
        /// First byte.
        address: u64,
        /// Requested bytes, which may be 0.
        bytes: u64,
        /// Address of the code behind the call.
        site: u64,
    },
    /// Memory is no longer used.
    Freed {
        /// Its first byte.
        address: u64,
    },
    /// The thread makes another one, which never begins if the system refuses it.
    Started {
        /// The number of the new thread.
        child: u32,
    },
    /// The thread begins.
    Begun,
    /// The thread ends.
    Ended,
    /// The thread has waited for the end of another one.
    Joined {
        /// The number of the other thread, if the runtime saw how it was made.
        child: Option<u32>,
    },
    /// The thread comes to a barrier.
    Entered {
        /// Its address.
        barrier: u64,
    },
    /// The thread continues after a barrier.
    Left {
        /// Its address.
        barrier: u64,
    },
    /// The thread has acquired a lock, alone or as a reader.
    Acquired {
        /// Its address.
        lock: u64,
    },
    /// The thread releases a lock.
    Released {
        /// Its address.
        lock: u64,
    },
    /// The thread has changed an atomic object.
    Changed {
        /// Its address.
        object: u64,
    },
    /// The thread sees the last change of an atomic object.
    Saw {
        /// Its address.
        object: u64,
    },
    /// The thread posts a semaphore.
    Posted {
        /// Its address.
        semaphore: u64,
        /// Its value until then.
        value: u32,
    },
    /// A semaphore has let the thread through.
    Passed {
        /// Its address.
        semaphore: u64,
        /// The value that it has left.
        value: u32,
    },
    /// Accesses of all threads are recorded from here on.
    RegionBegun,
    /// Accesses are recorded until here.
    RegionEnded,
}

/// Takes the content of a trace, for example to simulate it.
pub trait Events {
    /// Take an access of a thread.
    fn access(&mut self, thread: u32, access: Access);

    /// Take another event of a thread.
    fn event(&mut self, _thread: u32, _event: Event) {}
}
