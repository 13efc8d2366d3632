//! A watcher that counts the accesses to each allocation.

use super::layout::{Allocation, index_of};
use super::watch::Watch;

/// Accesses of one thread to one allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes (B) read.
    pub read_bytes: u64,
    /// Bytes (B) written.
    pub written_bytes: u64,
}

impl Tally {
    /// Return reads and writes together.
    pub fn accesses(&self) -> u64 {
        self.reads + self.writes
    }

    /// Return the share of the accesses that are writes, 0 if there are none.
    pub fn write_share(&self) -> f64 {
        self.writes as f64 / self.accesses().max(1) as f64
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, tally| Self {
            reads: sum.reads + tally.reads,
            writes: sum.writes + tally.writes,
            read_bytes: sum.read_bytes + tally.read_bytes,
            written_bytes: sum.written_bytes + tally.written_bytes,
        })
    }
}

/// Counts of one thread.
#[derive(Clone, Debug)]
pub struct Counts {
    /// Accesses, by the index of the allocation.
    pub tallies: Vec<Tally>,
    /// Accesses to addresses without an allocation: a program has none.
    pub outside: Tally,
    /// Instructions that are neither reads nor writes.
    pub computed: u64,
    /// Locks taken.
    pub locks: u64,
    allocations: Vec<Allocation>,
    last: usize,
}

impl Counts {
    /// Return counts of 0 for the allocations of a program, which are in the order of addresses.
    pub fn new(allocations: &[Allocation]) -> Self {
        Self {
            tallies: vec![Tally::default(); allocations.len()],
            outside: Tally::default(),
            computed: 0,
            locks: 0,
            allocations: allocations.to_vec(),
            last: 0,
        }
    }

    /// Return the accesses to all allocations.
    pub fn total(&self) -> Tally {
        self.tallies.iter().copied().sum()
    }

    /// Return the accesses to the allocations that threads share.
    pub fn shared(&self) -> Tally {
        let pairs = self.allocations.iter().zip(&self.tallies);
        let shared = pairs.filter(|(allocation, _)| allocation.is_private_to.is_none());
        shared.map(|(_, tally)| *tally).sum()
    }

    /// Return all instructions, reads and writes included.
    pub fn instructions(&self) -> u64 {
        self.computed + self.total().accesses()
    }

    /// Most accesses are to the allocation of the one before.
    #[inline]
    fn tally(&mut self, address: u64) -> &mut Tally {
        let has =
            |allocation: &Allocation| address.wrapping_sub(allocation.address) < allocation.bytes;
        if !self.allocations.get(self.last).is_some_and(has) {
            match index_of(&self.allocations, address) {
                Some(index) => self.last = index,
                None => return &mut self.outside,
            }
        }
        &mut self.tallies[self.last]
    }
}

impl Watch for Counts {
    #[inline]
    fn read(&mut self, address: u64, bytes: u32) {
        let tally = self.tally(address);
        tally.reads += 1;
        tally.read_bytes += u64::from(bytes);
    }

    #[inline]
    fn write(&mut self, address: u64, bytes: u32) {
        let tally = self.tally(address);
        tally.writes += 1;
        tally.written_bytes += u64::from(bytes);
    }

    #[inline]
    fn compute(&mut self, instructions: u32) {
        self.computed += u64::from(instructions);
    }

    #[inline]
    fn lock(&mut self, _: u32) {
        self.locks += 1;
    }

    #[inline]
    fn unlock(&mut self, _: u32) {}
}

#[cfg(test)]
mod tests {
    use super::super::layout::Layout;
    use super::*;

    #[test]
    fn each_access_is_counted_where_it_goes() {
        let mut layout = Layout::default();
        let one = layout.shared("one", 4).expect("memory");
        let two = layout.private("two", 0, 4).expect("memory");
        let mut counts = Counts::new(layout.allocations());
        one.set(3, 1.0, &mut counts);
        let _: f64 = two.get(0, &mut counts);
        let _: f64 = two.get(3, &mut counts);
        counts.read(two.address(3) + 8, 4);
        counts.compute(5);
        counts.lock(0);
        counts.unlock(0);
        let reads = |reads, read_bytes| Tally {
            reads,
            read_bytes,
            ..Tally::default()
        };
        assert_eq!(
            (counts.tallies[0].writes, counts.tallies[0].written_bytes),
            (1, 8)
        );
        assert_eq!(counts.tallies[1], reads(2, 16));
        assert_eq!(counts.outside, reads(1, 4));
        assert_eq!(
            (counts.total().accesses(), counts.shared().accesses()),
            (3, 1)
        );
        assert_eq!((counts.instructions(), counts.locks), (8, 1));
    }
}
