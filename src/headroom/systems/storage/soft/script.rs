//! The script of a soft device, as a job states it.

use serde::Deserialize;

/// A whole script. Times are in seconds, sizes in bytes; requests of a kind are counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Requests served at once; 0 serves all at once.
    pub servers: u32,
    /// Service times of reads, one after the other, from the start again at the end; none is 1 us each.
    pub read_s: Vec<f64>,
    /// Service times of writes.
    pub write_s: Vec<f64>,
    /// Service times of flushes.
    pub flush_s: Vec<f64>,
    /// Times in which nothing is served; services in progress take that much longer.
    pub stalls: Vec<Stall>,
    /// Requests that fail.
    pub errors: Vec<ScriptedError>,
    /// Writes that are acknowledged and of which only the first bytes are kept.
    pub torn: Vec<Torn>,
    /// Writes that are acknowledged and not kept, by number.
    pub lost: Vec<u64>,
    /// Writes that are acknowledged and put elsewhere.
    pub misdirected: Vec<Misdirected>,
    /// Whether data written since the last flush are lost with the power.
    pub is_volatile: bool,
    /// Share of the pages (of 4 KiB) written since the last flush that a loss of power leaves as
    /// they are, 0 to 1: which ones is the same in every run.
    pub survivor_share: f64,
    /// Whether flushes are acknowledged without keeping anything.
    pub flush_lies: bool,
    /// From then on every request fails with ENODEV.
    pub vanishes_at_s: Option<f64>,
}

/// A time in which nothing is served.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Begin (s) since the start of the run.
    pub at_s: f64,
    /// Length (s).
    pub for_s: f64,
}

/// Requests that fail.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// Requests of this kind only; all if it is not given.
    pub kind: Option<FailingKind>,
    /// First byte (B) of the range whose requests fail.
    #[serde(default)]
    pub offset: u64,
    /// Length (B) of the range; to the end of the device if not given.
    pub bytes: Option<u64>,
    /// Error number; EIO if not given.
    #[serde(default = "input_output_error")]
    pub errno: i32,
    /// How many requests fail; all if it is not given.
    pub times: Option<u64>,
}

const fn input_output_error() -> i32 {
    libc::EIO
}

/// Kinds of requests that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum FailingKind {
    Read,
    Write,
    Flush,
    Trim,
}

/// A write of which only the first bytes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torn {
    /// Number of the write.
    pub write: u64,
    /// Bytes that are kept.
    pub kept_bytes: u64,
}

/// A write that is put elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Misdirected {
    /// Number of the write.
    pub write: u64,
    /// First byte (B) of its new position.
    pub to: u64,
}

impl Script {
    /// Check the script for a device of `bytes`.
    ///
    /// # Errors
    ///
    /// Returns which part is invalid and why.
    pub fn check(&self, bytes: u64) -> Result<(), String> {
        let times = [
            ("read_s", &self.read_s),
            ("write_s", &self.write_s),
            ("flush_s", &self.flush_s),
        ];
        for (name, list) in times {
            if let Some(one) = list.iter().find(|one| !is_time(**one)) {
                return Err(format!(
                    "{name} has the time {one}: it must be 0 s or more, below 1e6 s"
                ));
            }
        }
        if let Some(one) = self
            .stalls
            .iter()
            .find(|one| !is_time(one.at_s) || !is_time(one.for_s))
        {
            return Err(format!(
                "the stall at {} s for {} s is not valid: both must be 0 s or more, below 1e6 s",
                one.at_s, one.for_s
            ));
        }
        if let Some(one) = self.errors.iter().find(|one| one.errno <= 0) {
            return Err(format!(
                "errno {} is not an error number: give a positive number",
                one.errno
            ));
        }
        if !(0.0..=1.0).contains(&self.survivor_share) {
            return Err(format!(
                "survivor_share is {}: a share is from 0 to 1",
                self.survivor_share
            ));
        }
        if let Some(one) = self.misdirected.iter().find(|one| one.to >= bytes) {
            return Err(format!(
                "write {} is redirected to byte {}, beyond the device of {bytes} B",
                one.write, one.to
            ));
        }
        Ok(())
    }
}

fn is_time(seconds: f64) -> bool {
    (0.0..1e6).contains(&seconds)
}
