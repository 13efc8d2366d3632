//! What the program is asked to do, as JSON.

use std::path::PathBuf;

use headroom::recording::load::due::Law;
use headroom_transactions::systems::transactions::inputs::{DISTRICTS, Workload};
use serde::Deserialize;

use crate::database::Isolation;
use crate::database::mark::Mark;
use crate::error::DriverError;
use crate::target::Target;
use crate::transactions::Form;

/// A job.
#[derive(Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Job {
    /// Load a database, or the rest of it.
    Load {
        /// Where.
        target: Target,
        /// Its name, which begins with `headroom_`.
        database: String,
        /// What.
        #[serde(default)]
        workload: Named,
        /// Warehouses or branches.
        scale: u32,
        /// Seed of the rows.
        #[serde(default = "one")]
        seed: u64,
        /// Parts that are loaded at once.
        #[serde(default = "loaders")]
        connections: usize,
    },
    /// Copy a loaded database; a copy of that name is replaced.
    Copy {
        /// Where.
        target: Target,
        /// The loaded one.
        from: String,
        /// The copy.
        to: String,
    },
    /// Drop a database of this program.
    Drop {
        /// Where.
        target: Target,
        /// Its name.
        database: String,
    },
    /// Check the conditions of the standard, and that all orders of a journal are there.
    Check {
        /// Where.
        target: Target,
        /// Its name.
        database: String,
        /// See [`Run::journal`].
        #[serde(default)]
        journal: Option<PathBuf>,
    },
    /// Test atomicity and isolation on a copy.
    Acid {
        /// Where.
        target: Target,
        /// Its name.
        database: String,
        /// How far transactions see each other.
        #[serde(default)]
        isolation: Isolation,
    },
    /// Return the database's own counters of rows, by table where it has those.
    Rows {
        /// Where.
        target: Target,
        /// Its name.
        database: String,
    },
    /// Put the load on.
    Run(Run),
}

/// Names of workloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Named {
    /// TPC-C.
    #[default]
    Tpcc,
    /// TPC-B.
    Tpcb,
}

impl From<Named> for Workload {
    fn from(named: Named) -> Self {
        match named {
            Named::Tpcc => Self::TpcC,
            Named::Tpcb => Self::TpcB,
        }
    }
}

/// What a run asks.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Goal {
    /// A database.
    Database(Target),
    /// None: what the driver itself needs, and can.
    Nothing {
        /// Warehouses.
        scale: u32,
    },
}

/// A run.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Where.
    #[serde(rename = "target")]
    pub goal: Goal,
    /// Name of the database.
    #[serde(default)]
    pub database: String,
    /// Seed of inputs, arrivals and think times.
    pub seed: u64,
    /// When transactions arrive.
    pub load: Arrivals,
    /// Number of the first terminal: those of all processes of a load differ.
    #[serde(default)]
    pub first_terminal: u32,
    /// How a transaction is said.
    #[serde(default)]
    pub form: Form,
    /// Whether statements that do not need each other's answers travel together.
    #[serde(default)]
    pub pipelines: bool,
    /// How far transactions see each other.
    #[serde(default)]
    pub isolation: Isolation,
    /// Whether deliveries are put into a queue.
    #[serde(default = "yes")]
    pub defers: bool,
    /// Deliveries of the queue that are carried out at once.
    #[serde(default = "deliveries_at_once")]
    pub deliveries_at_once: u32,
    /// How often a transaction is tried again after a conflict.
    #[serde(default = "retries")]
    pub retries: u32,
    /// Whether the database has to be as it was loaded.
    #[serde(default)]
    pub is_fresh: bool,
    /// When transactions stop arriving.
    #[serde(default)]
    pub stop: Stop,
    /// File for the numbers of acknowledged orders.
    #[serde(default)]
    pub journal: Option<PathBuf>,
    /// Failures in a row after which the database counts as gone.
    #[serde(default = "failure_limit")]
    pub failure_limit: u32,
    /// Longest wait (s) for transactions at the end.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Longest time (s) without the end of a transaction while some are outstanding.
    #[serde(default = "silence_s")]
    pub silence_s: f64,
    /// Time (s) between two samples of the statistics.
    #[serde(default)]
    pub sample_every_s: Option<f64>,
}

/// When transactions arrive.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Terminals, each of which waits for its answer.
    Closed {
        /// Terminals of this process.
        terminals: u32,
        /// Whether they key in and think.
        #[serde(default = "yes")]
        waits: bool,
        /// Connections they share; None: each has its own.
        #[serde(default)]
        connections: Option<u32>,
    },
    /// A rate that does not depend on the answers.
    Open {
        /// Transactions per second of this process.
        rate_per_s: f64,
        /// How they are spread.
        #[serde(default)]
        law: Law,
        /// Connections; further transactions wait.
        connections: u32,
    },
}

/// When transactions stop arriving: at the first of these.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Time (s).
    pub seconds: Option<f64>,
    /// Transactions of this process.
    pub operations: Option<u64>,
}

impl Arrivals {
    /// Return the terminals of a load on a database; ten of each warehouse for an open one.
    pub fn terminals(&self, mark: Mark) -> u32 {
        match self {
            Self::Closed { terminals, .. } => *terminals,
            Self::Open { .. } => DISTRICTS * mark.scale,
        }
    }
}

impl Run {
    /// Return the connections: those of terminals, and of deliveries that are deferred.
    pub fn connections(&self, mark: Mark) -> u32 {
        let own = match self.load {
            Arrivals::Closed {
                terminals,
                connections,
                ..
            } => connections.unwrap_or(terminals).min(terminals),
            Arrivals::Open { connections, .. } => connections,
        };
        let has_queue = self.defers && mark.workload == Workload::TpcC;
        own + if has_queue {
            self.deliveries_at_once
        } else {
            0
        }
    }

    /// Refuse what contradicts itself.
    ///
    /// # Errors
    ///
    /// If there is something.
    pub fn check(&self, mark: Mark) -> Result<(), DriverError> {
        let has_end = self.stop.seconds.is_some() || self.stop.operations.is_some();
        let (rate_per_s, waits) = match self.load {
            Arrivals::Open { rate_per_s, .. } => (rate_per_s, false),
            Arrivals::Closed { waits, .. } => (1.0, waits),
        };
        let broken = [
            (
                !has_end,
                "the load has no end; set `stop.seconds` or `stop.operations`".to_owned(),
            ),
            (mark.scale == 0, "a scale of 0 has no rows".to_owned()),
            (
                self.connections(mark) == 0,
                "a load needs a connection".to_owned(),
            ),
            (
                self.load.terminals(mark) == 0,
                "a load needs a terminal".to_owned(),
            ),
            (
                self.deliveries_at_once == 0,
                "`deliveries_at_once` is 0, so no delivery would ever end".to_owned(),
            ),
            (
                !(rate_per_s > 0.0 && rate_per_s.is_finite()),
                "`rate_per_s` must be above 0".to_owned(),
            ),
            (
                waits && mark.workload == Workload::TpcB,
                "TPC-B has no terminals that think; set `waits` to false".to_owned(),
            ),
        ];
        broken
            .into_iter()
            .find(|(is_broken, _)| *is_broken)
            .map_or(Ok(()), |(_, said)| Err(DriverError::Job(said)))
    }
}

impl Job {
    /// Return the job of a JSON text.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, DriverError> {
        serde_json::from_str(text)
            .map_err(|error| DriverError::Job(format!("the job is not valid: {error}")))
    }
}

const fn one() -> u64 {
    1
}

const fn yes() -> bool {
    true
}

const fn loaders() -> usize {
    4
}

const fn deliveries_at_once() -> u32 {
    2
}

const fn retries() -> u32 {
    10
}

const fn failure_limit() -> u32 {
    1000
}

const fn drain_s() -> f64 {
    10.0
}

const fn silence_s() -> f64 {
    60.0
}
