//! The job: what one process of a load does, as JSON.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use headroom::recording::load::due::Law;
use headroom::simulation::kernel::random::distribution::Distribution;
use serde::Deserialize;

use super::error::LoadError;
use super::target::Target;

/// A job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Seed of arrivals, think times and the choice of entries.
    pub seed: u64,
    /// The server.
    pub target: Target,
    /// How long a connection lives.
    #[serde(default)]
    pub connections: Connections,
    /// Time (s) that a client waits after it has opened a connection: it stands for a long line, as
    /// the server holds the connection meanwhile.
    #[serde(default)]
    pub pause_s: f64,
    /// Whether an operation is a transaction of its own.
    #[serde(default)]
    pub form: Form,
    /// When operations arrive.
    pub load: Arrivals,
    /// Which entries they name.
    #[serde(default)]
    pub entries: Entries,
    /// When they stop arriving.
    #[serde(default)]
    pub stop: Stop,
    /// Connections that are opened at once before the load begins.
    #[serde(default = "opening_limit")]
    pub opening_limit: usize,
    /// Failures in a row after which the target counts as gone.
    #[serde(default = "failure_limit")]
    pub failure_limit: u32,
    /// Maximum time (s) for which the run waits for operations at its end.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Maximum time (s) without any end of an operation while some are outstanding.
    #[serde(default = "silence_s")]
    pub silence_s: f64,
    /// Whether a client opens another connection if one is closed before the first reply of an operation,
    /// and begins the operation again. It does so once, and only if nothing can have been changed.
    #[serde(default)]
    pub reopens: bool,
    /// File for the end of each operation, see `load/journal.rs`.
    #[serde(default)]
    pub journal: Option<PathBuf>,
    /// Time (s) between two samples of the statistics.
    #[serde(default)]
    pub sample_every_s: Option<f64>,
}

const fn opening_limit() -> usize {
    128
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

/// How long a connection lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// For one operation.
    PerOperation,
    /// As long as its client; it is opened before the load begins.
    #[default]
    PerClient,
}

/// The form of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Begin, work, commit: each is sent when the one before has been answered.
    #[default]
    Transaction,
    /// The work alone.
    Single,
}

/// When operations arrive.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// A fixed number of clients, each of which waits for its answer.
    Closed {
        /// Clients of this process.
        clients: u32,
        /// Time (s) that a client thinks before each operation; None: no time.
        #[serde(default)]
        think: Option<Distribution>,
    },
    /// A rate that does not depend on the answers.
    Open {
        /// Operations per second of this process.
        rate_per_s: f64,
        /// How they are spread.
        #[serde(default)]
        law: Law,
        /// Connections of this process; further operations wait.
        connections: u32,
    },
    /// All entries that queries know, once each, in the order of their numbers.
    Fill {
        /// Connections of this process.
        connections: u32,
    },
}

impl Arrivals {
    /// Return how many operations may be with the target at once.
    pub fn client_count(&self) -> u32 {
        match self {
            Self::Closed { clients, .. } => *clients,
            Self::Open { connections, .. } | Self::Fill { connections } => *connections,
        }
    }
}

/// Which entries the operations name.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Entries {
    /// Share of insertions; the rest are queries.
    pub insert_share: f64,
    /// Entries that queries know.
    pub known: u64,
    /// Beginning of the names of known entries.
    pub known_prefix: String,
    /// Known entries of a directory: entry n is in the directory `n / per_directory` (hexadecimal)
    /// below that of the target. None: all are in that of the target.
    pub per_directory: Option<NonZeroU64>,
    /// Beginning of the names of inserted entries: another one for each run on the same target.
    pub new_prefix: String,
    /// Number of the first client of this process: clients of all processes have different numbers.
    pub first_client: u32,
}

impl Default for Entries {
    fn default() -> Self {
        Self {
            insert_share: 0.0,
            known: 10_000,
            known_prefix: "known-".to_owned(),
            per_directory: None,
            new_prefix: "new-".to_owned(),
            first_client: 0,
        }
    }
}

/// When operations stop arriving: at the first of these.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Time (s).
    pub seconds: Option<f64>,
    /// Operations of this process.
    pub operations: Option<u64>,
}

impl Job {
    /// Return the job of a JSON text.
    ///
    /// # Errors
    ///
    /// If it is not a job, or the job contradicts itself.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        let job: Self = serde_json::from_str(text)
            .map_err(|error| LoadError::job(format!("the job is not valid: {error}")))?;
        job.check()?;
        Ok(job)
    }

    fn check(&self) -> Result<(), LoadError> {
        let (share, rate) = (self.entries.insert_share, self.load.rate_per_s());
        let has_end = self.stop.seconds.is_some() || self.stop.operations.is_some();
        let is_fill = matches!(self.load, Arrivals::Fill { .. });
        let broken = [
            (
                Duration::try_from_secs_f64(self.pause_s).is_err(),
                "`pause_s` must be 0 or more".to_owned(),
            ),
            (
                self.load.client_count() == 0,
                "a load needs a client, but there are 0".to_owned(),
            ),
            (
                !(0.0..=1.0).contains(&share),
                format!("`insert_share` is {share}, but a share is from 0 to 1"),
            ),
            (
                !rate.is_none_or(|rate| rate > 0.0 && rate.is_finite()),
                "`rate_per_s` must be above 0".to_owned(),
            ),
            (
                share < 1.0 && self.entries.known == 0,
                "queries need entries, but `known` is 0".to_owned(),
            ),
            (
                !has_end && !is_fill,
                "the load has no end; set `stop.seconds` or `stop.operations`".to_owned(),
            ),
        ];
        match broken.into_iter().find(|(is_broken, _)| *is_broken) {
            Some((_, message)) => Err(LoadError::job(message)),
            None => Ok(()),
        }
    }
}

impl Arrivals {
    fn rate_per_s(&self) -> Option<f64> {
        match self {
            Self::Open { rate_per_s, .. } => Some(*rate_per_s),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = r#""target": {"kind": "nothing"}"#;

    #[test]
    fn a_job_has_defaults() {
        let text = format!(
            r#"{{"seed": 1, {TARGET}, "load": {{"kind": "closed", "clients": 2}},
                "stop": {{"seconds": 1}}}}"#
        );
        let job = Job::parse(&text).unwrap();
        assert_eq!(job.connections, Connections::PerClient);
        assert_eq!(job.form, Form::Transaction);
        assert_eq!(job.load.client_count(), 2);
    }

    #[test]
    fn a_job_that_contradicts_itself_is_refused() {
        for (load, rest, reason) in [
            (r#"{"kind": "closed", "clients": 0}"#, "", "needs a client"),
            (r#"{"kind": "closed", "clients": 1}"#, "", "no end"),
            (
                r#"{"kind": "fill", "connections": 1}"#,
                r#", "pause_s": -1"#,
                "pause_s",
            ),
            (
                r#"{"kind": "open", "rate_per_s": 0, "connections": 1}"#,
                "",
                "rate_per_s",
            ),
            (
                r#"{"kind": "fill", "connections": 1}"#,
                r#", "entries": {"insert_share": 2}"#,
                "insert_share",
            ),
            (
                r#"{"kind": "fill", "connections": 1}"#,
                r#", "ends": 1"#,
                "ends",
            ),
        ] {
            let text = format!(r#"{{"seed": 1, {TARGET}, "load": {load}{rest}}}"#);
            let message = Job::parse(&text).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
    }
}
