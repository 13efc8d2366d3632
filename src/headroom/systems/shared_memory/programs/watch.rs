//! Watchers of the programs: none when a program runs natively, a simulator when it is modelled.
//!
//! Invariant: a program does the same with any watcher, so both columns run one implementation.

/// Sees what a thread of a program does, before it happens.
pub trait Watch {
    /// `bytes` from `address` are read.
    fn read(&mut self, address: u64, bytes: u32);
    /// `bytes` from `address` are written.
    fn write(&mut self, address: u64, bytes: u32);
    /// Instructions other than the reads and writes that are reported (arithmetic, loop control).
    fn compute(&mut self, instructions: u32);
    /// A lock is requested; the thread has it before its next report.
    fn lock(&mut self, lock: u32);
    /// A lock is released.
    fn unlock(&mut self, lock: u32);
}

/// No watcher: compiles to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {
    #[inline]
    fn read(&mut self, _: u64, _: u32) {}
    #[inline]
    fn write(&mut self, _: u64, _: u32) {}
    #[inline]
    fn compute(&mut self, _: u32) {}
    #[inline]
    fn lock(&mut self, _: u32) {}
    #[inline]
    fn unlock(&mut self, _: u32) {}
}
