//! Address space of a program: its arrays, page by page.
//!
//! Invariant: allocations are in the order of their addresses, begin on a page and share none.

use super::shared::Shared;

/// Bytes (B) of a page: each allocation, and each thread's part of one, begins on a page.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes (B) of a word: each array consists of words.
pub const WORD_BYTES: u64 = 8;
const PAGE_WORDS: usize = (PAGE_BYTES / WORD_BYTES) as usize;

/// An array of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Name; private arrays of different threads have the same.
    pub name: &'static str,
    /// First address.
    pub address: u64,
    /// Size (B).
    pub bytes: u64,
    /// The only thread that uses it, None if threads share it.
    pub is_private_to: Option<usize>,
    /// The first address is a multiple of this power of two (B).
    pub alignment: u64,
    /// Size (B) of the parts that threads 0, 1, … own in this order, None if it has no parts.
    pub part_bytes: Option<u64>,
}

/// Return the index of the allocation that has an address.
pub fn index_of(allocations: &[Allocation], address: u64) -> Option<usize> {
    let after = allocations.partition_point(|allocation| allocation.address <= address);
    let index = after.checked_sub(1)?;
    let allocation = &allocations[index];
    (address - allocation.address < allocation.bytes).then_some(index)
}

/// The arrays of a program, in the order in which it made them.
#[derive(Debug, Default)]
pub struct Layout {
    allocations: Vec<Allocation>,
}

impl Layout {
    /// Return the allocations in the order of their addresses.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Make an array of zeros that threads share.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub fn shared(&mut self, name: &'static str, words: usize) -> Result<Shared, String> {
        self.make(name, words, None, None)
    }

    /// Make an array of zeros that one thread uses.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub fn private(
        &mut self,
        name: &'static str,
        thread: usize,
        words: usize,
    ) -> Result<Shared, String> {
        self.make(name, words, Some(thread), None)
    }

    /// Make an array of zeros with a part of `words` for each thread, each part on its own pages;
    /// return it with the words from the start of a part to that of the next.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub fn parts(
        &mut self,
        name: &'static str,
        threads: usize,
        words: usize,
    ) -> Result<(Shared, usize), String> {
        let step = words.next_multiple_of(PAGE_WORDS);
        let bytes = step as u64 * WORD_BYTES;
        Ok((self.make(name, step * threads, None, Some(bytes))?, step))
    }

    fn make(
        &mut self,
        name: &'static str,
        words: usize,
        is_private_to: Option<usize>,
        part_bytes: Option<u64>,
    ) -> Result<Shared, String> {
        // Nothing is at address 0, as in any process.
        let end = self
            .allocations
            .last()
            .map_or(PAGE_BYTES, |last| last.address + last.bytes);
        let address = end.next_multiple_of(PAGE_BYTES);
        let bytes = words as u64 * WORD_BYTES;
        let shared = Shared::zeroed(address, words)
            .ok_or_else(|| format!("the system has no {bytes} B for the {name}"))?;
        self.allocations.push(Allocation {
            name,
            address,
            bytes,
            is_private_to,
            alignment: PAGE_BYTES,
            part_bytes,
        });
        Ok(shared)
    }

    /// Return the thread that owns an address: the user of a private array, or the owner of the
    /// part; None if the array has no parts or if there is no array.
    pub fn owner(&self, address: u64) -> Option<usize> {
        let allocation = &self.allocations[index_of(&self.allocations, address)?];
        let part = |bytes| ((address - allocation.address) / bytes) as usize;
        allocation
            .is_private_to
            .or_else(|| allocation.part_bytes.map(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_begin_on_pages_and_share_none() {
        let mut layout = Layout::default();
        for words in [1, 512, 513, 7] {
            let shared = layout.shared("array", words).expect("memory");
            assert_eq!(
                shared.address(0),
                layout.allocations().last().expect("one").address
            );
        }
        for pair in layout.allocations().windows(2) {
            assert_eq!(pair[1].address % PAGE_BYTES, 0);
            assert!(pair[0].address + pair[0].bytes <= pair[1].address);
            assert!(pair[1].address - pair[0].address - pair[0].bytes < PAGE_BYTES);
        }
    }

    #[test]
    fn an_address_belongs_to_its_part_its_user_or_no_thread() {
        let mut layout = Layout::default();
        let shared = layout.shared("shared", 10).expect("memory");
        let (parts, step) = layout.parts("parts", 3, 513).expect("memory");
        let private = layout.private("private", 2, 1).expect("memory");
        assert_eq!(step, 1024);
        assert_eq!(layout.owner(shared.address(9)), None);
        let owners = [0, 1023, 1024, 3071].map(|word| layout.owner(parts.address(word)));
        assert_eq!(owners, [Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(layout.owner(private.address(0)), Some(2));
        for outside in [
            0,
            shared.address(0) - 1,
            shared.address(9) + 8,
            private.address(0) + 8,
        ] {
            assert_eq!(index_of(layout.allocations(), outside), None);
            assert_eq!(layout.owner(outside), None);
        }
    }
}
