//! Failed operations: the number of each class and error, and the first of them.

/// Error numbers that say that the target is no longer there.
const GONE: [i32; 4] = [libc::ENODEV, libc::ENXIO, libc::EBADF, libc::ESHUTDOWN];

/// Failures of one class with one error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<O> {
    /// Index of the class.
    pub class: u32,
    /// Error number, 0 if there is none.
    pub errno: i32,
    /// How many.
    pub count: u64,
    /// The first.
    pub first: O,
    /// When the first ended (ns).
    pub first_ns: u64,
}

/// All failures of a run.
#[derive(Clone, Debug)]
pub struct Failures<O> {
    all: Vec<Failure<O>>,
    in_a_row: u32,
    limit: u32,
}

impl<O: Copy> Failures<O> {
    /// Return none; `limit` in a row mean that the target is gone.
    pub const fn new(limit: u32) -> Self {
        Self {
            all: Vec::new(),
            in_a_row: 0,
            limit,
        }
    }

    /// Add a failure; return whether the target counts as gone.
    pub fn add(&mut self, class: u32, errno: i32, operation: O, now_ns: u64) -> bool {
        self.in_a_row += if GONE.contains(&errno) { self.limit } else { 1 };
        let known = self
            .all
            .iter_mut()
            .find(|one| one.class == class && one.errno == errno);
        if let Some(known) = known {
            known.count += 1;
        } else {
            self.all.push(Failure {
                class,
                errno,
                count: 1,
                first: operation,
                first_ns: now_ns,
            });
        }
        self.is_gone()
    }

    /// Note a success.
    #[inline]
    pub const fn forget_row(&mut self) {
        if self.in_a_row < self.limit {
            self.in_a_row = 0;
        }
    }

    /// Return whether the target counts as gone.
    #[inline]
    pub const fn is_gone(&self) -> bool {
        self.in_a_row >= self.limit
    }

    /// Return how many failed in a row up to now.
    pub const fn in_a_row(&self) -> u32 {
        self.in_a_row
    }

    /// Return all failures, in the order of their first.
    pub fn all(&self) -> &[Failure<O>] {
        &self.all
    }
}
