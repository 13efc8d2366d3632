//! Second pass over a trace: each access passes its processor's caches, and what they do not answer
//! goes to the machine, some millions of words at a time.
//!
//! Invariant: each word has a tag, the line of code and the allocation behind it.

use std::collections::BTreeMap;

use super::memory::{Block, Heap, Numbers, OTHER, Pages};
use super::survey::pieces;
use super::threads::{Deed, Signals, Threads};
use crate::systems::shared_memory::hook::{Access, Event, Events};
use crate::systems::shared_memory::machine::engine::Engine;
use crate::systems::shared_memory::machine::placement::{PAGE_BITS, Placement};
use crate::systems::shared_memory::machine::processor::{Keeps, Processor};
use crate::systems::shared_memory::machine::server::Time;
use crate::systems::shared_memory::machine::simulation::{NodeTimes, Setup, totals};
use crate::systems::shared_memory::machine::word::Action;
use crate::systems::shared_memory::protocol::Protocol;

/// Words after which the machine runs.
const MOST_WORDS: usize = 1 << 22;
/// Words after which it runs when all threads meet.
const FEW_WORDS: usize = 1 << 12;
/// Accesses between two looks at the number of words.
const LOOK: u64 = 1 << 12;
/// No processor.
const NOBODY: u16 = u16::MAX;

/// Site and group of allocations of a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Address of the code behind the access; 0 for what synchronisation writes back.
    pub site: u64,
    /// Group of allocations.
    pub group: u32,
}

/// Tags, numbered as they come; 0 is what belongs to no access.
#[derive(Debug)]
struct Tags {
    all: Vec<Tag>,
    sites: Numbers,
    pairs: Numbers,
}

impl Tags {
    fn new() -> Self {
        Self {
            all: vec![Tag::default()],
            sites: Numbers::default(),
            pairs: [(0, 0)].into_iter().collect(),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "fewer sites than words")]
    fn number(&mut self, site: u64, group: u32) -> u32 {
        let new = self.sites.len() as u32 + 1;
        let number = if site == 0 {
            0
        } else {
            *self.sites.entry(site).or_insert(new)
        };
        let new = self.all.len() as u32;
        let pair = u64::from(number) << 32 | u64::from(group);
        let tag = *self.pairs.entry(pair).or_insert(new);
        if tag == new {
            self.all.push(Tag { site, group });
        }
        tag
    }
}

/// Who has each line in the caches of the processors, where hardware keeps these coherent.
#[derive(Debug)]
struct Sharers {
    line_bits: u32,
    /// Numbers of 64 bits for each line.
    wide: usize,
    /// A bit for each processor that may have the line.
    bits: Vec<u64>,
    /// The processor that may write it without telling.
    owners: Vec<u16>,
}

impl Sharers {
    fn new(setup: &Setup, processors: usize, pages: usize) -> Self {
        let line_bits = setup.processor.line_bytes.trailing_zeros();
        let lines = if setup.processor.keeps == Keeps::Coherent {
            pages << (PAGE_BITS - line_bits)
        } else {
            0
        };
        let wide = processors.div_ceil(64);
        Self {
            line_bits,
            wide,
            bits: vec![0; lines * wide],
            owners: vec![NOBODY; lines],
        }
    }

    /// A processor takes a line to read: whoever wrote it last tells of the next write.
    #[allow(clippy::cast_possible_truncation, reason = "lines fit in memory")]
    fn read(&mut self, line: u64, index: usize, processors: &mut [Processor<'_>]) {
        let at = line as usize;
        self.bits[at * self.wide + index / 64] |= 1 << (index % 64);
        let owner = std::mem::replace(&mut self.owners[at], NOBODY);
        if owner != NOBODY {
            processors[usize::from(owner)].clean_line(line);
        }
    }

    /// A processor takes a line to write: return how many others lost it.
    #[allow(clippy::cast_possible_truncation, reason = "at most 256 processors")]
    fn write(&mut self, line: u64, index: usize, processors: &mut [Processor<'_>]) -> u32 {
        let at = line as usize;
        let mut lost = 0;
        for word in 0..self.wide {
            let bits = &mut self.bits[at * self.wide + word];
            let own = if word == index / 64 {
                1 << (index % 64)
            } else {
                0
            };
            let mut others = std::mem::replace(bits, own) & !own;
            while others != 0 {
                let other = word * 64 + others.trailing_zeros() as usize;
                lost += u32::from(processors[other].drop_line(line));
                others &= others - 1;
            }
        }
        self.owners[at] = index as u16;
        lost
    }
}

/// Takes a trace and simulates it.
pub struct Player<'p, P: Protocol> {
    setup: Setup,
    /// Instructions of an access besides its own.
    more_instructions: u32,
    threads: Threads,
    /// What threads wait for.
    pub signals: Signals,
    /// Pages, numbered by the survey.
    pub pages: Pages,
    /// Allocations.
    pub heap: Heap,
    processors: Vec<Processor<'p>>,
    sharers: Sharers,
    tags: Tags,
    tags_of_words: Vec<Vec<u32>>,
    /// The allocation of the last miss of each processor.
    near: Vec<Option<Block>>,
    /// The machine.
    pub engine: Engine<'p, P>,
    /// Copies that processors lost to the writes of others, by line of the machine.
    pub lost_by_processors: BTreeMap<u64, u32>,
    /// Clock and times at the ends of batches.
    pub moments: Vec<(Time, NodeTimes)>,
    /// Accesses.
    pub accesses: u64,
    failure: Option<String>,
}

impl<'p, P: Protocol> Player<'p, P> {
    /// Return a machine at rest.
    ///
    /// # Errors
    ///
    /// Why there is no such machine.
    pub fn new(
        setup: &Setup,
        protocol: &'p P,
        placement: &'p Placement,
        pages: Pages,
        more_instructions: u32,
    ) -> Result<Self, String> {
        let machine = setup.machine;
        let mut engine = Engine::new(protocol, machine, placement.clone())?;
        engine.watch_lines();
        let nodes = (0..machine.nodes).flat_map(|node| (0..machine.cpus).map(move |_| node));
        let processors: Vec<_> = nodes
            .map(|node| Processor::new(&setup.processor, placement, node, machine.is_on_card))
            .collect();
        let count = processors.len();
        Ok(Self {
            setup: *setup,
            more_instructions,
            threads: Threads::new(count),
            signals: Signals::default(),
            sharers: Sharers::new(setup, count, pages.len()),
            pages,
            heap: Heap::default(),
            processors,
            tags: Tags::new(),
            tags_of_words: vec![Vec::new(); count],
            near: vec![None; count],
            engine,
            lost_by_processors: BTreeMap::new(),
            moments: Vec::new(),
            accesses: 0,
            failure: None,
        })
    }

    /// Return the tags by number.
    pub fn tags(&self) -> &[Tag] {
        &self.tags.all
    }

    /// Return the group of allocations that has an address now.
    fn group(&mut self, index: usize, address: u64) -> u32 {
        match self.near[index] {
            Some(block) if block.has(address) => block.group,
            _ => {
                self.near[index] = self.heap.at(address);
                self.near[index].map_or(OTHER, |block| block.group)
            }
        }
    }

    /// Give the new words of a processor their tags; keep the caches of the others coherent.
    fn note_words(&mut self, index: usize, from: usize, site: u64, piece: (u64, u64)) {
        let is_coherent = self.setup.processor.keeps == Keeps::Coherent;
        let (sparse, dense) = piece;
        let line_bits = self.sharers.line_bits;
        for at in from..self.processors[index].words().len() {
            let action = Action::of(self.processors[index].words()[at]);
            let Action::Access {
                address, is_write, ..
            } = action
            else {
                continue;
            };
            // A line of the access itself belongs to what the access meant.
            let is_own = address >> line_bits == dense >> line_bits;
            let meant = if is_own {
                sparse
            } else {
                self.pages.sparse(address)
            };
            let group = self.group(index, meant);
            let tag = self.tags.number(site, group);
            let tags = &mut self.tags_of_words[index];
            tags.resize(at, 0);
            tags.push(tag);
            if !is_coherent {
                continue;
            }
            let line = address >> line_bits;
            if is_write {
                let lost = self.sharers.write(line, index, &mut self.processors);
                if lost > 0 {
                    let line = address >> self.engine_line_bits();
                    *self.lost_by_processors.entry(line).or_default() += lost;
                }
            } else {
                self.sharers.read(line, index, &mut self.processors);
            }
        }
    }

    fn engine_line_bits(&self) -> u32 {
        self.setup.machine.line_bytes.trailing_zeros()
    }

    /// Run the machine through what has come so far.
    fn run_batch(&mut self) -> Result<(), String> {
        let words: Vec<Vec<u64>> = self
            .processors
            .iter_mut()
            .map(Processor::take_words)
            .collect();
        let lists: Vec<&[u64]> = words.iter().map(Vec::as_slice).collect();
        let tags = std::mem::replace(&mut self.tags_of_words, vec![Vec::new(); lists.len()]);
        self.engine.run_tagged(&lists, tags, self.tags.all.len())?;
        let times = self.node_times();
        self.moments.push((self.engine.elapsed(), times));
        Ok(())
    }

    fn node_times(&self) -> NodeTimes {
        totals(&self.engine.accounts(), self.setup.machine.cpus)
    }

    fn words(&self) -> usize {
        self.processors.iter().map(|one| one.words().len()).sum()
    }

    fn run_if_full(&mut self, most: usize) {
        if self.failure.is_none()
            && self.words() >= most
            && let Err(error) = self.run_batch()
        {
            self.failure = Some(error);
        }
    }

    /// End the run.
    ///
    /// # Errors
    ///
    /// What the machine or the trace could not do.
    pub fn finish(&mut self) -> Result<(), String> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        for index in 0..self.processors.len() {
            self.synchronise(index);
        }
        self.run_batch()?;
        self.engine.meet(0);
        let end = (self.engine.elapsed(), self.node_times());
        if let Some(last) = self.moments.last_mut() {
            *last = end;
        }
        Ok(())
    }

    /// Write back and drop what software has to when threads synchronise.
    fn synchronise(&mut self, index: usize) {
        let from = self.processors[index].words().len();
        self.processors[index].synchronise();
        self.note_words(index, from, 0, (0, u64::MAX));
    }
}

/// True if software that keeps caches coherent trusts what the event guards: locks, semaphores, and
/// what programs build of atomic objects.
const fn is_of_lock(event: Event) -> bool {
    !matches!(
        event,
        Event::Started { .. }
            | Event::Begun
            | Event::Ended
            | Event::Joined { .. }
            | Event::Entered { .. }
            | Event::Left { .. }
    )
}

impl<P: Protocol> Events for Player<'_, P> {
    #[inline]
    fn access(&mut self, thread: u32, access: Access) {
        if self.failure.is_some() {
            return;
        }
        let index = self.threads.processor(thread);
        self.accesses += 1;
        self.processors[index].work(self.more_instructions);
        let is_write = access.kind.is_write();
        for (address, bytes) in pieces(&access) {
            let dense = self.pages.dense(address);
            let processor = &mut self.processors[index];
            let from = processor.words().len();
            processor.access(dense, bytes, is_write);
            if processor.words().len() > from {
                self.note_words(index, from, access.site, (address, dense));
            }
        }
        if self.accesses.is_multiple_of(LOOK) {
            self.run_if_full(MOST_WORDS);
        }
    }

    fn event(&mut self, thread: u32, event: Event) {
        let index = self.threads.processor(thread);
        match event {
            Event::Allocated {
                address,
                bytes,
                site,
            } => {
                self.near.fill(None);
                self.heap.allocate(address, bytes, site);
                return;
            }
            Event::Freed { address } => {
                self.near.fill(None);
                self.heap.free(address);
                return;
            }
            _ => {}
        }
        match self.signals.deed(thread, event) {
            Ok(Deed::None) => {}
            Ok(Deed::Post(signal)) => {
                if !is_of_lock(event) {
                    self.synchronise(index);
                }
                self.processors[index].post(signal);
            }
            Ok(Deed::Await(signal, posts, sync)) => {
                if self.signals.have_all_met {
                    self.run_if_full(FEW_WORDS);
                }
                if !is_of_lock(event) {
                    self.synchronise(index);
                }
                self.processors[index].wait(signal, posts, sync);
            }
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }
}
