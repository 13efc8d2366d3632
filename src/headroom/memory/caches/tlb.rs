//! TLBs, and the walk through the tables of pages that a miss costs.
//!
//! The tables are those of x86-64 and `AArch64` with pages of 4 KiB: entries of 8 bytes, 512 in a
//! table. Where they lie is not known, so each level is one array in a region of its own.

use serde::Deserialize;

use super::cache::{Cache, Found, Replacement};
use super::counts::Counts;
use super::hierarchy::Hierarchy;

const ENTRY_BYTES: u64 = 8;
/// Bits of an address that a table resolves.
const TABLE_BITS: u32 = 9;
/// Where the tables begin: above all addresses of programs.
const TABLES: u64 = 1 << 56;
/// Distance of the tables of two levels.
const TABLE_DISTANCE: u64 = 1 << 52;

/// A TLB as the study describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbSpec {
    /// Name.
    pub name: String,
    /// Translations that it holds.
    pub entries: u64,
    /// Ways; 0 is fully associative.
    pub ways: u32,
    /// Who is displaced.
    #[serde(default)]
    pub replacement: Replacement,
}

/// Translation as the study describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagingSpec {
    /// Bytes (B) of a page: a power of two.
    pub page_bytes: u64,
    /// TLBs, the nearest first.
    pub tlbs: Vec<TlbSpec>,
    /// Tables that a walk reads: 4 for pages of 4 KiB on x86-64, 3 for those of 2 MiB.
    #[serde(default = "four")]
    pub walk_levels: u32,
    /// Upper entries that a walk cache holds, fully associative; 0: there is none.
    #[serde(default)]
    pub walk_cache_entries: u32,
}

const fn four() -> u32 {
    4
}

/// TLBs with their counts.
#[derive(Clone, Debug)]
pub struct Paging {
    /// Its description.
    pub spec: PagingSpec,
    /// Counts of each TLB: a miss of the last one is a walk.
    pub counts: Vec<Counts>,
    /// Walks.
    pub walks: u64,
    /// Entries that walks read, by the level of cache that served them, memory last.
    pub walk_reads: Vec<u64>,
    tlbs: Vec<Cache>,
    walk_cache: Option<Cache>,
    page_bits: u32,
}

impl Paging {
    /// Return empty TLBs above `level_count` levels of cache.
    ///
    /// # Errors
    ///
    /// Which TLB is impossible, and why.
    pub fn new(spec: PagingSpec, level_count: usize) -> Result<Self, String> {
        if !spec.page_bytes.is_power_of_two() || spec.tlbs.is_empty() {
            return Err("pages need a power of two of bytes, and a TLB".to_owned());
        }
        if !(1..=5).contains(&spec.walk_levels) {
            return Err(format!(
                "a walk reads 1 to 5 tables, not {}",
                spec.walk_levels
            ));
        }
        let tlbs = spec.tlbs.iter().map(tlb).collect::<Result<Vec<_>, _>>()?;
        let walk_cache = match spec.walk_cache_entries {
            0 => None,
            entries => Some(Cache::new(1, entries, Replacement::Lru)?),
        };
        Ok(Self {
            counts: vec![Counts::default(); tlbs.len()],
            walks: 0,
            walk_reads: vec![0; level_count + 1],
            tlbs,
            walk_cache,
            page_bits: spec.page_bytes.trailing_zeros(),
            spec,
        })
    }

    /// Begin to count again, with what the TLBs hold.
    pub fn restart(&mut self) {
        self.counts.fill(Counts::default());
        self.walks = 0;
        self.walk_reads.fill(0);
    }

    /// Translate all pages of an access; walks read their entries through `caches`.
    #[inline]
    pub fn translate(&mut self, address: u64, bytes: u64, is_write: bool, caches: &mut Hierarchy) {
        let last = (address + bytes - 1) >> self.page_bits;
        for page in address >> self.page_bits..=last {
            if !self.find(page, is_write) {
                self.walk(page, caches);
            }
        }
    }

    fn find(&mut self, page: u64, is_write: bool) -> bool {
        for (tlb, counts) in self.tlbs.iter_mut().zip(&mut self.counts) {
            let is_miss = tlb.look_up(page, false) == Found::Miss;
            if is_write {
                counts.writes += 1;
                counts.write_misses += u64::from(is_miss);
            } else {
                counts.reads += 1;
                counts.read_misses += u64::from(is_miss);
            }
            if !is_miss {
                return true;
            }
            counts.evictions += u64::from(tlb.insert(page, false, false).is_some());
        }
        false
    }

    /// Read the entries of `page` from the top table down, or from where the walk cache knows.
    fn walk(&mut self, page: u64, caches: &mut Hierarchy) {
        self.walks += 1;
        let depth = self.spec.walk_levels;
        let known = self.known_depth(page);
        for level in known..depth {
            let index = page >> (TABLE_BITS * (depth - 1 - level));
            let address = TABLES + TABLE_DISTANCE * u64::from(level) + ENTRY_BYTES * index;
            let server = caches.access(0, address, ENTRY_BYTES, false, false);
            self.walk_reads[server] += 1;
            if let Some(cache) = &mut self.walk_cache
                && level + 1 < depth
                && cache.look_up(upper(level, index), false) == Found::Miss
            {
                cache.insert(upper(level, index), false, false);
            }
        }
    }

    /// Return the level of the first table that a walk must read.
    fn known_depth(&mut self, page: u64) -> u32 {
        let depth = self.spec.walk_levels;
        let Some(cache) = &mut self.walk_cache else {
            return 0;
        };
        for level in (0..depth - 1).rev() {
            let index = page >> (TABLE_BITS * (depth - 1 - level));
            if cache.look_up(upper(level, index), false) != Found::Miss {
                return level + 1;
            }
        }
        0
    }
}

/// Return the number of an upper entry: no two levels share one.
const fn upper(level: u32, index: u64) -> u64 {
    index * 8 + level as u64
}

fn tlb(spec: &TlbSpec) -> Result<Cache, String> {
    let ways = if spec.ways == 0 {
        spec.entries
    } else {
        u64::from(spec.ways)
    };
    if ways == 0 || !spec.entries.is_multiple_of(ways) {
        return Err(format!(
            "{}: {} entries are not whole sets of {ways} ways",
            spec.name, spec.entries
        ));
    }
    let ways = u32::try_from(ways).map_err(|_| format!("{}: too many ways", spec.name))?;
    Cache::new(spec.entries / u64::from(ways), ways, spec.replacement)
        .map_err(|why| format!("{}: {why}", spec.name))
}
