//! One set-associative cache: which lines it holds, and whom a new line displaces.
//!
//! A TLB is the same thing with pages for lines.
//!
//! Invariant: a line is in at most one way of its own set.

use serde::Deserialize;

use super::recency::Recency;

/// A way without a line.
pub(super) const EMPTY: u64 = u64::MAX;
const DIRTY: u64 = 1;
const PREFETCHED: u64 = 2;
pub(super) const FLAG_BITS: u32 = 2;
/// Ways from which on one set is a list with an index, see [`Recency`].
const MANY_WAYS: u32 = 24;
/// Lines of a cache, at most: 1 GiB of entries; of 64 B each they hold 8 GiB.
const MOST_LINES: u64 = 1 << 27;

/// Who is displaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The line that was not used for longest.
    #[default]
    Lru,
    /// The line that came first.
    Fifo,
    /// The line that a tree of one bit for each pair points to, as most processors do; the number
    /// of ways is a power of two, at most 64.
    TreePlru,
    /// Any line, with equal chances.
    Random,
}

/// A line that had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Number of the line: address / bytes of a line.
    pub line: u64,
    /// Whether it was written.
    pub is_dirty: bool,
    /// Whether it was prefetched, and never used.
    pub is_useless: bool,
}

/// Result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The line is here.
    Hit,
    /// The line is here by a prefetch, and is used for the first time.
    Prefetched,
    /// The line is not here.
    Miss,
}

/// A set-associative cache, ways of a set side by side.
#[derive(Clone, Debug)]
pub struct Cache {
    ways: usize,
    set_count: u64,
    /// `set_count - 1` if that is a mask.
    mask: Option<u64>,
    replacement: Replacement,
    /// Line and flags of each way, set by set; for LRU and FIFO the youngest first.
    entries: Vec<u64>,
    /// The ways instead, if they are one set of many, for LRU.
    recency: Option<Recency>,
    /// Bits of the trees, set by set.
    trees: Vec<u64>,
    random: u64,
}

impl Cache {
    /// Return an empty cache.
    ///
    /// # Errors
    ///
    /// Why there is no such cache.
    pub fn new(set_count: u64, ways: u32, replacement: Replacement) -> Result<Self, String> {
        if set_count == 0 || ways == 0 {
            return Err(format!("{set_count} sets of {ways} ways hold nothing"));
        }
        let is_tree = replacement == Replacement::TreePlru;
        if is_tree && !(ways.is_power_of_two() && ways <= 64) {
            return Err(format!(
                "tree_plru needs a power of two of ways, at most 64, not {ways}"
            ));
        }
        let is_list = replacement == Replacement::Lru && set_count == 1 && ways >= MANY_WAYS;
        let entry_count = set_count
            .checked_mul(u64::from(ways))
            .filter(|count| *count <= MOST_LINES)
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| {
                format!("{set_count} sets of {ways} ways are more than {MOST_LINES} lines, the most simulated")
            })?;
        Ok(Self {
            ways: ways as usize,
            set_count,
            mask: set_count.is_power_of_two().then(|| set_count - 1),
            replacement,
            entries: vec![EMPTY; if is_list { 0 } else { entry_count }],
            recency: is_list.then(|| Recency::new(ways)),
            trees: if is_tree {
                vec![0; entry_count / ways as usize]
            } else {
                Vec::new()
            },
            random: 0x9E37_79B9_7F4A_7C15,
        })
    }

    /// Return the number of lines that fit.
    pub fn line_count(&self) -> u64 {
        self.set_count * self.ways as u64
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a set is below the number of entries"
    )]
    fn set_of(&self, line: u64) -> usize {
        match self.mask {
            Some(mask) => (line & mask) as usize,
            None => (line % self.set_count) as usize,
        }
    }

    /// Use `line`; with `is_write` it becomes dirty.
    #[inline]
    pub fn look_up(&mut self, line: u64, is_write: bool) -> Found {
        if let Some(recency) = &mut self.recency {
            return match recency.look_up(line) {
                Some(entry) => found(std::mem::replace(entry, used(*entry, is_write))),
                None => Found::Miss,
            };
        }
        let set = self.set_of(line);
        let first = set * self.ways;
        let ways = &mut self.entries[first..first + self.ways];
        let Some(way) = ways.iter().position(|entry| entry >> FLAG_BITS == line) else {
            return Found::Miss;
        };
        let before = ways[way];
        let entry = used(before, is_write);
        match self.replacement {
            Replacement::Lru => push(&mut ways[..=way], entry),
            Replacement::TreePlru => {
                ways[way] = entry;
                point_away(&mut self.trees[set], self.ways, way);
            }
            Replacement::Fifo | Replacement::Random => ways[way] = entry,
        }
        found(before)
    }

    /// Return whether `line` is here, without using it.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        if let Some(recency) = &self.recency {
            return recency.holds(line);
        }
        let first = self.set_of(line) * self.ways;
        let ways = &self.entries[first..first + self.ways];
        ways.iter().any(|entry| entry >> FLAG_BITS == line)
    }

    /// Bring `line` in, which is not here; return the line that goes.
    #[inline]
    pub fn insert(&mut self, line: u64, is_dirty: bool, is_prefetch: bool) -> Option<Evicted> {
        debug_assert!(!self.holds(line), "line {line} is here already");
        let flags = u64::from(is_dirty) * DIRTY + u64::from(is_prefetch) * PREFETCHED;
        let entry = line << FLAG_BITS | flags;
        if let Some(recency) = &mut self.recency {
            return evicted(recency.insert(entry));
        }
        let set = self.set_of(line);
        let first = set * self.ways;
        let way = match self.replacement {
            Replacement::Lru | Replacement::Fifo => {
                let ways = &mut self.entries[first..first + self.ways];
                let last = ways[self.ways - 1];
                push(ways, entry);
                return evicted(last);
            }
            Replacement::TreePlru => self.empty_way(first).unwrap_or_else(|| self.pointed(set)),
            Replacement::Random => self.empty_way(first).unwrap_or_else(|| self.any_way()),
        };
        if self.replacement == Replacement::TreePlru {
            point_away(&mut self.trees[set], self.ways, way);
        }
        evicted(std::mem::replace(&mut self.entries[first + way], entry))
    }

    /// Take `line` out; return it if it was here.
    pub fn remove(&mut self, line: u64) -> Option<Evicted> {
        if let Some(recency) = &mut self.recency {
            return evicted(recency.remove(line)?);
        }
        let first = self.set_of(line) * self.ways;
        let ways = &mut self.entries[first..first + self.ways];
        let way = ways.iter().position(|entry| entry >> FLAG_BITS == line)?;
        let gone = ways[way];
        if matches!(self.replacement, Replacement::Lru | Replacement::Fifo) {
            ways.copy_within(way + 1.., way);
            ways[self.ways - 1] = EMPTY;
        } else {
            ways[way] = EMPTY;
        }
        evicted(gone)
    }

    fn empty_way(&self, first: usize) -> Option<usize> {
        let ways = &self.entries[first..first + self.ways];
        ways.iter().position(|&entry| entry == EMPTY)
    }

    /// Return the way that the tree of `set` points to.
    fn pointed(&self, set: usize) -> usize {
        let tree = self.trees[set];
        let mut node = 1;
        while node < self.ways {
            node = 2 * node + usize::from(tree >> node & 1 == 1);
        }
        node - self.ways
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "the remainder is below the number of ways"
    )]
    fn any_way(&mut self) -> usize {
        // Xorshift (Marsaglia 2003): seeded, so that a simulation is a function of its input.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 11) % self.ways as u64) as usize
    }
}

/// Put an entry before the others, of which the last one goes.
#[inline]
fn push(ways: &mut [u64], entry: u64) {
    // Sets are short: a call that moves memory would cost more than this.
    let mut moved = entry;
    for way in ways {
        std::mem::swap(way, &mut moved);
    }
}

/// Return an entry after a use.
const fn used(entry: u64, is_write: bool) -> u64 {
    (entry & !PREFETCHED) | is_write as u64
}

/// Return what a use found, from the entry before it.
const fn found(entry: u64) -> Found {
    if entry & PREFETCHED == 0 {
        Found::Hit
    } else {
        Found::Prefetched
    }
}

fn evicted(entry: u64) -> Option<Evicted> {
    (entry != EMPTY).then_some(Evicted {
        line: entry >> FLAG_BITS,
        is_dirty: entry & DIRTY != 0,
        is_useless: entry & PREFETCHED != 0,
    })
}

/// Let every node above `way` point to its other half.
fn point_away(tree: &mut u64, ways: usize, way: usize) {
    let mut node = ways + way;
    while node > 1 {
        let is_right = node & 1 == 1;
        node /= 2;
        *tree = *tree & !(1 << node) | u64::from(!is_right) << node;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn misses(cache: &mut Cache, lines: &[u64]) -> usize {
        let mut count = 0;
        for &line in lines {
            if cache.look_up(line, false) == Found::Miss {
                cache.insert(line, false, false);
                count += 1;
            }
        }
        count
    }

    /// Belady, Nelson, Shedler 1969: with FIFO more room may bring more misses; never with LRU.
    #[test]
    fn beladys_anomaly() {
        let lines = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
        let count = |ways, replacement| {
            misses(
                &mut Cache::new(1, ways, replacement).expect("sound"),
                &lines,
            )
        };
        assert_eq!(count(3, Replacement::Fifo), 9);
        assert_eq!(count(4, Replacement::Fifo), 10);
        assert_eq!(count(3, Replacement::Lru), 10);
        assert_eq!(count(4, Replacement::Lru), 8);
    }

    /// The textbook of Patterson and Hennessy, section 5.4: blocks 0, 8, 0, 6, 8 in four blocks.
    #[test]
    fn the_example_of_patterson_and_hennessy() {
        for (sets, ways, expected) in [(4, 1, 5), (2, 2, 4), (1, 4, 3)] {
            let mut cache = Cache::new(sets, ways, Replacement::Lru).expect("sound");
            assert_eq!(misses(&mut cache, &[0, 8, 0, 6, 8]), expected);
        }
    }

    #[test]
    fn more_lines_than_memory_has_room_for_are_refused() {
        for (sets, ways) in [(1 << 34, 1), (u64::MAX, 8), (MOST_LINES / 2 + 1, 2)] {
            let error = Cache::new(sets, ways, Replacement::Lru)
                .err()
                .unwrap_or_default();
            assert!(
                error.contains("the most simulated"),
                "{sets} {ways}: {error}"
            );
        }
    }

    #[test]
    fn the_tree_keeps_what_was_used_last() {
        let mut cache = Cache::new(1, 4, Replacement::TreePlru).expect("sound");
        assert_eq!(misses(&mut cache, &[0, 1, 2, 3]), 4);
        // 0 and 2 were used last in both halves: 1 goes, as the half of 2 was used last.
        assert_eq!(misses(&mut cache, &[0, 2]), 0);
        assert_eq!(cache.insert(4, false, false).map(|gone| gone.line), Some(1));
    }

    #[test]
    fn random_replacement_finds_every_way() {
        let mut cache = Cache::new(1, 8, Replacement::Random).expect("sound");
        let gone: Vec<_> = (0..1000)
            .filter_map(|line| cache.insert(line, false, false))
            .collect();
        assert_eq!(gone.len(), 992);
        let ages: Vec<u64> = gone
            .iter()
            .zip(8..)
            .map(|(one, now)| now - one.line)
            .collect();
        // The age of a displaced line is geometric with the mean 8.
        let mean = ages.iter().sum::<u64>() as f64 / ages.len() as f64;
        assert!((7.0..9.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_removed_line_leaves_room() {
        for replacement in [Replacement::Lru, Replacement::Fifo, Replacement::TreePlru] {
            let mut cache = Cache::new(2, 2, replacement).expect("sound");
            assert_eq!(misses(&mut cache, &[0, 2, 1]), 3);
            assert!(cache.look_up(0, true) == Found::Hit);
            let gone = cache.remove(0).expect("it is here");
            assert!(gone.is_dirty && !cache.holds(0) && cache.holds(2) && cache.holds(1));
            assert_eq!(cache.remove(0), None);
            assert_eq!(cache.insert(4, false, false), None);
        }
    }

    proptest! {
        /// The definition, against a list of the same ways.
        #[test]
        fn a_set_of_many_ways_does_what_a_list_does(
            ways in prop::sample::select(vec![MANY_WAYS, 48]),
            deeds in prop::collection::vec((0_u64..60, 0_u32..8), 0..2000),
        ) {
            let mut many = Cache::new(1, ways, Replacement::Lru).expect("sound");
            prop_assert!(many.recency.is_some());
            let mut plain = Cache {
                entries: vec![EMPTY; ways as usize],
                recency: None,
                ..many.clone()
            };
            for (line, deed) in deeds {
                if deed == 0 {
                    prop_assert_eq!(many.remove(line), plain.remove(line));
                    continue;
                }
                let is_write = deed == 1;
                let result = many.look_up(line, is_write);
                prop_assert_eq!(result, plain.look_up(line, is_write));
                if result == Found::Miss {
                    let gone = many.insert(line, is_write, deed == 2);
                    prop_assert_eq!(gone, plain.insert(line, is_write, deed == 2));
                }
                prop_assert!(many.holds(line) && plain.holds(line));
            }
        }
    }

    #[test]
    fn impossible_caches_are_refused() {
        assert!(Cache::new(0, 4, Replacement::Lru).is_err());
        assert!(Cache::new(4, 0, Replacement::Lru).is_err());
        assert!(Cache::new(4, 12, Replacement::TreePlru).is_err());
        assert!(Cache::new(3, 12, Replacement::Lru).is_ok());
    }
}
