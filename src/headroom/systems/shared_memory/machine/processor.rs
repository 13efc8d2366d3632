//! Caches of a processor, which let only their misses through to the machine.
//!
//! Between barriers no other processor reaches into them, so a processor's accesses of a phase pass
//! its caches at once, and the machine gets a word for each miss, with the work before it.
//!
//! Invariant: a line is dirty from its first write of a phase on, and shared lines are clean when a
//! phase begins.

use serde::Deserialize;

use super::placement::{PAGE_BITS, Placement};
use super::word::{Recorder, Sync};
use crate::systems::shared_memory::programs::watch::Watch;

/// Lines of shared memory that a processor's caches keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeps {
    /// None: each access of shared memory leaves the processor.
    Nothing,
    /// All until the next barrier, where software writes them back and drops them. Hardware keeps
    /// those of the own node, unless they are behind the I/O bus.
    UntilBarrier,
    /// All, and hardware drops those that others write.
    Coherent,
}

/// Caches of each processor: a first level, and a second and a third one if they have bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorSpec {
    /// Size (B) of a line: a power of two, 16 to 256.
    pub line_bytes: u64,
    /// Size (B) of the first level.
    pub l1_bytes: u64,
    /// Ways of the first level.
    pub l1_ways: u32,
    /// Size (B) of the second level, 0 without one.
    pub l2_bytes: u64,
    /// Ways of the second level.
    pub l2_ways: u32,
    /// Size (B) of the processor's part of the last level, which takes what leaves the second one;
    /// 0 without it.
    pub l3_bytes: u64,
    /// Ways of it.
    pub l3_ways: u32,
    /// Lines of shared memory that they keep.
    pub keeps: Keeps,
}

impl ProcessorSpec {
    /// Check the caches.
    ///
    /// # Errors
    ///
    /// Why there are no such caches, and which would be possible.
    pub fn check(&self) -> Result<(), String> {
        if !self.line_bytes.is_power_of_two() || !(16..=256).contains(&self.line_bytes) {
            return Err(format!(
                "processors with lines of {} B: give a power of two from 16 to 256",
                self.line_bytes
            ));
        }
        if self.l3_bytes > 0 && self.l2_bytes == 0 {
            return Err(
                "a third level without a second one, whose lines it would take: describe the \
                 second level, or give l3_bytes = 0"
                    .into(),
            );
        }
        let levels = [
            ("first", self.l1_bytes, self.l1_ways),
            ("second", self.l2_bytes, self.l2_ways),
            ("third", self.l3_bytes, self.l3_ways),
        ];
        let is_there = |level: &(&str, u64, u32)| level.0 == "first" || level.1 > 0;
        for (level, bytes, ways) in levels.into_iter().filter(is_there) {
            let sets = bytes / self.line_bytes / u64::from(ways.max(1));
            let whole = sets * self.line_bytes * u64::from(ways) == bytes;
            if ways == 0 || !whole || !sets.is_power_of_two() {
                return Err(format!(
                    "a {level} level of {bytes} B in {ways} ways of lines of {} B: give a power of \
                     two of sets",
                    self.line_bytes
                ));
            }
        }
        Ok(())
    }
}

/// Bits of an entry below the line's number.
const FLAG_BITS: u32 = 2;
const DIRTY: u64 = 1;
/// Written back and dropped at a barrier, or announced when it is written.
const SHARED: u64 = 2;
/// An entry without a line.
const EMPTY: u64 = u64::MAX;

/// One level; in each set the line that was used last comes first.
#[derive(Clone, Debug)]
struct Level {
    entries: Vec<u64>,
    ways: usize,
    mask: u64,
}

#[allow(clippy::cast_possible_truncation, reason = "caches fit in memory")]
impl Level {
    fn new(bytes: u64, ways: u32, line_bytes: u64) -> Self {
        let count = bytes / line_bytes;
        Self {
            entries: vec![EMPTY; count as usize],
            ways: ways as usize,
            mask: count / u64::from(ways) - 1,
        }
    }

    #[inline]
    fn set(&mut self, line: u64) -> &mut [u64] {
        let first = (line & self.mask) as usize * self.ways;
        &mut self.entries[first..first + self.ways]
    }

    /// Return the entry of a line, which becomes the first of its set.
    #[inline]
    fn find(&mut self, line: u64) -> Option<&mut u64> {
        let set = self.set(line);
        let way = set.iter().position(|entry| entry >> FLAG_BITS == line)?;
        // Sets are short: a call that moves memory would cost more than this.
        let mut moved = set[way];
        for entry in &mut set[..=way] {
            std::mem::swap(entry, &mut moved);
        }
        Some(&mut set[0])
    }

    /// Return the entry of a line, which stays where it is.
    #[inline]
    fn peek(&mut self, line: u64) -> Option<&mut u64> {
        let set = self.set(line);
        set.iter_mut().find(|entry| **entry >> FLAG_BITS == line)
    }

    /// Put an entry in; return the one that goes.
    #[inline]
    fn insert(&mut self, entry: u64) -> Option<u64> {
        let mut old = entry;
        for entry in self.set(entry >> FLAG_BITS) {
            std::mem::swap(entry, &mut old);
        }
        (old != EMPTY).then_some(old)
    }

    /// Remove a line; return its entry if it was there.
    fn remove(&mut self, line: u64) -> Option<u64> {
        let set = self.set(line);
        let way = set.iter().position(|entry| entry >> FLAG_BITS == line)?;
        let entry = std::mem::replace(&mut set[way], EMPTY);
        set[way..].rotate_left(1);
        Some(entry)
    }
}

/// A processor: a watcher of a thread.
#[derive(Debug)]
pub struct Processor<'p> {
    placement: &'p Placement,
    /// Node to which it belongs.
    pub node: u8,
    /// Home whose memory needs no care of software; None if there is none.
    own_home: Option<u8>,
    keeps: Keeps,
    line_bits: u32,
    first: Level,
    second: Option<Level>,
    /// What has left the second one.
    third: Option<Level>,
    recorder: Recorder,
    /// Shared lines written in this phase.
    written: Vec<u64>,
    /// Shared lines fetched in this phase, if the barrier drops them; one may be there twice, and
    /// as many as there are entries may be not all.
    fetched: Vec<u64>,
    /// Accesses of each page, of all phases.
    pub uses: Vec<u64>,
    /// Accesses before the account began.
    earlier: u64,
}

impl<'p> Processor<'p> {
    /// Return a processor of a node with empty caches.
    pub fn new(spec: &ProcessorSpec, placement: &'p Placement, node: u8, is_on_card: bool) -> Self {
        let is_own_safe = spec.keeps == Keeps::UntilBarrier && !is_on_card;
        let further = |bytes, ways| (bytes > 0).then(|| Level::new(bytes, ways, spec.line_bytes));
        Self {
            placement,
            node,
            own_home: is_own_safe.then_some(node),
            keeps: spec.keeps,
            line_bits: spec.line_bytes.trailing_zeros(),
            first: Level::new(spec.l1_bytes, spec.l1_ways, spec.line_bytes),
            second: further(spec.l2_bytes, spec.l2_ways),
            third: further(spec.l3_bytes, spec.l3_ways),
            recorder: Recorder::default(),
            written: Vec::new(),
            fetched: Vec::new(),
            uses: vec![0; placement.len()],
            earlier: 0,
        }
    }

    /// Forget the accesses so far.
    pub fn start_account(&mut self) {
        self.earlier = self.uses.iter().sum();
    }

    /// Return the accesses, also those that the caches answer.
    pub fn accesses(&self) -> u64 {
        self.uses.iter().sum::<u64>() - self.earlier
    }

    /// Access memory.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "pages fit in memory")]
    pub fn access(&mut self, address: u64, bytes: u32, is_write: bool) {
        if let Some(uses) = self.uses.get_mut((address >> PAGE_BITS) as usize) {
            *uses += 1;
        }
        self.recorder.compute(1);
        let first = address >> self.line_bits;
        let last = (address + u64::from(bytes) - 1) >> self.line_bits;
        let dirty = if is_write { DIRTY } else { 0 };
        for line in first..=last {
            let entry = self.first.set(line)[0];
            // A hit of the line that the set used last, with nothing to note.
            if entry >> FLAG_BITS != line || entry & dirty != dirty {
                self.look_further(line, address, bytes, is_write);
            }
        }
    }

    /// An access that is no plain hit of the first way.
    fn look_further(&mut self, line: u64, address: u64, bytes: u32, is_write: bool) {
        if self.keeps == Keeps::Nothing && self.is_shared(line) {
            let start = address.max(line << self.line_bits);
            let end = (address + u64::from(bytes)).min((line + 1) << self.line_bits);
            #[allow(clippy::cast_possible_truncation, reason = "at most a line")]
            self.recorder.access(start, (end - start) as u32, is_write);
            return;
        }
        if self.first.find(line).is_none() {
            self.fetch(line);
        }
        if is_write {
            self.make_dirty(line);
        }
    }

    fn is_shared(&self, line: u64) -> bool {
        !self.placement.is_private(line << self.line_bits)
    }

    /// Return the flag of a line of shared memory.
    fn flag(&self, line: u64) -> u64 {
        let home = self.placement.of(line << self.line_bits).home;
        if self.own_home == Some(home) {
            0
        } else {
            SHARED
        }
    }

    /// Bring a line to the first level.
    fn fetch(&mut self, line: u64) {
        let is_shared = self.is_shared(line);
        let flag = if is_shared { self.flag(line) } else { 0 };
        if flag == SHARED && self.keeps == Keeps::UntilBarrier && !self.has_fetched_many() {
            self.fetched.push(line);
        }
        let mut entry = line << FLAG_BITS | flag;
        if let Some(known) = self.second.as_mut().and_then(|level| level.find(line)) {
            self.recorder.near();
            entry |= *known & DIRTY;
        } else {
            match self.third.as_mut().and_then(|level| level.remove(line)) {
                Some(known) => {
                    self.recorder.last();
                    entry |= known & DIRTY;
                }
                None => self.fill(line, is_shared),
            }
            if let Some(old) = self.second.as_mut().and_then(|level| level.insert(entry)) {
                self.leave_second(old);
            }
        }
        if let Some(old) = self.first.insert(entry)
            && old & DIRTY != 0
        {
            self.leave_first(old);
        }
    }

    /// A line that was written leaves the first level.
    fn leave_first(&mut self, old: u64) {
        let line = old >> FLAG_BITS;
        let second = self.second.as_mut().and_then(|level| level.find(line));
        let known = match second {
            Some(known) => Some(known),
            None => self.third.as_mut().and_then(|level| level.peek(line)),
        };
        match known {
            Some(known) => *known |= DIRTY,
            None => self.drop_entry(old),
        }
    }

    /// A line leaves the second level, for the third if there is one.
    fn leave_second(&mut self, old: u64) {
        let dropped = match &mut self.third {
            Some(third) => third.insert(old),
            None => Some(old),
        };
        if let Some(dropped) = dropped {
            self.drop_entry(dropped);
        }
    }

    fn levels(&self) -> impl Iterator<Item = &Level> {
        std::iter::once(&self.first)
            .chain(&self.second)
            .chain(&self.third)
    }

    fn levels_mut(&mut self) -> impl Iterator<Item = &mut Level> {
        std::iter::once(&mut self.first)
            .chain(&mut self.second)
            .chain(&mut self.third)
    }

    /// Return whether a look at all entries is as cheap as one at the lines fetched.
    fn has_fetched_many(&self) -> bool {
        let entries: usize = self.levels().map(|level| level.entries.len()).sum();
        self.fetched.len() >= entries
    }

    fn fill(&mut self, line: u64, is_shared: bool) {
        if is_shared {
            self.recorder
                .access(line << self.line_bits, 1 << self.line_bits, false);
        } else {
            self.recorder.private();
        }
    }

    /// A line leaves the caches.
    fn drop_entry(&mut self, entry: u64) {
        let must_write = DIRTY | SHARED;
        if entry & must_write == must_write && self.keeps == Keeps::UntilBarrier {
            let address = entry >> FLAG_BITS << self.line_bits;
            self.recorder.access(address, 1 << self.line_bits, true);
        }
    }

    /// Write a line, the one that was used last.
    fn make_dirty(&mut self, line: u64) {
        let entry = &mut self.first.set(line)[0];
        if *entry & DIRTY != 0 {
            return;
        }
        *entry |= DIRTY;
        if *entry & SHARED != 0 && self.keeps == Keeps::Coherent {
            self.written.push(line);
            self.recorder
                .access(line << self.line_bits, 1 << self.line_bits, true);
        }
    }

    /// End a phase; return its words, and the lines whose copies elsewhere are now old.
    pub fn end_phase(&mut self) -> (Vec<u64>, Vec<u64>) {
        match self.keeps {
            Keeps::Nothing => {}
            Keeps::UntilBarrier => self.flush(),
            Keeps::Coherent => self.clean(),
        }
        let words = std::mem::take(&mut self.recorder).finish();
        (words, std::mem::take(&mut self.written))
    }

    /// Write shared lines back, and drop them.
    fn flush(&mut self) {
        if self.has_fetched_many() {
            let entries = self.levels().flat_map(|level| &level.entries);
            let shared = entries.filter(|entry| **entry != EMPTY && **entry & SHARED != 0);
            self.fetched = shared.map(|entry| entry >> FLAG_BITS).collect();
        }
        let mut dirty = Vec::new();
        for line in std::mem::take(&mut self.fetched) {
            for level in self.levels_mut() {
                let Some(entry) = level.peek(line) else {
                    continue;
                };
                if *entry & DIRTY != 0 {
                    dirty.push(line);
                }
                *entry = EMPTY;
            }
        }
        dirty.sort_unstable();
        dirty.dedup();
        for line in dirty {
            self.recorder
                .access(line << self.line_bits, 1 << self.line_bits, true);
        }
    }

    /// Forget which shared lines were written: others may have taken them since.
    fn clean(&mut self) {
        for line in std::mem::take(&mut self.written) {
            self.clean_line(line);
            self.written.push(line);
        }
    }

    /// Keep a line, but announce its next write.
    pub fn clean_line(&mut self, line: u64) {
        for level in self.levels_mut() {
            if let Some(entry) = level.peek(line) {
                *entry &= !DIRTY;
            }
        }
    }

    /// Drop a line that another processor writes; return whether it was there.
    pub fn drop_line(&mut self, line: u64) -> bool {
        let mut was_there = false;
        for level in self.levels_mut() {
            was_there |= level.remove(line).is_some();
        }
        was_there
    }

    /// Write shared lines back and drop them, where software does this when threads synchronise.
    pub fn synchronise(&mut self) {
        if self.keeps == Keeps::UntilBarrier {
            self.flush();
        }
    }

    /// Execute instructions that use no memory.
    #[inline]
    pub fn work(&mut self, instructions: u32) {
        self.recorder.compute(instructions.into());
    }

    /// Give a signal.
    pub fn post(&mut self, signal: u32) {
        self.recorder.post(signal);
    }

    /// Await a signal.
    pub fn wait(&mut self, signal: u32, posts: u32, sync: Sync) {
        self.recorder.wait(signal, posts, sync);
    }

    /// Return the words of this phase that are complete.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.recorder.words()
    }

    /// Return the words so far and go on: the phase has not ended.
    pub fn take_words(&mut self) -> Vec<u64> {
        self.written.clear();
        std::mem::take(&mut self.recorder).finish()
    }

    /// Drop lines that another processor has written.
    pub fn invalidate(&mut self, lines: &[u64]) {
        for &line in lines {
            self.drop_line(line);
        }
    }
}

impl Watch for Processor<'_> {
    #[inline]
    fn read(&mut self, address: u64, bytes: u32) {
        self.access(address, bytes, false);
    }
    #[inline]
    fn write(&mut self, address: u64, bytes: u32) {
        self.access(address, bytes, true);
    }
    #[inline]
    fn compute(&mut self, instructions: u32) {
        self.work(instructions);
    }
    fn lock(&mut self, lock: u32) {
        self.recorder.lock(lock.into());
    }
    fn unlock(&mut self, lock: u32) {
        self.recorder.unlock(lock.into());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::word::Action;
    use super::*;

    const LINE: u64 = 32;

    fn spec(keeps: Keeps) -> ProcessorSpec {
        ProcessorSpec {
            line_bytes: LINE,
            l1_bytes: 128,
            l1_ways: 2,
            l2_bytes: 512,
            l2_ways: 4,
            l3_bytes: 0,
            l3_ways: 1,
            keeps,
        }
    }

    fn lines(words: &[u64], of_writes: bool) -> BTreeSet<u64> {
        let accesses = words.iter().filter_map(|&word| match Action::of(word) {
            Action::Access {
                address, is_write, ..
            } => (is_write == of_writes).then_some(address / LINE),
            _ => None,
        });
        accesses.collect()
    }

    #[test]
    fn a_third_level_needs_a_second_one() {
        let with = |l2_bytes, l3_bytes| ProcessorSpec {
            l2_bytes,
            l3_bytes,
            ..spec(Keeps::Coherent)
        };
        assert_eq!(with(512, 1024).check(), Ok(()));
        assert_eq!(with(0, 0).check(), Ok(()));
        let error = with(0, 1024).check().expect_err("no level before");
        assert!(error.contains("l3_bytes = 0"), "{error}");
        let error = with(512, 96).check().expect_err("three sets");
        assert!(error.contains("a third level of 96 B"), "{error}");
    }

    proptest! {
        /// A phase of few lines ends by a look at these, one of many by a look at all entries.
        #[test]
        fn a_barrier_writes_back_what_was_written_and_drops_all_shared_lines(
            phases in prop::collection::vec(
                prop::collection::vec((0_u64..4 * 4096 / 8, any::<bool>()), 0..150),
                1..4,
            ),
            pages in 1_u64..4,
            l3_bytes in prop::sample::select(vec![0_u64, 256, 1024]),
        ) {
            let placement = Placement::new(2, [Some(0), Some(1), None, Some(1)]);
            let spec = ProcessorSpec { l3_bytes, l3_ways: 2, ..spec(Keeps::UntilBarrier) };
            let mut processor = Processor::new(&spec, &placement, 0, true);
            for accesses in phases {
                let (mut used, mut written) = (BTreeSet::new(), BTreeSet::new());
                for (word, is_write) in accesses {
                    let address = word * 8 % (pages * 4096);
                    processor.access(address, 8, is_write);
                    if !placement.is_private(address) {
                        used.insert(address / LINE);
                        if is_write {
                            written.insert(address / LINE);
                        }
                    }
                }
                let (words, _) = processor.end_phase();
                prop_assert_eq!(lines(&words, false), used);
                prop_assert_eq!(lines(&words, true), written);
                for level in processor.levels() {
                    let mut entries = level.entries.iter();
                    prop_assert!(entries.all(|entry| *entry == EMPTY || entry & SHARED == 0));
                }
            }
        }

        /// Levels of one set each, the first of one line: a level answers the accesses whose number
        /// of other lines since the last one is below its lines and those of the levels before.
        /// (Reads: what is written back counts as used.)
        #[test]
        fn a_third_level_adds_its_lines_to_those_of_the_second(
            lines in prop::collection::vec(0_u64..24, 1..400),
            second in 1_u32..8,
            third in prop::sample::select(vec![0_u32, 1, 2, 5, 8]),
        ) {
            let placement = Placement::new(1, [None]);
            let spec = ProcessorSpec {
                l1_bytes: LINE,
                l1_ways: 1,
                l2_bytes: u64::from(second) * LINE,
                l2_ways: second,
                l3_bytes: u64::from(third) * LINE,
                l3_ways: third,
                ..spec(Keeps::Coherent)
            };
            let mut processor = Processor::new(&spec, &placement, 0, false);
            let (mut stack, mut expected) = (Vec::new(), [0_u64; 3]);
            for &line in &lines {
                processor.access(line * LINE, 8, false);
                let distance = stack.iter().position(|one| *one == line);
                match distance {
                    Some(0) => {}
                    Some(other) if other < second as usize => expected[0] += 1,
                    Some(other) if other < (second + third) as usize => expected[1] += 1,
                    _ => expected[2] += 1,
                }
                stack.retain(|one| *one != line);
                stack.insert(0, line);
            }
            let mut found = [0_u64; 3];
            for word in processor.end_phase().0 {
                match Action::of(word) {
                    Action::Near(count) => found[0] += count,
                    Action::Last(count) => found[1] += count,
                    Action::Private(count) => found[2] += count,
                    _ => {}
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
