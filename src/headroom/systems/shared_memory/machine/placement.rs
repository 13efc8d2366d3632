//! Where pages of a program's memory are: private to a node, or shared with a home.
//!
//! Invariant: pages of a home have the numbers 0, 1, … there, in the order of their addresses.

/// Bits of a page's size.
pub const PAGE_BITS: u32 = 12;

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
    counts: Vec<u32>,
}

impl Placement {
    /// Return the places for the homes of pages; None is a private page.
    pub fn new(nodes: u8, homes: impl IntoIterator<Item = Option<u8>>) -> Self {
        let mut counts = vec![0; usize::from(nodes)];
        let place = |home: Option<u8>| match home {
            None => Page {
                home: 0,
                is_private: true,
                number: 0,
            },
            Some(home) => {
                let count: &mut u32 = &mut counts[usize::from(home)];
                let number = *count;
                *count += 1;
                Page {
                    home,
                    is_private: false,
                    number,
                }
            }
        };
        let pages = homes.into_iter().map(place).collect();
        Self { pages, counts }
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

    /// Return the number of shared pages of a home.
    pub fn count(&self, home: u8) -> u32 {
        self.counts[usize::from(home)]
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
