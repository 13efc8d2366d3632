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
    pages: Vec<Touched>,
    phase: u32,
}

/// Accesses of a page by one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    count: u32,
    /// Phase of the first access.
    first: u32,
    /// A bit for each part that was used.
    parts: u64,
}

impl Touches {
    fn new(pages: usize) -> Self {
        Self {
            pages: vec![Touched::default(); pages],
            phase: 0,
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "pages fit in memory")]
    fn touch(&mut self, address: u64) {
        let page = (address >> PAGE_BITS) as usize;
        if let Some(page) = self.pages.get_mut(page) {
            if page.count == 0 {
                page.first = self.phase;
            }
            page.count = page.count.saturating_add(1);
            // A page has as many parts as a word has bits.
            page.parts |= 1 << (address >> PART_BITS & 63);
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
    counts: Vec<Vec<u64>>,
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

    /// Return who uses the pages of a program as far as its placement depends on that: by a rule
    /// that is fixed before the run, on nothing.
    pub fn needed_by<P: Program>(
        rule: PlacementName,
        moves: MovesPrivate,
        program: &P,
        nodes: u8,
        cpus: u8,
    ) -> Self {
        let depends = matches!(rule, PlacementName::FirstTouch | PlacementName::Most);
        if depends || moves != MovesPrivate::Nothing {
            return Self::of(program, nodes, cpus);
        }
        let pages = page_count(program.allocations());
        Self {
            counts: vec![Vec::new(); pages],
            alone: vec![0; pages],
            first: vec![None; pages],
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
                of_nodes[usize::from(node_of(thread))] += u64::from(one.pages[page].count);
            }
            of_nodes
        });
        let alone = (0..pages).map(|page| {
            let mut of_nodes = vec![0_u64; usize::from(nodes)];
            for (thread, one) in touches.iter().enumerate() {
                of_nodes[usize::from(node_of(thread))] |= one.pages[page].parts;
            }
            let (once, more) = of_nodes.iter().fold((0, 0), |(once, more), parts| {
                (once | parts, more | once & parts)
            });
            once & !more
        });
        let first = (0..pages).map(|page| {
            let users = touches.iter().enumerate();
            let users = users.filter(|(_, one)| one.pages[page].count > 0);
            let first = users.min_by_key(|(_, one)| one.pages[page].first);
            first.map(|(thread, _)| node_of(thread))
        });
        Self {
            counts: counts.collect(),
            alone: alone.collect(),
            first: first.collect(),
        }
    }

    /// Return accesses of shared memory by node (rows) and home (columns).
    pub fn sharing(&self, placement: &Placement, nodes: u8) -> Vec<Vec<u64>> {
        let wide = usize::from(nodes);
        let mut matrix = vec![vec![0; wide]; wide];
        for (page, counts) in (0_u64..).zip(&self.counts) {
            let place = placement.of(page << PAGE_BITS);
            if place.is_private {
                continue;
            }
            for (row, count) in matrix.iter_mut().zip(counts) {
                row[usize::from(place.home)] += count;
            }
        }
        matrix
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::shared_memory::programs::lu::{Lu, Spec};

    #[test]
    fn rules_that_are_fixed_before_a_run_need_none() {
        let spec = Spec {
            order: 64,
            ..Spec::default()
        };
        let program = Lu::new(spec, 4, 1).expect("a small matrix");
        let known = Users::of(&program, 2, 2);
        for rule in [
            PlacementName::EqualCut,
            PlacementName::Interleave,
            PlacementName::Owner,
            PlacementName::FirstTouch,
            PlacementName::Most,
        ] {
            for moves in [MovesPrivate::Nothing, MovesPrivate::Pages] {
                let needed = Users::needed_by(rule, moves, &program, 2, 2);
                let placed = needed.place(&program, rule, 2, 2, moves);
                let expected = known.place(&program, rule, 2, 2, moves);
                for page in 0..expected.len() as u64 {
                    let address = page << PAGE_BITS;
                    assert_eq!(
                        placed.of(address),
                        expected.of(address),
                        "{rule:?} {moves:?}"
                    );
                }
            }
        }
    }
}
