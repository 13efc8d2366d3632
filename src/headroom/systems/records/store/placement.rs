//! Where record storage nodes lie: what decides how many pages and lines a table touches.

use std::alloc::Layout as BlockLayout;
use std::ptr::NonNull;

use rand::RngExt;
use serde::Deserialize;

use super::StoreError;
use super::region::{At, NOWHERE, Region, WORD_BYTES, allocated, returned};
use super::spec::Spec;
use super::touch::Area;
use crate::memory::probe::buffer::Pages;
use crate::simulation::kernel::random::stream::{self, Stream};

/// Bytes (B) of a slab: nodes of one size class side by side.
const SLAB_BYTES: u64 = 64 << 10;
const KEY_OF_PLACES: u64 = 0x706c_6163_6573;

/// A way to find places for nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// One after the other.
    Arena,
    /// Anywhere, in a region `k` times as large as the table: a heap that other tables share.
    Scattered {
        /// Size of the region, in sizes of the table; at least 1.
        k: u32,
    },
    /// In slabs of 64 KiB of one size class (four classes for each doubling), of which every other
    /// place is taken already, in random order.
    SizeClasses,
    /// Where the system's allocator puts them, after twice as many nodes were allocated and half
    /// of these, at random, were returned.
    Malloc,
}

impl Placement {
    /// Return the memory (B) that `count` nodes span.
    pub fn area_bytes(self, node_bytes: u64, count: u64) -> u64 {
        match self {
            Self::Arena => node_bytes * count,
            Self::Scattered { k } => node_bytes * count * u64::from(k),
            Self::SizeClasses => {
                let (_, per_slab, slab) = slab_of(node_bytes);
                count.div_ceil(per_slab / 2) * slab
            }
            // The allocator's blocks have a header, and twice as many exist for a while.
            Self::Malloc => 2 * (node_bytes + 16) * count,
        }
    }

    /// Refuse a placement without places, or one whose pages cannot be chosen.
    ///
    /// # Errors
    ///
    /// Why.
    pub fn check(self, pages: Pages) -> Result<(), StoreError> {
        if self == (Self::Scattered { k: 0 }) {
            return Err(StoreError::Impossible(
                "nodes cannot be scattered over nothing: give an occupancy of 1 or more".to_owned(),
            ));
        }
        if self == Self::Malloc && pages != Pages::Small {
            return Err(StoreError::Impossible(
                "the system's allocator chooses its pages itself: give small pages, or another \
                 placement"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

/// Return the bytes (B) of a size class, the places of a slab, and the bytes (B) of a slab.
///
/// Classes as jemalloc has them: four for each doubling.
fn slab_of(node_bytes: u64) -> (u64, u64, u64) {
    let step = (node_bytes.next_power_of_two() / 8).max(16);
    let class = node_bytes.next_multiple_of(step);
    let slab = SLAB_BYTES.max(class * 2).next_multiple_of(class);
    (class, slab / class, slab)
}

/// Gives out places for nodes, and takes them back.
#[derive(Debug)]
pub struct Placer {
    /// Places in the order in which they are given out; none if they follow each other.
    places: Option<Vec<At>>,
    given: u64,
    most: u64,
    node_words: u64,
    free: Vec<At>,
}

impl Placer {
    /// Return memory for the nodes of a table, and who places them there.
    ///
    /// # Errors
    ///
    /// There is no such memory.
    #[allow(unsafe_code, reason = "who makes a region answers for its addresses")]
    pub fn new(spec: &Spec) -> Result<(Region, Self), StoreError> {
        let most = spec.most_nodes();
        let mut placer = Self {
            places: None,
            given: 0,
            most,
            node_words: spec.node_bytes / WORD_BYTES,
            free: Vec::new(),
        };
        let mut random = stream::open(spec.seed, KEY_OF_PLACES);
        if spec.placement == Placement::Malloc {
            let (region, places) = from_allocator(spec, &mut random)?;
            placer.places = Some(places);
            return Ok((region, placer));
        }
        let bytes = spec.node_area_bytes();
        // SAFETY: the placer gives out places of `most` nodes, for which the area has room.
        let region = unsafe { Region::mapped(Area::Nodes, bytes, spec.pages)? };
        placer.places = match spec.placement {
            Placement::Arena | Placement::Malloc => None,
            Placement::Scattered { k } => {
                let words = placer.node_words;
                let count = (most * u64::from(k)) as usize;
                let places = drawn(count, most as usize, &mut random);
                Some(
                    places
                        .map(|place| (u64::from(place) * words) as At)
                        .collect(),
                )
            }
            Placement::SizeClasses => Some(in_slabs(spec.node_bytes, most, &mut random)),
        };
        Ok((region, placer))
    }

    /// Return a place for a node; None if all are given out.
    pub fn place(&mut self) -> Option<At> {
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        if self.given == self.most {
            return None;
        }
        let number = self.given as usize;
        self.given += 1;
        Some(match &self.places {
            Some(places) => places[number],
            None => (number as u64 * self.node_words) as At,
        })
    }

    /// Take a place back.
    pub fn take_back(&mut self, at: At) {
        debug_assert!(at != NOWHERE);
        self.free.push(at);
    }
}

/// Draw `wanted` different numbers below `count`, in random order (Fisher and Yates).
fn drawn(count: usize, wanted: usize, random: &mut Stream) -> impl Iterator<Item = u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    for place in 0..wanted {
        let other = random.random_range(place..count);
        numbers.swap(place, other);
    }
    numbers.truncate(wanted);
    numbers.into_iter()
}

fn in_slabs(node_bytes: u64, most: u64, random: &mut Stream) -> Vec<At> {
    let (class, per_slab, slab) = slab_of(node_bytes);
    let mut places = Vec::new();
    let mut start = 0;
    while (places.len() as u64) < most {
        let chosen = drawn(per_slab as usize, (per_slab / 2) as usize, random);
        places.extend(chosen.map(|place| ((start + u64::from(place) * class) / WORD_BYTES) as At));
        start += slab;
    }
    places
}

/// Let the system's allocator place the nodes after a history of allocations.
#[allow(unsafe_code, reason = "who makes a region answers for its addresses")]
fn from_allocator(spec: &Spec, random: &mut Stream) -> Result<(Region, Vec<At>), StoreError> {
    let count = spec.most_nodes() as usize;
    let mut churn = |kept: &mut Vec<NonNull<u8>>, layout: BlockLayout| {
        let all = (0..2 * count).map(|_| allocated(layout));
        let mut all: Vec<_> = all.collect::<Result<_, _>>()?;
        for place in 0..count {
            let other = random.random_range(place..all.len());
            all.swap(place, other);
        }
        kept.extend(all.drain(count..));
        for block in all {
            returned(block, layout);
        }
        Ok(())
    };
    // SAFETY: the placer gives out these addresses alone, each for a node of this size.
    unsafe { Region::of_blocks(Area::Nodes, spec.node_bytes as usize, count, &mut churn) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::systems::records::store::spec::Layout;

    fn spec(placement: Placement, node_bytes: u64) -> Spec {
        Spec {
            node_bytes,
            record_bytes: 32,
            capacity: if cfg!(miri) { 40 } else { 3000 },
            layout: Layout::Array,
            placement,
            pages: Pages::Small,
            index_bytes: 64,
            seed: 3,
        }
    }

    const ALL: [Placement; 4] = [
        Placement::Arena,
        Placement::Scattered { k: 4 },
        Placement::SizeClasses,
        Placement::Malloc,
    ];

    /// Property: places are in the region, as many as promised, and do not overlap.
    #[test]
    fn places_do_not_overlap() {
        // Miri, rightly, follows no address of one block from that of another.
        for placement in &ALL[..if cfg!(miri) { 3 } else { 4 }] {
            for node_bytes in [32, 64, 96, 1024, 3000, 65536] {
                let spec = spec(*placement, node_bytes);
                let (mut region, mut placer) = Placer::new(&spec).expect("memory");
                let places: Vec<At> = std::iter::from_fn(|| placer.place()).collect();
                assert_eq!(places.len() as u64, spec.most_nodes());
                let sorted: BTreeSet<u64> = places.iter().map(|at| u64::from(*at) * 4).collect();
                let starts: Vec<u64> = sorted.into_iter().collect();
                assert_eq!(starts.len(), places.len());
                assert!(
                    starts
                        .windows(2)
                        .all(|pair| pair[1] - pair[0] >= node_bytes)
                );
                for at in places {
                    region.words_mut(at, node_bytes as usize / 4).fill(7);
                }
            }
        }
    }

    #[test]
    fn a_place_that_is_taken_back_is_given_out_again() {
        let (_, mut placer) =
            Placer::new(&spec(Placement::Scattered { k: 2 }, 64)).expect("memory");
        let first = placer.place().expect("a place");
        placer.take_back(first);
        assert_eq!(placer.place(), Some(first));
    }

    /// The formula of the reference: pages = (k N / P) (1 - (1 - 1/k)^(P/S)).
    #[test]
    #[cfg_attr(miri, ignore = "needs many places, and no memory")]
    fn scattered_nodes_touch_the_pages_of_the_formula() {
        for (k, node_bytes) in [(4, 2048), (4, 512), (2, 1024), (8, 256)] {
            let spec = Spec {
                capacity: 200_000,
                ..spec(Placement::Scattered { k }, node_bytes)
            };
            let (_, mut placer) = Placer::new(&spec).expect("memory");
            let places = std::iter::from_fn(|| placer.place());
            let pages: BTreeSet<u64> = places.map(|at| u64::from(at) * 4 / 4096).collect();
            let (k, table) = (f64::from(k), (spec.most_nodes() * node_bytes) as f64);
            let nodes_per_page = 4096.0 / node_bytes as f64;
            let expected = k * table / 4096.0 * (1.0 - (1.0 - 1.0 / k).powf(nodes_per_page));
            let share = pages.len() as f64 / expected;
            assert!(
                (0.98..1.02).contains(&share),
                "{share} at k = {k}, {node_bytes} B"
            );
        }
    }
}
