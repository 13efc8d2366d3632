//! The model as data: what the Python builder writes as JSON and the compiler reads.
//!
//! Names, not indices, tie the parts together, so the data can be read by people and by other
//! programs. Blocks (loop, branch, case, fork, arm) open with their step and close with `end`, so
//! nesting of any depth needs no recursion.

use serde::Deserialize;

use super::distribution::Distribution;
use super::time::TimeUnit;

/// Version of the data format that this kernel reads.
pub const FORMAT: u32 = 1;

/// A whole model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Version of the format, [`FORMAT`].
    pub format: u32,
    /// Name, for messages.
    pub name: String,
    /// Unit of every duration in the model.
    pub time_unit: TimeUnit,
    /// Servers with a queue.
    pub stations: Vec<Station>,
    /// Counted tokens.
    pub pools: Vec<Pool>,
    /// Step lists that jobs walk through.
    pub programs: Vec<Program>,
    /// Where jobs come from.
    pub classes: Vec<Class>,
    /// When the run ends; the caller may override it.
    pub stop: Stop,
}

/// A station: `servers` equal servers and one queue, first come first served.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Unique name.
    pub name: String,
    /// Number of servers, at least 1.
    pub servers: u32,
}

/// A pool of tokens, granted first come first served.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Unique name.
    pub name: String,
    /// Number of tokens, at least 1.
    pub tokens: u32,
}

/// A named list of steps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Unique name.
    pub name: String,
    /// Steps, blocks flattened.
    pub steps: Vec<Step>,
}

/// One step of a program; `stream` is the key of the step's random stream.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Queue for a server of the station and occupy it for a service time.
    Use {
        /// Name of the station.
        station: String,
        /// Service time (time units).
        service: Distribution,
        /// Stream key.
        stream: u64,
    },
    /// Let time pass without occupying anything.
    Delay {
        /// Duration (time units).
        time: Distribution,
        /// Stream key.
        stream: u64,
    },
    /// Wait for tokens of a pool and hold them.
    Acquire {
        /// Name of the pool.
        pool: String,
        /// Tokens, at least 1.
        tokens: u32,
    },
    /// Give tokens back.
    Release {
        /// Name of the pool.
        pool: String,
        /// Tokens, at least 1.
        tokens: u32,
    },
    /// Walk another program as a subroutine.
    Call {
        /// Name of the program.
        program: String,
    },
    /// Repeat the steps up to the matching end.
    Loop {
        /// Number of rounds, drawn on entry.
        count: Distribution,
        /// Stream key.
        stream: u64,
    },
    /// Take one of the cases up to the matching end.
    Branch {
        /// Stream key.
        stream: u64,
    },
    /// One case of the innermost branch.
    Case {
        /// Probability; those of a branch sum to 1.
        probability: f64,
    },
    /// Run all arms at the same time and wait for all of them.
    Fork,
    /// One arm of the innermost fork.
    Arm,
    /// Close the innermost loop, branch, case, fork or arm.
    End,
}

/// A class of jobs.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Class {
    /// A fixed population that thinks, walks the program and thinks again.
    Closed {
        /// Unique name.
        name: String,
        /// Name of the program.
        program: String,
        /// Number of jobs, at least 1.
        population: u32,
        /// Think time (time units) before each walk; absent for none.
        think: Option<Distribution>,
        /// Stream key of the think time.
        stream: u64,
    },
    /// Jobs that arrive, walk the program once and leave.
    Open {
        /// Unique name.
        name: String,
        /// Name of the program.
        program: String,
        /// Time (time units) between arrivals.
        interarrival: Distribution,
        /// Stream key of the arrivals.
        stream: u64,
    },
}

impl Class {
    /// Return the unique name.
    pub fn name(&self) -> &str {
        match self {
            Self::Closed { name, .. } | Self::Open { name, .. } => name,
        }
    }

    /// Return the name of the program that jobs of the class walk.
    pub fn program(&self) -> &str {
        match self {
            Self::Closed { program, .. } | Self::Open { program, .. } => program,
        }
    }
}

/// When a run ends: at whichever comes first.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this many jobs have completed, all classes together.
    pub completions: Option<u64>,
    /// At this simulated time (time units).
    pub time: Option<f64>,
}
