//! Flash devices: dies that work in parallel, and garbage collection that gets in the way.
//!
//! Pages of the device are striped over the dies, so a die has its own map and its own blocks, and
//! collects its own garbage ([`die`]). A write pays for the collection that it triggers: this is
//! why the rate of random writes drops sharply once the device has been written full.
//!
//! Planes of a die program together, so a page within a run costs its share of a program operation;
//! a lone page costs a whole one. Not modelled: wear levelling of cold blocks, bad blocks, retries,
//! a pseudo SLC cache, and suspending an erase for a read.
//!
//! Sources: Agrawal et al. (2008), *Design tradeoffs for SSD performance* (the components of a
//! device); Desnoyers (2012), *Analytic modeling of SSD write performance*, and Van Houdt (2013),
//! *A mean field model for a class of garbage collection algorithms in flash-based solid state
//! drives* (the expected write amplification).
//!
//! Invariant: see [`die`]; data that are read were written before, or the read is answered without
//! reading a page.

pub mod die;

use rand::RngExt;
use serde::Deserialize;

use self::die::{Collection, Die};
use super::arguments::{above_zero, index, not_negative, range};
use crate::simulation::kernel::plan::mechanism::{Function, Mechanism, Unit};
use crate::simulation::kernel::random::stream::Stream;

/// Numbers of a flash device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Bytes for the user (B).
    pub capacity_bytes: u64,
    /// Additional flash, as a share of it (0.07 is usual for clients, 0.28 for servers).
    pub over_provisioning: f64,
    /// Dies of all channels.
    pub dies: u32,
    /// Planes of a die that program together.
    pub planes: u32,
    /// Bytes of a page (B), the unit of the map.
    pub page_bytes: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Free blocks of a die that collection keeps.
    pub reserve_blocks: u32,
    /// Read of a page (s).
    pub read_s: f64,
    /// Program of a page (s).
    pub program_s: f64,
    /// Erasure of a block (s).
    pub erase_s: f64,
    /// Share of the user's bytes that is written before the run, 0 to 1.
    pub filled_share: f64,
    /// Random writes before the run, as a multiple of the user's bytes.
    pub preconditioned: f64,
}

/// A flash device.
#[derive(Debug)]
pub struct Flash {
    parameters: Parameters,
    dies: Vec<Die>,
}

/// Functions for models.
const FUNCTIONS: &[Function] = &[
    function("die", &["offset"], Unit::Number),
    function("dies_touched", &["offset", "length"], Unit::Number),
    function("pages", &["die", "offset", "length"], Unit::Number),
    function("read", &["die", "offset", "length"], Unit::Seconds),
    function("write", &["die", "offset", "length"], Unit::Seconds),
    function("trim", &["offset", "length"], Unit::Number),
    function("write_amplification", &[], Unit::Number),
];

const fn function(name: &'static str, arguments: &'static [&'static str], unit: Unit) -> Function {
    Function {
        name,
        arguments,
        unit,
    }
}

impl Flash {
    /// Make a device; `stream` gives the random writes before the run.
    ///
    /// # Errors
    ///
    /// Returns which parameter is invalid.
    pub fn new(parameters: &Parameters, stream: Stream) -> Result<Self, String> {
        check(parameters)?;
        let pages = parameters.capacity_bytes / u64::from(parameters.page_bytes);
        let user = u32::try_from(pages.div_ceil(u64::from(parameters.dies)))
            .map_err(|_| "a die has more than 2^32 pages; make pages larger, or more dies")?;
        let blocks = blocks_of_die(parameters, user)?;
        let die = Die::new(
            user,
            blocks,
            parameters.pages_per_block,
            parameters.reserve_blocks,
        );
        let mut made = Self {
            parameters: parameters.clone(),
            dies: vec![die; parameters.dies as usize],
        };
        made.precondition(user, stream);
        Ok(made)
    }

    /// Bring the device into the state that it has after the writes before the run.
    fn precondition(&mut self, user: u32, mut stream: Stream) {
        let written = share_of(user, self.parameters.filled_share);
        let random = share_of_many(user, self.parameters.preconditioned);
        for die in &mut self.dies {
            for page in 0..written {
                die.write(page);
            }
            for _ in 0..if written > 0 { random } else { 0 } {
                die.write(stream.random_range(0..written));
            }
            die.reset_work();
        }
    }

    /// Read a die's part of some bytes; return the time (s).
    pub fn read(&self, die: usize, bytes: (u64, u64)) -> f64 {
        let held = self
            .pages_on(die, bytes)
            .filter(|&page| self.dies[die].holds(page))
            .count();
        // Planes read together as they program together.
        let rounds = held.div_ceil(self.parameters.planes as usize);
        rounds as f64 * self.parameters.read_s
    }

    /// Write a die's part of some bytes; return the time (s), with the collection it set off.
    pub fn write(&mut self, die: usize, bytes: (u64, u64)) -> f64 {
        let mut work = Collection::default();
        let mut count = 0_u32;
        for page in self.pages_on(die, bytes) {
            let more = self.dies[die].write(page);
            work.moves += more.moves;
            work.erases += more.erases;
            count += 1;
        }
        let numbers = &self.parameters;
        let moved = work.moves.div_ceil(numbers.planes);
        f64::from(count.div_ceil(numbers.planes)) * numbers.program_s
            + f64::from(moved) * (numbers.read_s + numbers.program_s)
            + f64::from(work.erases) * numbers.erase_s
    }

    /// Forget bytes; return how many pages that were.
    pub fn trim(&mut self, (start, end): (u64, u64)) -> u64 {
        let page_bytes = u64::from(self.parameters.page_bytes);
        // A page that is forgotten in part is kept.
        let pages = start.div_ceil(page_bytes)..end / page_bytes;
        for page in pages.clone() {
            let (die, inside) = self.split(page);
            self.dies[die].trim(inside);
        }
        pages.count() as u64
    }

    /// Return pages written to flash for each page that the user wrote in the run.
    pub fn write_amplification(&self) -> f64 {
        let works = self.dies.iter().map(Die::work);
        let (written, moved) = works.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        if written == 0 {
            return 1.0;
        }
        (written + moved) as f64 / written as f64
    }

    fn split(&self, page: u64) -> (usize, u32) {
        let dies = u64::from(self.parameters.dies);
        let inside = u32::try_from(page / dies).unwrap_or(u32::MAX);
        (usize::try_from(page % dies).unwrap_or(usize::MAX), inside)
    }

    fn pages(&self, (start, end): (u64, u64)) -> (u64, u64) {
        let page_bytes = u64::from(self.parameters.page_bytes);
        (start / page_bytes, end.div_ceil(page_bytes))
    }

    /// Return the pages of a die that hold some of the bytes, as the die counts them.
    fn pages_on(&self, die: usize, bytes: (u64, u64)) -> std::ops::Range<u32> {
        let (first, end) = self.pages(bytes);
        let (dies, die) = (u64::from(self.parameters.dies), die as u64);
        // The first page from `page` on that is on the die.
        let inside = |page: u64| page / dies + u64::from(page % dies > die);
        let narrow = |page: u64| u32::try_from(inside(page)).unwrap_or(u32::MAX);
        narrow(first)..narrow(end)
    }
}

impl Mechanism for Flash {
    fn functions(&self) -> &'static [Function] {
        FUNCTIONS
    }

    fn call(&mut self, function: usize, _now_s: f64, arguments: &[f64]) -> Result<f64, String> {
        let (name, capacity) = (FUNCTIONS[function].name, self.parameters.capacity_bytes);
        match *arguments {
            [die, offset, length] => {
                let die = index(die, self.dies.len(), "die")?;
                let bytes = range(offset, length, capacity)?;
                Ok(match name {
                    "pages" => {
                        f64::from(self.pages_on(die, bytes).end - self.pages_on(die, bytes).start)
                    }
                    "read" => self.read(die, bytes),
                    _ => self.write(die, bytes),
                })
            }
            [offset, length] => {
                let bytes = range(offset, length, capacity)?;
                if name == "trim" {
                    return Ok(self.trim(bytes) as f64);
                }
                let (first, end) = self.pages(bytes);
                Ok((end - first).min(u64::from(self.parameters.dies)) as f64)
            }
            [offset] => {
                let (first, _) = self.pages(range(offset, 1.0, capacity)?);
                Ok(self.split(first).0 as f64)
            }
            _ => Ok(self.write_amplification()),
        }
    }
}

/// Return the erase blocks of a die that holds `user` pages.
fn blocks_of_die(parameters: &Parameters, user: u32) -> Result<u32, String> {
    let pages = f64::from(user) * (1.0 + parameters.over_provisioning);
    let blocks = share_of_many(1, (pages / f64::from(parameters.pages_per_block)).ceil());
    let needed = user.div_ceil(parameters.pages_per_block) + parameters.reserve_blocks + 2;
    if blocks < needed {
        return Err(format!(
            "a die has {blocks} blocks, of which {needed} are needed to hold {user} pages and to \
             collect garbage; raise over_provisioning, or make blocks smaller"
        ));
    }
    if u64::from(blocks) * u64::from(parameters.pages_per_block) > u64::from(u32::MAX) {
        return Err("a die has more than 2^32 pages; make pages larger, or more dies".into());
    }
    Ok(blocks)
}

fn share_of(count: u32, share: f64) -> u32 {
    share_of_many(count, share.min(1.0))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of pages, not below 0; what is above 2^32 is cut and then refused"
)]
fn share_of_many(count: u32, share: f64) -> u32 {
    (f64::from(count) * share) as u32
}

fn check(parameters: &Parameters) -> Result<(), String> {
    above_zero(&[
        ("capacity_bytes", parameters.capacity_bytes as f64),
        ("over_provisioning", parameters.over_provisioning),
        ("dies", f64::from(parameters.dies)),
        ("planes", f64::from(parameters.planes)),
        ("page_bytes", f64::from(parameters.page_bytes)),
        ("pages_per_block", f64::from(parameters.pages_per_block)),
        ("reserve_blocks", f64::from(parameters.reserve_blocks)),
    ])?;
    not_negative(&[
        ("read_s", parameters.read_s),
        ("program_s", parameters.program_s),
        ("erase_s", parameters.erase_s),
        ("filled_share", parameters.filled_share),
        ("preconditioned", parameters.preconditioned),
    ])
}

#[cfg(test)]
mod tests;
