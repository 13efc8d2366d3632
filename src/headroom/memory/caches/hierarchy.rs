//! Levels of cache between a processor and memory.
//!
//! An access that straddles lines is one access: a level misses if any of its lines is missing, and
//! the next level then gets the whole access (the rule of cachegrind).
//!
//! Invariants: an inclusive level holds every line that a level above it holds; an exclusive level
//! holds none of the level above it; a dirty line that is displaced is written to the next level
//! or to memory, exactly once.

use serde::Deserialize;

use super::cache::{Cache, Evicted, Found, Replacement};
use super::counts::Counts;
use super::prefetch::{self, Prefetcher};

/// Treatment of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writes {
    /// A written line is brought in, becomes dirty, and goes to the next level when displaced.
    #[default]
    Back,
    /// Each write goes to the next level too; a missing line is not brought in.
    Through,
    /// A written line is brought in; what happens to it afterwards is not counted (cachegrind).
    Uncounted,
}

/// Lines of the level above that a level holds too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Whatever was brought in and not displaced.
    #[default]
    Any,
    /// Everything.
    Inclusive,
    /// Nothing: it holds what the level above displaces.
    Exclusive,
}

/// A level of cache as the study describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelSpec {
    /// Name.
    pub name: String,
    /// Size (B): a multiple of ways x line.
    pub bytes: u64,
    /// Ways; 0 is fully associative.
    pub ways: u32,
    /// Bytes (B) of a line: a power of two, not smaller than that of the level above.
    pub line_bytes: u64,
    /// Who is displaced.
    #[serde(default)]
    pub replacement: Replacement,
    /// Treatment of writes.
    #[serde(default)]
    pub writes: Writes,
    /// Lines of the level above that it holds too.
    #[serde(default)]
    pub holds: Holds,
    /// Its prefetcher.
    #[serde(default)]
    pub prefetch: prefetch::Kind,
}

/// A level of cache.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its description.
    pub spec: LevelSpec,
    /// Its counts.
    pub counts: Counts,
    cache: Cache,
    line_bits: u32,
    prefetcher: Prefetcher,
}

impl Level {
    fn new(spec: LevelSpec) -> Result<Self, String> {
        let name = &spec.name;
        if !spec.line_bytes.is_power_of_two() {
            return Err(format!(
                "{name}: a line of {} B is no power of two",
                spec.line_bytes
            ));
        }
        let lines = spec.bytes / spec.line_bytes;
        let ways = if spec.ways == 0 {
            u32::try_from(lines).unwrap_or(u32::MAX)
        } else {
            spec.ways
        };
        if lines == 0
            || lines * spec.line_bytes != spec.bytes
            || !lines.is_multiple_of(u64::from(ways))
        {
            return Err(format!(
                "{name}: {} B are not whole sets of {ways} ways with lines of {} B",
                spec.bytes, spec.line_bytes
            ));
        }
        let cache = Cache::new(lines / u64::from(ways), ways, spec.replacement)
            .map_err(|why| format!("{name}: {why}"))?;
        Ok(Self {
            cache,
            line_bits: spec.line_bytes.trailing_zeros(),
            prefetcher: Prefetcher::new(spec.prefetch, spec.line_bytes),
            counts: Counts::default(),
            spec,
        })
    }

    /// Return the number of lines that fit.
    pub fn line_count(&self) -> u64 {
        self.cache.line_count()
    }
}

/// Caches from the processor to memory, and what memory itself gets.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The levels, the nearest first.
    pub levels: Vec<Level>,
    /// Lines read from memory.
    pub memory_reads: u64,
    /// Lines and single writes that went to memory.
    pub memory_writes: u64,
    /// Lines that the present access brings in: level, line, whether dirty.
    missing: Vec<(usize, u64, bool)>,
}

impl Hierarchy {
    /// Return empty caches.
    ///
    /// # Errors
    ///
    /// Which level is impossible, and why.
    pub fn new(specs: Vec<LevelSpec>) -> Result<Self, String> {
        for pair in specs.windows(2) {
            if pair[1].line_bytes < pair[0].line_bytes {
                return Err(format!(
                    "{}: its lines are shorter than those above",
                    pair[1].name
                ));
            }
            if pair[1].holds == Holds::Exclusive && pair[1].line_bytes != pair[0].line_bytes {
                return Err(format!(
                    "{}: exclusive levels share the bytes of a line",
                    pair[1].name
                ));
            }
        }
        if specs.first().is_some_and(|first| first.holds != Holds::Any) {
            return Err("the nearest level has none above it to hold".to_owned());
        }
        let levels = specs
            .into_iter()
            .map(Level::new)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            levels,
            memory_reads: 0,
            memory_writes: 0,
            missing: Vec::new(),
        })
    }

    /// Begin to count again, with what the levels hold.
    pub fn restart(&mut self) {
        for level in &mut self.levels {
            level.counts = Counts::default();
        }
        (self.memory_reads, self.memory_writes) = (0, 0);
    }

    /// Carry out an access of `bytes` >= 1 at `address`, from level `first` on; return the level
    /// that served it, the number of levels for memory. `dirties` tells writes and modifications
    /// from reads, `is_write` what they count as.
    #[inline]
    pub fn access(
        &mut self,
        first: usize,
        address: u64,
        bytes: u64,
        is_write: bool,
        dirties: bool,
    ) -> usize {
        let pending = self.missing.len();
        let server = self.ask(first, address, bytes, is_write, dirties);
        // From memory up: a line leaves an exclusive level before the level above displaces one.
        while self.missing.len() > pending {
            if let Some((index, line, is_dirty)) = self.missing.pop()
                && !self.levels[index].cache.holds(line)
            {
                self.fill(index, line, is_dirty, false);
            }
        }
        server
    }

    /// Ask one level after the other; return the one that has the access.
    #[inline]
    fn ask(
        &mut self,
        first: usize,
        address: u64,
        bytes: u64,
        is_write: bool,
        mut dirties: bool,
    ) -> usize {
        for index in first..self.levels.len() {
            let level = &mut self.levels[index];
            let bits = level.line_bits;
            let (start, end) = (address >> bits, (address + bytes - 1) >> bits);
            let makes_dirty = dirties && level.spec.writes == Writes::Back;
            let is_through = dirties && level.spec.writes == Writes::Through;
            let mut is_miss = false;
            for line in start..=end {
                is_miss |= self.touch(index, line, makes_dirty, is_through);
            }
            let counts = &mut self.levels[index].counts;
            if is_write {
                counts.writes += 1;
                counts.write_misses += u64::from(is_miss);
            } else {
                counts.reads += 1;
                counts.read_misses += u64::from(is_miss);
            }
            if is_through {
                self.write_on(index + 1, address);
            }
            if !is_miss || is_through {
                return index;
            }
            // Only one level holds the new content.
            dirties &= !makes_dirty;
        }
        self.memory_reads += 1;
        self.levels.len()
    }

    /// Use a line of a level, or note that it is to be brought in; return whether it was missing.
    #[inline]
    fn touch(&mut self, index: usize, line: u64, makes_dirty: bool, is_through: bool) -> bool {
        let level = &mut self.levels[index];
        let found = level.cache.look_up(line, makes_dirty);
        level.counts.useful_prefetches += u64::from(found == Found::Prefetched);
        let is_miss = found == Found::Miss;
        let is_exclusive = level.spec.holds == Holds::Exclusive;
        if is_exclusive && !is_miss {
            // It moves up; a dirty one is written back from there.
            if level.cache.remove(line).is_some_and(|one| one.is_dirty) {
                self.mark_above(index, line);
            }
        } else if is_miss && !is_through && !is_exclusive {
            self.missing.push((index, line, makes_dirty));
        }
        if let Some(next) = self.levels[index].prefetcher.after(line, is_miss)
            && !self.levels[index].cache.holds(next)
        {
            self.levels[index].counts.prefetches += 1;
            let bits = self.levels[index].line_bits;
            self.fetch_from(index + 1, next << bits, 1 << bits);
            self.fill(index, next, false, true);
        }
        is_miss
    }

    /// Read a line for a prefetch of the level above `index`, uncounted where it is present.
    fn fetch_from(&mut self, index: usize, address: u64, bytes: u64) {
        if index < self.levels.len() {
            self.access(index, address, bytes, false, false);
        } else {
            self.memory_reads += 1;
        }
    }

    fn mark_above(&mut self, index: usize, line: u64) {
        for (above, one, is_dirty) in &mut self.missing {
            *is_dirty |= *above + 1 == index && *one == line;
        }
    }

    /// Bring a line into a level; whom it displaces goes where the levels say.
    fn fill(&mut self, index: usize, line: u64, is_dirty: bool, is_prefetch: bool) {
        let Some(gone) = self.levels[index].cache.insert(line, is_dirty, is_prefetch) else {
            return;
        };
        self.levels[index].counts.evictions += 1;
        let mut gone = gone;
        if self.levels[index].spec.holds == Holds::Inclusive {
            gone.is_dirty |= self.invalidate_above(index, gone.line);
        }
        self.displace(index, gone);
    }

    /// Remove the part of a displaced line of `index` from the levels above; return whether any of
    /// it was dirty.
    fn invalidate_above(&mut self, index: usize, line: u64) -> bool {
        let bits = self.levels[index].line_bits;
        let mut is_dirty = false;
        for level in &mut self.levels[..index] {
            let narrower = bits - level.line_bits;
            for one in line << narrower..(line + 1) << narrower {
                if let Some(gone) = level.cache.remove(one) {
                    level.counts.invalidations += 1;
                    is_dirty |= gone.is_dirty;
                }
            }
        }
        is_dirty
    }

    fn displace(&mut self, index: usize, gone: Evicted) {
        let is_dirty = gone.is_dirty && self.levels[index].spec.writes == Writes::Back;
        self.levels[index].counts.write_backs += u64::from(is_dirty);
        let bits = self.levels[index].line_bits;
        let address = gone.line << bits;
        let below = index + 1;
        let takes_all = self
            .levels
            .get(below)
            .is_some_and(|next| next.spec.holds == Holds::Exclusive);
        if takes_all {
            if !self.levels[below]
                .cache
                .look_up(gone.line, is_dirty)
                .eq(&Found::Miss)
            {
                return;
            }
            self.fill(below, gone.line, is_dirty, false);
        } else if is_dirty {
            self.write_on(below, address);
        }
    }

    /// Write to level `index`, or to memory: no processor waits for it.
    fn write_on(&mut self, index: usize, address: u64) {
        let Some(level) = self.levels.get_mut(index) else {
            self.memory_writes += 1;
            return;
        };
        let line = address >> level.line_bits;
        match level.spec.writes {
            Writes::Through => {
                level.cache.look_up(line, false);
                self.write_on(index + 1, address);
            }
            Writes::Back | Writes::Uncounted => {
                if level.cache.look_up(line, true) == Found::Miss {
                    self.fill(index, line, true, false);
                }
            }
        }
    }
}
