//! The job that Python passes: the operations, the location and the method.

use serde::Deserialize;

use super::folder::{Pieces, SyncKind};
use super::parameters::{BLOCK_MAX, ParameterError, Parameters, within};

/// Most threads of a run.
const THREADS_MAX: u64 = 4096;

/// How files are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Pieces are gathered in a buffer, so that a system call moves a buffer full.
    #[default]
    Buffered,
    /// Each piece is a system call of its own.
    Raw,
}

/// The files that are made durable before they are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sync {
    /// Every how many-th written file, >= 1.
    pub every: u64,
    /// How.
    pub kind: SyncKind,
}

/// The location of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// A folder that was made for the run.
    Folder {
        /// Descriptor of the directory, of which the run makes a copy of its own.
        fd: i32,
    },
    /// Nowhere: all is done but the operations, which measures the tool.
    Nothing,
}

/// The data to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataAsked {
    /// Share (0..1) of the data that is one repeated byte; None: printable text.
    pub compressible_share: Option<f64>,
}

/// When the transactions end before all are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopAsked {
    /// Seconds of transactions.
    pub seconds: Option<f64>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Seed of the operations and of the data.
    pub seed: u64,
    /// Its location.
    pub target: Target,
    /// The parameters; see [`Parameters`].
    pub workload: serde_json::Value,
    /// Threads, each with its own part of files and transactions.
    #[serde(default = "one")]
    pub threads: u64,
    /// How files are read and written.
    #[serde(default)]
    pub access: Access,
    /// Size (B) of the buffer of [`Access::Buffered`].
    #[serde(default = "page")]
    pub buffer_bytes: u64,
    /// The files that are made durable; None: none, like the original.
    #[serde(default)]
    pub sync: Option<Sync>,
    /// The data to write.
    #[serde(default)]
    pub data: DataAsked,
    /// When the transactions end early.
    #[serde(default)]
    pub stop: StopAsked,
    /// Time (s) for which a run that ends waits for a call that does not return.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Time (s) in which no call of any thread returns, after which the run ends.
    #[serde(default = "silence_s")]
    pub silence_s: f64,
}

const fn one() -> u64 {
    1
}

/// As for requests; see the job of the engine.
const fn drain_s() -> f64 {
    10.0
}

const fn silence_s() -> f64 {
    300.0
}

/// The buffer size of the original on Linux.
const fn page() -> u64 {
    4096
}

impl Job {
    /// Return the job of a JSON text.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] where it cannot be read or a value is out of its range.
    pub fn from_json(json: &[u8]) -> Result<Self, ParameterError> {
        let job: Self = serde_json::from_slice(json)
            .map_err(|error| ParameterError::Unreadable(error.to_string()))?;
        within("threads", job.threads, 1, THREADS_MAX)?;
        within("buffer_bytes", job.buffer_bytes, 1, BLOCK_MAX)?;
        let share = job.data.compressible_share.unwrap_or(0.0);
        within("compressible_share", share, 0.0, 1.0)?;
        let seconds = job.stop.seconds.unwrap_or(1.0);
        within("seconds", seconds, f64::MIN_POSITIVE, 1e9)?;
        let every = job.sync.map_or(1, |sync| sync.every);
        within("every", every, 1, u64::MAX)?;
        within("drain_s", job.drain_s, 0.0, 1e9)?;
        within("silence_s", job.silence_s, f64::MIN_POSITIVE, 1e9)?;
        Ok(job)
    }

    /// Return the checked parameters of the workload.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] names the error.
    pub fn parameters(&self) -> Result<Parameters, ParameterError> {
        Parameters::from_json(&self.workload)
    }

    /// Return the pieces in which the files of a workload are read and written.
    pub fn pieces(&self, parameters: &Parameters) -> Pieces {
        let gathered = |block: u64| match self.access {
            Access::Raw => block,
            // As many whole pieces as the buffer holds; a larger piece passes the buffer by.
            Access::Buffered => (self.buffer_bytes / block * block).max(block),
        };
        Pieces {
            read_bytes: size(gathered(parameters.read_block_bytes)),
            write_bytes: size(gathered(parameters.write_block_bytes)),
        }
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
