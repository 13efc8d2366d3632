//! The job: the specification of one run, as Python writes it.
//!
//! The documentation of the parent module describes the format.

use serde::Deserialize;

use super::error::EngineError;
use crate::systems::storage::soft::device::SoftDevice;
use crate::systems::storage::soft::script::Script;
use crate::systems::storage::verify::stamp::HEADER_BYTES;

/// A job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Seed of the requests and of the data.
    pub seed: u64,
    /// The target of the load.
    pub target: TargetPlan,
    /// How requests are handed to the system.
    #[serde(default)]
    pub interface: Interface,
    /// Whence the requests come.
    #[serde(default)]
    pub workload: serde_json::Value,
    /// When requests stop arriving.
    #[serde(default)]
    pub stop: Stop,
    /// Whether writes are periodically made durable.
    #[serde(default)]
    pub sync: Option<SyncPolicy>,
    /// The data to write.
    #[serde(default)]
    pub data: DataPlan,
    /// Whether data read are compared with data written.
    #[serde(default)]
    pub verify: Option<VerifyPlan>,
    /// The classes of the results.
    #[serde(default)]
    pub classes: ClassesBy,
    /// Time (s) between two samples of the statistics.
    #[serde(default)]
    pub sample_every_s: Option<f64>,
    /// Failures in a row after which the target counts as gone.
    #[serde(default = "failure_limit")]
    pub failure_limit: u32,
    /// Maximum time (s) for which the run waits for requests at its end.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Maximum time (s) without any end of a request while some are outstanding.
    #[serde(default = "silence_s")]
    pub silence_s: f64,
    /// Requests of streams without a limit that may be outstanding at once.
    #[serde(default = "place_limit")]
    pub place_limit: u32,
}

const fn failure_limit() -> u32 {
    100
}

const fn drain_s() -> f64 {
    10.0
}

const fn silence_s() -> f64 {
    300.0
}

const fn place_limit() -> u32 {
    256
}

/// The target of the load.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetPlan {
    /// Open files or block devices, one after the other.
    Files {
        /// The files.
        files: Vec<FilePlan>,
        /// Multiple (B) that offsets and lengths have to be of.
        #[serde(default = "no_alignment")]
        alignment: u32,
    },
    /// Nothing: requests are answered at once, so that the cost of the engine itself is measured.
    Nothing {
        /// Size (B) that the workload sees.
        #[serde(default = "nothing_bytes")]
        bytes: u64,
    },
    /// A device in memory that follows its script, in its own time.
    Soft {
        /// Size (B).
        bytes: u64,
        /// Its behaviour.
        #[serde(default)]
        script: Box<Script>,
    },
}

/// How data read are compared with data written.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyPlan {
    /// Number of the run: data of another run are known as such.
    pub run: u64,
    /// Bytes (B) that are judged together: the sector, or the block, of the target.
    #[serde(default = "cell_bytes")]
    pub cell_bytes: u64,
    /// Descriptor of the log, for a check after a crash; it is on another device.
    #[serde(default)]
    pub log_fd: Option<i32>,
    /// Whether everything that was written is read at the end.
    #[serde(default = "reads_back")]
    pub reads_back: bool,
}

const fn reads_back() -> bool {
    true
}

const fn cell_bytes() -> u64 {
    4096
}

const fn no_alignment() -> u32 {
    1
}

const fn nothing_bytes() -> u64 {
    1 << 40
}

impl TargetPlan {
    /// Return the soft device, if the target is one.
    ///
    /// # Errors
    ///
    /// If its script is invalid.
    pub fn soft_device(&self) -> Result<Option<SoftDevice>, EngineError> {
        let Self::Soft { bytes, script } = self else {
            return Ok(None);
        };
        let cure = "correct the script of the soft device";
        SoftDevice::new(Script::clone(script), *bytes)
            .map(Some)
            .map_err(|what| EngineError::refused(what, cure))
    }
}

/// An open file or block device.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePlan {
    /// Its descriptor; the caller opens and closes it.
    pub fd: i32,
    /// Its loaded bytes.
    pub bytes: u64,
}

/// How requests are handed to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interface {
    /// A ring shared with the kernel.
    #[default]
    IoUring,
    /// Threads, each with one call at a time.
    Threads,
    /// A ring if the system provides one, otherwise threads.
    Auto,
}

impl Interface {
    /// Return the name used in jobs and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Threads => "threads",
            Self::Auto => "auto",
        }
    }
}

/// When requests stop arriving: at the first of these.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this time (s).
    #[serde(default)]
    pub seconds: Option<f64>,
    /// After this number of requests.
    #[serde(default)]
    pub requests: Option<u64>,
    /// With the request that reaches this number of bytes (B).
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// The number of writes of a stream after which they are made durable.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncPolicy {
    /// Writes, >= 1.
    pub every: u64,
    /// By which call.
    pub kind: SyncKind,
}

/// A call that makes data durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncKind {
    /// With all metadata.
    Fsync,
    /// With the metadata that is needed to read the data.
    Fdatasync,
}

/// The data to write.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPlan {
    /// Share of each block that compresses to nearly nothing, 0 to 1.
    #[serde(default)]
    pub compressible_share: f64,
}

/// The classes of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClassesBy {
    /// Kinds of requests: read, write, sync, trim.
    #[default]
    Kind,
    /// The streams of the workload; syncs are a separate class.
    Stream,
}

const fn is_cell(bytes: u64) -> bool {
    bytes.is_power_of_two() && bytes > HEADER_BYTES as u64 && bytes <= 1 << 20
}

impl Job {
    /// Read a job.
    ///
    /// # Errors
    ///
    /// If it is not a job, or contradicts itself.
    pub fn read(json: &[u8]) -> Result<Self, EngineError> {
        let job: Self = serde_json::from_slice(json)?;
        job.check()?;
        Ok(job)
    }

    /// Return the job of the pass that reads everything back after this one.
    #[must_use]
    pub fn reading_back(&self) -> Self {
        Self {
            stop: Stop::default(),
            sync: None,
            classes: ClassesBy::Kind,
            sample_every_s: None,
            ..self.clone()
        }
    }

    fn check(&self) -> Result<(), EngineError> {
        let refused = |what: &str, cure| Err(EngineError::refused(what, cure));
        if matches!(&self.target, TargetPlan::Files { files, .. } if files.is_empty()) {
            return refused("the target has no file", "name one open file or more");
        }
        if matches!(self.stop.seconds, Some(s) if !(s > 0.0 && s < 1e9)) {
            return refused(
                "stop.seconds is not above 0",
                "ask for a time of 1e-9 to 1e9 s",
            );
        }
        if matches!(self.sync, Some(policy) if policy.every == 0) {
            return refused("sync.every is 0", "ask for a sync after 1 write or more");
        }
        if !(0.0..=1.0).contains(&self.data.compressible_share) {
            return refused("data.compressible_share is not in 0 to 1", "choose a share");
        }
        if matches!(self.sample_every_s, Some(s) if !(s > 1e-6 && s < 1e9)) {
            return refused("sample_every_s is not above 1e-6 s", "choose a longer time");
        }
        if !(0.0..1e9).contains(&self.drain_s) {
            return refused("drain_s is not in 0 to 1e9 s", "choose a time");
        }
        if !(self.silence_s > 0.0 && self.silence_s < 1e9) {
            return refused("silence_s is not in 0 to 1e9 s", "choose a time above 0");
        }
        if matches!(self.verify, Some(plan) if !is_cell(plan.cell_bytes)) {
            let cure = "choose the sector of the target: a power of two, 64 B to 1 MiB";
            return refused("verify.cell_bytes is not a valid size of a cell", cure);
        }
        if self.place_limit == 0 || self.failure_limit == 0 {
            return refused("place_limit or failure_limit is 0", "choose 1 or more");
        }
        Ok(())
    }
}
