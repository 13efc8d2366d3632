//! Recorded requests, replayed.
//!
//! ```json
//! {"kind": "trace", "format": "msr", "fd": 7, "timing": "as_timed", "time_scale": 0.5}
//! ```
//!
//! The trace is an open file (`fd`: the creator of the workload opens it; nothing is opened by name
//! here) or is in the workload itself (`text`). It is read twice. The first pass, before the first
//! request is given ([`mod@describe`]), finds malformed lines before a run and the start of each
//! device in the trace. The second pass reads it request by request, in constant memory.
//!
//! The devices of a trace are placed one after the other on the target, in the order of their
//! names. An address beyond the target is folded: taken modulo its size. The number of folded
//! addresses, and of all other changes, is counted ([`replay::Changes`]).
//!
//! Invariant: the requests are those of the trace in its order; a request never crosses the end of
//! the target; due times never fall.

pub mod describe;
pub mod formats;
pub mod lines;
pub mod replay;
pub mod write;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor};
use std::sync::Arc;

use serde::Deserialize;

pub use self::describe::{Description, describe};
pub use self::formats::{Entry, Format};
pub use self::lines::TraceReader;

use self::replay::{Changes, Replay, ReplayLaw};
use super::error::WorkloadError;
use super::table::{Table, check_positive, check_whole};
use crate::systems::storage::workloads::request::{Request, Source, Stream};

/// When the requests of a trace are begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// At their recorded times, scaled.
    #[default]
    AsTimed,
    /// As soon as there is a place for them.
    AsFast,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: Format,
    fd: Option<u32>,
    text: Option<String>,
    #[serde(default)]
    timing: Timing,
    #[serde(default = "one")]
    time_scale: f64,
    #[serde(default)]
    start_s: f64,
    duration_s: Option<f64>,
    #[serde(default = "sector")]
    align_bytes: u64,
    devices: Option<Vec<String>>,
    depth: Option<u64>,
}

const fn one() -> f64 {
    1.0
}

const fn sector() -> u64 {
    512
}

/// Where the text of a trace comes from.
#[derive(Clone, Debug)]
enum Origin {
    Descriptor(u32),
    Text(Arc<[u8]>),
}

type Input = Box<dyn BufRead + Send>;

impl Origin {
    /// Open the trace at its start.
    fn open(&self, table: &Table) -> Result<Input, WorkloadError> {
        match self {
            Self::Text(text) => Ok(Box::new(Cursor::new(Arc::clone(text)))),
            Self::Descriptor(fd) => {
                let wrong = |problem: String| {
                    let cure = "give the descriptor of an ordinary file that is open for reading";
                    table.wrong("fd", problem, cure)
                };
                // The system's own name of the open file: a second position in the same file.
                let path = format!("/dev/fd/{fd}");
                let file = File::open(path).map_err(|error| wrong(format!("is {fd}: {error}")))?;
                let is_file = file.metadata().is_ok_and(|about| about.is_file());
                if !is_file {
                    return Err(wrong(format!("is {fd}, which is no ordinary file")));
                }
                Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
            }
        }
    }
}

/// The requests of a trace; one stream.
pub struct Trace {
    streams: Vec<Stream>,
    reader: TraceReader<Input>,
    replay: Replay,
    fault: Option<WorkloadError>,
}

impl Trace {
    /// Make the source of a workload, without its `kind`, on a target of `bytes`.
    ///
    /// # Errors
    ///
    /// Fails if a key is unknown, a value is invalid, or a line of the trace is malformed.
    pub fn new(table: &Table, bytes: u64) -> Result<Self, WorkloadError> {
        let plan = Plan::new(table, bytes)?;
        let description = plan.describe(table)?;
        plan.check(table, &description)?;
        Ok(Self {
            streams: vec![Stream {
                name: "trace".to_owned(),
                depth: plan.depth,
            }],
            reader: TraceReader::new(plan.origin.open(table)?, plan.law.format),
            replay: Replay::new(plan.law, &description),
            fault: None,
        })
    }

    /// Return what was changed so far for the requests to fit the target.
    pub const fn changes(&self) -> Changes {
        self.replay.changes()
    }
}

impl Source for Trace {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn next(&mut self, _stream: usize) -> Option<Request> {
        while self.fault.is_none() && !self.replay.is_over() {
            match self.reader.next_entry() {
                Ok(Some(entry)) => {
                    if let Some(request) = self.replay.request(&entry) {
                        return Some(request);
                    }
                }
                Ok(None) => return None,
                Err(fault) => self.fault = Some(fault),
            }
        }
        None
    }

    fn fault(&self) -> Option<&WorkloadError> {
        self.fault.as_ref()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.replay.changes().counters();
        counters.push(("trace_lines_skipped", self.reader.skipped()));
        counters
    }
}

/// A workload of the kind `trace`, checked as far as that goes without the trace.
struct Plan {
    origin: Origin,
    law: ReplayLaw,
    depth: u32,
}

impl Plan {
    fn new(table: &Table, bytes: u64) -> Result<Self, WorkloadError> {
        let written: Written = table.read()?;
        let origin = match (written.fd, &written.text) {
            (Some(fd), None) => Origin::Descriptor(fd),
            (None, Some(text)) => Origin::Text(text.as_bytes().into()),
            _ => {
                let cure = "give either fd, an open file, or text, the trace itself";
                return Err(table.wrong("fd", "does not say which trace is meant", cure));
            }
        };
        check_positive(table, "time_scale", written.time_scale)?;
        check_cut(table, "start_s", written.start_s)?;
        if let Some(duration_s) = written.duration_s {
            check_positive(table, "duration_s", duration_s)?;
        }
        check_whole(table, "align_bytes", written.align_bytes, (1, 1 << 30))?;
        if bytes < written.align_bytes {
            let problem = format!("is {}, but the target has {bytes} B", written.align_bytes);
            return Err(table.wrong("align_bytes", problem, "use a larger target"));
        }
        let depth = match (written.depth, written.timing) {
            (Some(depth), _) => check_whole(table, "depth", depth, (1, u64::from(u32::MAX)))?,
            (None, Timing::AsTimed) => u64::from(u32::MAX),
            (None, Timing::AsFast) => 1,
        };
        Ok(Self {
            origin,
            law: ReplayLaw {
                format: written.format,
                is_timed: written.timing == Timing::AsTimed,
                time_scale: written.time_scale,
                start_s: written.start_s,
                duration_s: written.duration_s,
                align: written.align_bytes,
                devices: written.devices,
                target_bytes: bytes,
            },
            depth: u32::try_from(depth).unwrap_or(u32::MAX),
        })
    }

    fn describe(&self, table: &Table) -> Result<Description, WorkloadError> {
        describe(TraceReader::new(self.origin.open(table)?, self.law.format))
    }

    fn check(&self, table: &Table, found: &Description) -> Result<(), WorkloadError> {
        if found.request_count == 0 {
            let cure = "is it the format that the file has?";
            return Err(table.wrong("format", "finds no request in the trace", cure));
        }
        if self.law.is_timed && found.duration_ns == 0 && found.request_count > 1 {
            let cure = "replay it with timing = \"as_fast\"";
            return Err(table.wrong("timing", "asks for times, but the trace has none", cure));
        }
        for name in self.law.devices.iter().flatten() {
            if !found.devices.contains_key(name) {
                let known: Vec<&str> = found.devices.keys().map(String::as_str).collect();
                let cure = format!("choose from {}", known.join(", "));
                return Err(table.wrong(
                    "devices",
                    format!("has {name:?}, of which the trace knows nothing"),
                    cure,
                ));
            }
        }
        if self.law.start_s * 1e9 > found.duration_ns as f64 {
            let problem = format!("is {}, behind the end of the trace", self.law.start_s);
            let cure = format!("give less than {} s", found.duration_ns as f64 / 1e9);
            return Err(table.wrong("start_s", problem, cure));
        }
        Ok(())
    }
}

fn check_cut(table: &Table, name: &str, value: f64) -> Result<f64, WorkloadError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(table.wrong(name, format!("is {value}"), "give a time (s) of 0 or more"))
}

/// Describe the trace of a workload of the kind `trace`, and what a replay on a target of `bytes`
/// changes of it.
///
/// # Errors
///
/// Fails if the workload or a line of the trace is wrong.
pub fn look_at(
    workload: &serde_json::Value,
    bytes: u64,
) -> Result<(Description, Changes), WorkloadError> {
    let mut table = Table::new("workload", workload)?;
    if table
        .entries
        .remove("kind")
        .is_none_or(|kind| kind != "trace")
    {
        return Err(table.wrong(
            "kind",
            "is not a trace",
            "describe a workload of kind trace",
        ));
    }
    let plan = Plan::new(&table, bytes)?;
    let description = plan.describe(&table)?;
    plan.check(&table, &description)?;
    let mut trace = Trace::new(&table, bytes)?;
    while trace.next(0).is_some() {}
    Ok((description, trace.changes()))
}
