//! Where pages of a program's memory are: private to a node, or shared with a home.
//!
//! Invariant: pages of a home have the numbers 0, 1, … there, in the order of their addresses.

/// Bits of a page's size.
pub const PAGE_BITS: u32 = 12;
/// Bits of the size of the parts of a page that can be private.
pub const PART_BITS: u32 = 6;

/// Place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Home; for private pages any.
    pub home: u8,
    /// Whether only its own node uses it, from the memory that processors cache.
    pub is_private: bool,
    /// Number of the page among those of its home.
    pub number: u32,
}

/// Places of all pages from address 0.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    pages: Vec<Page>,
    /// Pages of each home, in the order of their numbers there.
    of_homes: Vec<Vec<usize>>,
    /// A bit for each part of a shared page that is private all the same; may be empty.
    private_parts: Vec<u64>,
}

impl Placement {
    /// Return the places for the homes of pages; None is a private page.
    pub fn new(nodes: u8, homes: impl IntoIterator<Item = Option<u8>>) -> Self {
        let mut of_homes = vec![Vec::new(); usize::from(nodes)];
        let mut pages = Vec::new();
        for home in homes {
            let number = home.map_or(0, |home| of_homes[usize::from(home)].len());
            pages.push(Page {
                home: home.unwrap_or(0),
                is_private: home.is_none(),
                #[allow(clippy::cast_possible_truncation, reason = "at most 2^48 bytes")]
                number: number as u32,
            });
            if let Some(home) = home {
                of_homes[usize::from(home)].push(pages.len() - 1);
            }
        }
        Self {
            pages,
            of_homes,
            private_parts: Vec::new(),
        }
    }

    /// Make parts of shared pages private: a bit for each 64 bytes, from address 0.
    #[must_use]
    pub fn with_private_parts(mut self, parts: Vec<u64>) -> Self {
        self.private_parts = parts;
        self
    }

    /// Return whether an address is private, by its page or by its part of it.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "addresses fit")]
    pub fn is_private(&self, address: u64) -> bool {
        let part = address >> PART_BITS;
        let word = self.private_parts.get((part >> 6) as usize).copied();
        word.unwrap_or(0) >> (part & 63) & 1 == 1 || self.of(address).is_private
    }

    /// Return the place of an address; addresses beyond all pages are private.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "addresses fit")]
    pub fn of(&self, address: u64) -> Page {
        let page = (address >> PAGE_BITS) as usize;
        self.pages.get(page).copied().unwrap_or(Page {
            home: 0,
            is_private: true,
            number: 0,
        })
    }

    /// Return the number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Return whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Return the number of shared pages of a home.
    #[allow(clippy::cast_possible_truncation, reason = "at most 2^48 bytes")]
    pub fn count(&self, home: u8) -> u32 {
        self.of_homes[usize::from(home)].len() as u32
    }

    /// Return the sizes (B) of all shared and of all private pages.
    pub fn bytes(&self) -> [u64; 2] {
        let private = self.pages.iter().filter(|page| page.is_private).count() as u64;
        let all = self.pages.len() as u64;
        [all - private, private].map(|pages| pages << PAGE_BITS)
    }

    /// Return the page with a number at a home.
    pub fn page_of(&self, home: u8, number: u32) -> Option<usize> {
        let pages = self.of_homes.get(usize::from(home))?;
        pages.get(number as usize).copied()
    }
}

/// Homes of `count` pages, cut into equal parts: the first part is the first node's.
pub fn equal_cut(count: usize, nodes: u8) -> impl Iterator<Item = u8> {
    let nodes_wide = usize::from(nodes);
    (0..count).map(move |page| {
        #[allow(clippy::cast_possible_truncation, reason = "below the number of nodes")]
        let home = (page * nodes_wide / count.max(1)) as u8;
        home
    })
}

/// Homes of `count` pages in turn.
pub fn interleaved(count: usize, nodes: u8) -> impl Iterator<Item = u8> {
    (0..nodes).cycle().take(count)
}

#[cfg(test)]
mod tests {
    use super::{Placement, equal_cut, interleaved};

    #[test]
    fn cuts_are_equal_and_turns_are_fair() {
        assert_eq!(
            equal_cut(8, 4).collect::<Vec<_>>(),
            [0, 0, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!(interleaved(5, 2).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
        assert_eq!(equal_cut(0, 4).count(), 0);
    }

    #[test]
    fn pages_are_numbered_at_their_homes() {
        let placement = Placement::new(2, [Some(1), None, Some(1), Some(0)]);
        assert_eq!(placement.of(0x2FFF).number, 1);
        assert_eq!(
            (placement.of(0x3000).home, placement.of(0x3000).number),
            (0, 0)
        );
        assert!(placement.of(0x1000).is_private && placement.of(1 << 40).is_private);
        assert_eq!((placement.count(0), placement.count(1)), (1, 2));
    }
}
