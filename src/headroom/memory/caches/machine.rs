//! A machine of caches and TLBs that carries out a stream of accesses.

use serde::Deserialize;

use super::hierarchy::{Hierarchy, LevelSpec};
use super::tlb::{Paging, PagingSpec};
use crate::memory::stack_distance::StackDistances;
use crate::memory::streams::{Access, Kind};

/// A machine as the study describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// Caches of data, or of both, the nearest first.
    pub levels: Vec<LevelSpec>,
    /// A nearest cache for instructions; its misses go to the second of `levels`. Without it,
    /// fetches are counted and nothing else.
    #[serde(default)]
    pub instructions: Option<LevelSpec>,
    /// Translation of addresses.
    #[serde(default)]
    pub paging: Option<PagingSpec>,
    /// Tell compulsory, capacity and conflict misses of the nearest level apart.
    #[serde(default)]
    pub classify: bool,
}

/// Caches and TLBs with what they counted.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Caches of data.
    pub data: Hierarchy,
    /// The nearest cache of instructions.
    pub instructions: Option<Hierarchy>,
    /// Counts of instructions at the levels behind it, as reads and misses.
    pub instruction_counts: Vec<(u64, u64)>,
    /// Translation.
    pub paging: Option<Paging>,
    /// Accesses of data by the level that served them, memory last.
    pub served: Vec<u64>,
    /// Instructions that were fetched.
    pub fetches: u64,
    distances: Option<StackDistances>,
}

impl Machine {
    /// Return a machine with empty caches.
    ///
    /// # Errors
    ///
    /// Why there is no such machine.
    pub fn new(spec: MachineSpec) -> Result<Self, String> {
        if spec.levels.is_empty() {
            return Err("a machine needs a cache".to_owned());
        }
        let distances = spec
            .classify
            .then(|| StackDistances::new(spec.levels[0].line_bytes));
        let count = spec.levels.len();
        let data = Hierarchy::new(spec.levels)?;
        let instructions = spec
            .instructions
            .map(|one| Hierarchy::new(vec![one]))
            .transpose()?;
        let paging = spec
            .paging
            .map(|paging| Paging::new(paging, count))
            .transpose()?;
        Ok(Self {
            data,
            instructions,
            instruction_counts: vec![(0, 0); count],
            paging,
            served: vec![0; count + 1],
            fetches: 0,
            distances,
        })
    }

    /// Carry out one access; return the level that served it, the number of levels for memory, and
    /// 0 for instructions.
    #[inline]
    pub fn carry_out(&mut self, access: Access) -> usize {
        let Access {
            kind,
            address,
            bytes,
        } = access;
        let bytes = u64::from(bytes);
        if kind == Kind::Fetch {
            self.fetch(address, bytes);
            return 0;
        }
        let is_write = kind == Kind::Write;
        if let Some(paging) = &mut self.paging {
            paging.translate(address, bytes, is_write, &mut self.data);
        }
        let level = self
            .data
            .access(0, address, bytes, is_write, kind != Kind::Read);
        self.served[level] += 1;
        if let Some(distances) = &mut self.distances {
            let near = &mut self.data.levels[0];
            let (is_new, distance) = distances.access_all(address, bytes);
            if level > 0 && is_new {
                near.counts.compulsory_misses += 1;
            } else if level > 0 && distance >= near.line_count() {
                near.counts.capacity_misses += 1;
            }
        }
        level
    }

    /// Begin to count again, with what the caches and TLBs hold.
    pub fn restart(&mut self) {
        self.data.restart();
        if let Some(own) = &mut self.instructions {
            own.restart();
        }
        if let Some(paging) = &mut self.paging {
            paging.restart();
        }
        self.instruction_counts.fill((0, 0));
        self.served.fill(0);
        self.fetches = 0;
    }

    fn fetch(&mut self, address: u64, bytes: u64) {
        self.fetches += 1;
        let Some(own) = &mut self.instructions else {
            return;
        };
        if own.access(0, address, bytes, false, false) == 0 {
            return;
        }
        // The levels behind are shared; what instructions do there is counted apart.
        let before: Vec<(u64, u64)> = self.reads();
        self.data.access(1, address, bytes, false, false);
        let after = self.reads();
        let levels = self
            .data
            .levels
            .iter_mut()
            .zip(&mut self.instruction_counts);
        for ((level, counts), (was, is)) in levels.zip(before.iter().zip(&after)) {
            counts.0 += is.0 - was.0;
            counts.1 += is.1 - was.1;
            (level.counts.reads, level.counts.read_misses) = *was;
        }
    }

    fn reads(&self) -> Vec<(u64, u64)> {
        let levels = self.data.levels.iter();
        levels
            .map(|level| (level.counts.reads, level.counts.read_misses))
            .collect()
    }
}
