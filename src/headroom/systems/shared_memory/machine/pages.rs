//! Who uses each page of a program, and where that makes its home.

use serde::Deserialize;

use super::placement::{PAGE_BITS, PART_BITS, Placement, equal_cut, interleaved};
use crate::systems::shared_memory::programs::Program;
use crate::systems::shared_memory::programs::layout::Allocation;
use crate::systems::shared_memory::programs::run::run_phases;
use crate::systems::shared_memory::programs::watch::Watch;

/// A rule for the homes of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementName {
    /// Each allocation in equal parts, one for each node.
    EqualCut,
    /// Pages in turn.
    Interleave,
    /// The node of the thread that the program would choose, and pages in turn without one.
    Owner,
    /// The node of the thread that uses the page first.
    FirstTouch,
    /// The node that uses the page most.
    Most,
}

/// Memory that goes to a node's private memory because no other node uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovesPrivate {
    /// None but the arrays that a program makes for one thread.
    Nothing,
    /// Whole pages.
    Pages,
    /// Parts of 64 bytes, as if the program's data had been laid out anew.
    Parts,
}

/// Accesses of one thread by page.
#[derive(Clone, Debug)]
struct Touches {
    counts: Vec<u32>,
    /// A bit for each part that was used.
    parts: Vec<u64>,
    /// Phase of the first access.
    first: Vec<u32>,
    phase: u32,
}

impl Touches {
    fn new(pages: usize) -> Self {
        Self {
            counts: vec![0; pages],
            parts: vec![0; pages],
            first: vec![u32::MAX; pages],
            phase: 0,
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "pages fit in memory")]
    fn touch(&mut self, address: u64) {
        let page = (address >> PAGE_BITS) as usize;
        if let Some(count) = self.counts.get_mut(page) {
            *count = count.saturating_add(1);
            // A page has as many parts as a word has bits.
            self.parts[page] |= 1 << (address >> PART_BITS & 63);
            self.first[page] = self.first[page].min(self.phase);
        }
    }
}

impl Watch for Touches {
    #[inline]
    fn read(&mut self, address: u64, _: u32) {
        self.touch(address);
    }
    #[inline]
    fn write(&mut self, address: u64, _: u32) {
        self.touch(address);
    }
    #[inline]
    fn compute(&mut self, _: u32) {}
    fn lock(&mut self, _: u32) {}
    fn unlock(&mut self, _: u32) {}
}

/// Accesses of each page by each node.
#[derive(Clone, Debug)]
pub struct Users {
    /// By page, then by node.
    pub counts: Vec<Vec<u64>>,
    /// A bit for each part that one node uses alone.
    alone: Vec<u64>,
    first: Vec<Option<u8>>,
}

/// Return the number of pages up to the end of all allocations.
#[allow(clippy::cast_possible_truncation, reason = "pages fit in memory")]
pub fn page_count(allocations: &[Allocation]) -> usize {
    let end = allocations
        .last()
        .map_or(0, |last| last.address + last.bytes);
    end.div_ceil(1 << PAGE_BITS) as usize
}

impl Users {
    /// Return the users of pages: accesses by page and node, a bit for each part that one node uses
    /// alone, and the first user of each page.
    pub fn new(counts: Vec<Vec<u64>>, alone: Vec<u64>, first: Vec<Option<u8>>) -> Self {
        Self {
            counts,
            alone,
            first,
        }
    }

    /// Run a program, `cpus` of whose threads are on each node, and note who uses its pages.
    #[allow(clippy::cast_possible_truncation, reason = "at most 64 nodes")]
    pub fn of<P: Program>(program: &P, nodes: u8, cpus: u8) -> Self {
        let pages = page_count(program.allocations());
        let mut touches = vec![Touches::new(pages); program.threads()];
        run_phases(program, &mut touches, |phase, touches| {
            for one in touches {
                one.phase = phase as u32 + 1;
            }
        });
        let node_of = |thread: usize| (thread / usize::from(cpus)) as u8;
        let counts = (0..pages).map(|page| {
            let mut of_nodes = vec![0; usize::from(nodes)];
            for (thread, one) in touches.iter().enumerate() {
                of_nodes[usize::from(node_of(thread))] += u64::from(one.counts[page]);
            }
            of_nodes
        });
        let alone = (0..pages).map(|page| {
            let mut of_nodes = vec![0_u64; usize::from(nodes)];
            for (thread, one) in touches.iter().enumerate() {
                of_nodes[usize::from(node_of(thread))] |= one.parts[page];
            }
            let (once, more) = of_nodes.iter().fold((0, 0), |(once, more), parts| {
                (once | parts, more | once & parts)
            });
            once & !more
        });
        let first = (0..pages).map(|page| {
            let users = touches.iter().enumerate();
            let users = users.filter(|(_, one)| one.counts[page] > 0);
            let first = users.min_by_key(|(_, one)| one.first[page]);
            first.map(|(thread, _)| node_of(thread))
        });
        Self {
            counts: counts.collect(),
            alone: alone.collect(),
            first: first.collect(),
        }
    }

    /// Place the pages of a program.
    ///
    /// On a machine of one node all pages are private.
    #[allow(clippy::cast_possible_truncation, reason = "at most 64 nodes")]
    pub fn place<P: Program>(
        &self,
        program: &P,
        rule: PlacementName,
        nodes: u8,
        cpus: u8,
        moves: MovesPrivate,
    ) -> Placement {
        let count = self.counts.len();
        let mut homes: Vec<Option<u8>> = interleaved(count, nodes).map(Some).collect();
        for allocation in program.allocations() {
            let first = (allocation.address >> PAGE_BITS) as usize;
            let own = allocation.bytes.div_ceil(1 << PAGE_BITS) as usize;
            for (page, cut) in (first..first + own).zip(equal_cut(own, nodes)) {
                let address = (page as u64) << PAGE_BITS;
                let owner = || {
                    program
                        .owner(address)
                        .map(|thread| (thread / usize::from(cpus)) as u8)
                };
                homes[page] = self.home(page, rule, cut, owner).or(homes[page]);
                let is_private = self.is_private(page, nodes, moves);
                if is_private || allocation.is_private_to.is_some() {
                    homes[page] = None;
                }
            }
        }
        self.placed(homes, nodes, moves)
    }

    /// Place pages of a program that has no owners; an equal cut is one of all pages.
    pub fn place_pages(&self, rule: PlacementName, nodes: u8, moves: MovesPrivate) -> Placement {
        let count = self.counts.len();
        let plain = interleaved(count, nodes).zip(equal_cut(count, nodes));
        let homes = plain.enumerate().map(|(page, (turn, cut))| {
            let home = self.home(page, rule, cut, || None).unwrap_or(turn);
            (!self.is_private(page, nodes, moves)).then_some(home)
        });
        self.placed(homes.collect(), nodes, moves)
    }

    /// Return the home of a page by a rule; None where pages take turns.
    fn home(
        &self,
        page: usize,
        rule: PlacementName,
        cut: u8,
        owner: impl FnOnce() -> Option<u8>,
    ) -> Option<u8> {
        match rule {
            PlacementName::EqualCut => Some(cut),
            PlacementName::Interleave => None,
            PlacementName::Owner => owner(),
            PlacementName::FirstTouch => self.first[page],
            PlacementName::Most => self.most(page),
        }
    }

    /// Return whether a page is private because of its users.
    fn is_private(&self, page: usize, nodes: u8, moves: MovesPrivate) -> bool {
        let users = self.counts[page].iter().filter(|count| **count > 0).count();
        nodes == 1 || (moves != MovesPrivate::Nothing && users <= 1)
    }

    fn placed(&self, homes: Vec<Option<u8>>, nodes: u8, moves: MovesPrivate) -> Placement {
        let placement = Placement::new(nodes, homes);
        match moves {
            MovesPrivate::Parts => placement.with_private_parts(self.alone.clone()),
            MovesPrivate::Nothing | MovesPrivate::Pages => placement,
        }
    }

    /// Return the node that uses a page most; of equal ones the first.
    fn most(&self, page: usize) -> Option<u8> {
        let counts = (0_u8..).zip(&self.counts[page]);
        let used = counts.filter(|(_, count)| **count > 0);
        used.min_by_key(|(_, count)| std::cmp::Reverse(**count))
            .map(|(node, _)| node)
    }
}
