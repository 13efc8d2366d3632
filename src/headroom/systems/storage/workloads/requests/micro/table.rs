//! The table of a micro workload.
//!
//! Invariant: a table that passes can be carried out: every size fits its range, shares add up to
//! at most one.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::draws::{self, Purpose};
use super::super::error::WorkloadError;
use super::super::region::Region;
use super::super::table::{Table, check_positive, check_share, check_whole};
use crate::recording::load::due::{Due, Law};

/// Streams that a workload may have; a report with more would be unreadable.
const STREAMS_MAX: u64 = 65_536;
/// Longest request (B): lengths are kept in 32 bits, and no device takes one in one piece.
const BLOCK_MAX: u64 = 1 << 30;
/// Highest rate of a stream (1/s): due times count nanoseconds.
const RATE_MAX: f64 = 1e9;

/// The position of a stream's next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Anywhere, uniformly.
    #[default]
    Random,
    /// Behind the last one, from the start again after the end.
    Sequential,
    /// One stride behind the last one.
    Strided,
    /// Anywhere, some places far oftener than others, by Zipf's law.
    Zipf,
}

/// The start of a sequential or strided stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Stream i of n begins at i/n of its range.
    #[default]
    Spread,
    /// All at the first byte of their range.
    First,
    /// Anywhere.
    Random,
}

/// One size, or several with weights.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "a size (B), or a list of tables {bytes = ..., weight = ...}"
)]
pub enum Blocks {
    /// Always the same (B).
    One(u64),
    /// By chance.
    Weighted(Vec<WeightedBlock>),
}

/// A size and its frequency.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedBlock {
    /// Size (B).
    pub bytes: u64,
    /// Weight, not negative.
    pub weight: f64,
}

/// A stream as written; streams without a value of their own take that of the workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    name: Option<String>,
    count: u64,
    depth: Option<u64>,
    block_bytes: Blocks,
    read_share: f64,
    trim_share: f64,
    pattern: Pattern,
    random_share: f64,
    sequential_share: f64,
    strided_share: f64,
    zipf_share: f64,
    zipf_exponent: f64,
    stride_bytes: Option<u64>,
    start: Start,
    offset_bytes: u64,
    range_bytes: Option<u64>,
    align_bytes: Option<u64>,
    rate_per_s: Option<f64>,
    arrivals: Law,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            name: None,
            count: 1,
            depth: None,
            block_bytes: Blocks::One(4096),
            read_share: 1.0,
            trim_share: 0.0,
            pattern: Pattern::Random,
            random_share: 0.0,
            sequential_share: 0.0,
            strided_share: 0.0,
            zipf_share: 0.0,
            zipf_exponent: 1.0,
            stride_bytes: None,
            start: Start::Spread,
            offset_bytes: 0,
            range_bytes: None,
            align_bytes: None,
            rate_per_s: None,
            arrivals: Law::Poisson,
        }
    }
}

/// A stream, checked.
#[derive(Clone, Debug)]
pub struct StreamPlan {
    /// Name.
    pub name: String,
    /// Maximum outstanding requests.
    pub depth: u32,
    /// Sizes (B) with their weights.
    pub blocks: Vec<(u32, f64)>,
    /// Share of reads.
    pub read_share: f64,
    /// Share of trims.
    pub trim_share: f64,
    /// Pattern of the requests that follow no other.
    pub pattern: Pattern,
    /// Shares of the requests that follow another pattern.
    pub others: Vec<(Pattern, f64)>,
    /// Exponent of Zipf's law.
    pub zipf_exponent: f64,
    /// Distance between two strided requests (B), a multiple of the alignment.
    pub stride: u64,
    /// Its start.
    pub start: Start,
    /// The range of its requests.
    pub region: Region,
    /// Rate (1/s) and law; None: closed.
    pub rate: Option<(f64, Law)>,
}

/// Read the streams of a micro workload on a target of `bytes`.
///
/// # Errors
///
/// Fails if a key is unknown or a value is invalid.
pub fn read(table: &Table, bytes: u64) -> Result<Vec<StreamPlan>, WorkloadError> {
    let mut plans = Vec::new();
    for one in stream_tables(table)? {
        let written: Written = one.read()?;
        let count = check_whole(&one, "count", written.count, (1, STREAMS_MAX))?;
        let plan = Checked {
            table: &one,
            written: &written,
        }
        .plan(bytes)?;
        let first = plans.len() + 1;
        plans.extend((0..count).map(|copy| StreamPlan {
            name: copy_name(&written, copy, count, first),
            ..plan.clone()
        }));
        check_whole(table, "streams", plans.len() as u64, (1, STREAMS_MAX))?;
    }
    check_names(table, &plans)?;
    Ok(plans)
}

/// Apply the table of each stream on top of the values in the workload itself.
fn stream_tables(table: &Table) -> Result<Vec<Table>, WorkloadError> {
    let mut shared: Map<String, Value> = table.entries.clone();
    let streams = shared.remove("streams").unwrap_or(Value::from(1));
    if let Some(list) = streams.as_array() {
        let key = table.path("streams");
        for name in ["name", "count"] {
            if shared.contains_key(name) {
                let cure = "give it in the tables of the streams";
                return Err(table.wrong(name, "cannot be combined with a list of streams", cure));
            }
        }
        if list.is_empty() {
            return Err(WorkloadError::new(
                key,
                "is empty",
                "give at least one stream",
            ));
        }
        let one = |(index, own)| {
            let own = Table::new(&format!("{key}[{index}]"), own)?;
            let mut entries = shared.clone();
            entries.extend(own.entries);
            Ok(Table { entries, ..own })
        };
        return list.iter().enumerate().map(one).collect();
    }
    let Some(count) = streams.as_u64() else {
        let cure = "give a whole number of equal streams, or a list of tables";
        return Err(table.wrong("streams", format!("is {streams}"), cure));
    };
    check_whole(table, "streams", count, (1, STREAMS_MAX))?;
    if shared.contains_key("count") {
        let cure = "say how many in streams";
        return Err(table.wrong("count", "has no meaning here", cure));
    }
    shared.insert("count".to_owned(), Value::from(count));
    Ok(vec![Table {
        key: table.key.clone(),
        entries: shared,
    }])
}

fn copy_name(written: &Written, copy: u64, count: u64, first: usize) -> String {
    match &written.name {
        Some(name) if count == 1 => name.clone(),
        Some(name) => format!("{name}-{}", copy + 1),
        None => format!("stream-{}", first as u64 + copy),
    }
}

fn check_names(table: &Table, plans: &[StreamPlan]) -> Result<(), WorkloadError> {
    let mut names = BTreeSet::new();
    for plan in plans {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if plan.name.is_empty() || !plan.name.chars().all(is_plain) {
            let cure = "use letters, digits, - and _, as it becomes part of metrics";
            return Err(table.wrong("streams", format!("use the name {:?}", plan.name), cure));
        }
        if !names.insert(&plan.name) {
            let problem = format!("use the name {:?} twice", plan.name);
            return Err(table.wrong("streams", problem, "give each stream its own name"));
        }
    }
    Ok(())
}

struct Checked<'a> {
    table: &'a Table,
    written: &'a Written,
}

impl Checked<'_> {
    fn plan(&self, bytes: u64) -> Result<StreamPlan, WorkloadError> {
        let written = self.written;
        let blocks = self.blocks()?;
        let align = self.align(&blocks)?;
        let region = self.region(bytes, align, &blocks)?;
        let (read_share, trim_share) = self.kinds()?;
        let others = self.others()?;
        let uses = |pattern| {
            let has_share = |&(other, share): &(Pattern, f64)| other == pattern && share > 0.0;
            written.pattern == pattern || others.iter().any(has_share)
        };
        check_positive(self.table, "zipf_exponent", written.zipf_exponent)?;
        let stride = self.stride(uses(Pattern::Strided), region)?;
        let rate = self.rate()?;
        Ok(StreamPlan {
            name: String::new(),
            depth: self.depth(rate.is_some())?,
            blocks,
            read_share,
            trim_share,
            pattern: written.pattern,
            others,
            zipf_exponent: written.zipf_exponent,
            stride,
            start: written.start,
            region,
            rate,
        })
    }

    fn blocks(&self) -> Result<Vec<(u32, f64)>, WorkloadError> {
        let listed = match &self.written.block_bytes {
            Blocks::One(bytes) => vec![(*bytes, 1.0)],
            Blocks::Weighted(list) => list.iter().map(|one| (one.bytes, one.weight)).collect(),
        };
        let total: f64 = listed.iter().map(|&(_, weight)| weight).sum();
        let are_fine = listed.iter().all(|&(_, weight)| weight >= 0.0);
        if !(are_fine && total > 0.0 && total.is_finite()) {
            let cure = "give weights that are not negative, and at least one above 0";
            return Err(self.table.wrong(
                "block_bytes",
                format!("has weights that sum to {total}"),
                cure,
            ));
        }
        let sized = |(bytes, weight)| {
            let bytes = check_whole(self.table, "block_bytes", bytes, (1, BLOCK_MAX))?;
            Ok((u32::try_from(bytes).unwrap_or(u32::MAX), weight))
        };
        let possible = listed.into_iter().filter(|&(_, weight)| weight > 0.0);
        possible.map(sized).collect()
    }

    fn align(&self, blocks: &[(u32, f64)]) -> Result<u64, WorkloadError> {
        let smallest = blocks.iter().map(|&(bytes, _)| u64::from(bytes)).min();
        let align = self.written.align_bytes.or(smallest).unwrap_or(1);
        check_whole(self.table, "align_bytes", align, (1, BLOCK_MAX))
    }

    fn region(
        &self,
        bytes: u64,
        align: u64,
        blocks: &[(u32, f64)],
    ) -> Result<Region, WorkloadError> {
        let (first, range) = (self.written.offset_bytes, self.written.range_bytes);
        if first % align != 0 {
            let problem = format!("is {first}, not a multiple of the alignment of {align} B");
            let cure = "give a multiple, or another align_bytes";
            return Err(self.table.wrong("offset_bytes", problem, cure));
        }
        if first >= bytes {
            let problem = format!("is {first}, but the target ends at {bytes} B");
            return Err(self
                .table
                .wrong("offset_bytes", problem, "begin inside the target"));
        }
        let range = range.unwrap_or(bytes - first);
        if range > bytes - first {
            let problem = format!("is {range}, but only {} B are left there", bytes - first);
            let cure = "take a smaller range, or leave it out to use all that is left";
            return Err(self.table.wrong("range_bytes", problem, cure));
        }
        let region = Region {
            first,
            end: first + range,
            align,
        };
        let largest = blocks.iter().map(|&(bytes, _)| bytes).max().unwrap_or(1);
        if region.places(u64::from(largest)) == 0 {
            let problem = format!("has {largest} B, but the range has only {range} B");
            let cure = "use smaller requests, or a larger range or target";
            return Err(self.table.wrong("block_bytes", problem, cure));
        }
        Ok(region)
    }

    fn kinds(&self) -> Result<(f64, f64), WorkloadError> {
        let read = check_share(self.table, "read_share", self.written.read_share)?;
        let trim = check_share(self.table, "trim_share", self.written.trim_share)?;
        if read + trim > 1.0 + f64::EPSILON {
            let problem = format!("is {trim}, which with a read_share of {read} is above 1");
            let cure = "lower one of them; what is left of 1 is writes";
            return Err(self.table.wrong("trim_share", problem, cure));
        }
        Ok((read, trim))
    }

    fn others(&self) -> Result<Vec<(Pattern, f64)>, WorkloadError> {
        let written = self.written;
        let shares = [
            ("random_share", Pattern::Random, written.random_share),
            (
                "sequential_share",
                Pattern::Sequential,
                written.sequential_share,
            ),
            ("strided_share", Pattern::Strided, written.strided_share),
            ("zipf_share", Pattern::Zipf, written.zipf_share),
        ];
        let mut total = 0.0;
        for (name, pattern, share) in shares {
            total += check_share(self.table, name, share)?;
            if share > 0.0 && pattern == written.pattern {
                let cure = "leave it out: the pattern has what the other shares leave of 1";
                return Err(self
                    .table
                    .wrong(name, "is the share of the pattern itself", cure));
            }
            if total > 1.0 + f64::EPSILON {
                let problem = format!("raises the sum of the shares of patterns to {total}");
                return Err(self.table.wrong(
                    name,
                    problem,
                    "lower them: they may sum to 1 at most",
                ));
            }
        }
        let others = shares.iter().map(|&(_, pattern, share)| (pattern, share));
        Ok(others.filter(|&(_, share)| share > 0.0).collect())
    }

    fn stride(&self, is_used: bool, region: Region) -> Result<u64, WorkloadError> {
        let Some(stride) = self.written.stride_bytes else {
            if is_used {
                let cure = "give the distance (B) from one request to the next";
                return Err(self.table.wrong("stride_bytes", "is missing", cure));
            }
            return Ok(region.align);
        };
        if stride == 0 || stride % region.align != 0 || stride >= region.end - region.first {
            let problem = format!("is {stride}");
            let cure = format!(
                "give a multiple of the alignment of {} B that is smaller than the range of {} B",
                region.align,
                region.end - region.first
            );
            return Err(self.table.wrong("stride_bytes", problem, cure));
        }
        Ok(stride)
    }

    fn rate(&self) -> Result<Option<(f64, Law)>, WorkloadError> {
        let Some(rate) = self.written.rate_per_s else {
            if self.table.entries.contains_key("arrivals") {
                let cure = "give rate_per_s (1/s of each stream), or leave arrivals out";
                return Err(self.table.wrong("arrivals", "has no rate", cure));
            }
            return Ok(None);
        };
        check_positive(self.table, "rate_per_s", rate)?;
        if rate > RATE_MAX {
            let cure = "give at most 1e9, one request each nanosecond";
            return Err(self.table.wrong("rate_per_s", format!("is {rate}"), cure));
        }
        let law = self.written.arrivals.clone();
        let generator = draws::generator(0, 0, Purpose::Arrival);
        Due::open(rate, &law, generator, (0, 1)).map_err(|reason| {
            let cure = "see the laws of the model language";
            self.table.wrong("arrivals", reason, cure)
        })?;
        Ok(Some((rate, law)))
    }

    fn depth(&self, is_open: bool) -> Result<u32, WorkloadError> {
        let depth = match (self.written.depth, is_open) {
            (Some(depth), _) => depth,
            (None, true) => return Ok(u32::MAX),
            (None, false) => 1,
        };
        let depth = check_whole(self.table, "depth", depth, (1, u64::from(u32::MAX)))?;
        Ok(u32::try_from(depth).unwrap_or(u32::MAX))
    }
}
