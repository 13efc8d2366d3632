//! The parameters of a run of the benchmark.
//!
//! Invariant: parameters that were checked can be carried out as far as numbers go: sizes are in
//! order, biases are within 0..10 or off, and transactions have something to do.

use std::fmt::Display;

use serde::Deserialize;
use thiserror::Error;

/// The largest bias: it takes the first of the two operations always.
pub const BIAS_MAX: f64 = 10.0;
/// The bias that switches a pair of operations off.
pub const BIAS_OFF: f64 = -1.0;
/// Most files of a pool: the pool is kept in memory.
const FILES_MAX: u64 = 1 << 32;
/// Largest size of a file (B).
const SIZE_MAX: u64 = 1 << 42;
/// Largest piece (B) that is read or written at once.
pub const BLOCK_MAX: u64 = 1 << 26;

/// The effect of an append to a full file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtFull {
    /// Nothing is done, and it is counted: as the original has it.
    #[default]
    Nothing,
    /// Another file is drawn among those that are not full; nothing if all are.
    Another,
}

/// The parameters of a run; defaults are the original's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Files at the start, >= 1; twice as many are the most that exist at once.
    pub files: u64,
    /// Transactions, >= 0.
    pub transactions: u64,
    /// Smallest size (B) of a new file.
    pub size_low_bytes: u64,
    /// Bound (B) of sizes: a new file is smaller, unless both are equal; a file grows at most to
    /// it.
    pub size_high_bytes: u64,
    /// Piece (B) in which a file is read, >= 1.
    pub read_block_bytes: u64,
    /// Piece (B) in which a file is written, >= 1.
    pub write_block_bytes: u64,
    /// Tenths of the reads and appends that read, 0..10, or -1: neither.
    pub read_bias: f64,
    /// Tenths of the creates and deletes that create, 0..10, or -1: neither.
    pub create_bias: f64,
    /// Subfolders over which the files are spread evenly; 0: none.
    pub subdirectories: u32,
    /// The effect of an append to a full file.
    pub at_full: AtFull,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            files: 500,
            transactions: 500,
            size_low_bytes: 500,
            size_high_bytes: 10_000,
            read_block_bytes: 512,
            write_block_bytes: 512,
            read_bias: 5.0,
            create_bias: 5.0,
            subdirectories: 0,
            at_full: AtFull::Nothing,
        }
    }
}

/// An error in the parameters of a run.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ParameterError {
    /// The table does not have the form of parameters.
    #[error("the parameters of PostMark cannot be read: {0}")]
    Unreadable(String),
    /// A number is outside its range.
    #[error("{name} is {value}, but must be within {range}")]
    OutOfRange {
        /// Name of the parameter.
        name: &'static str,
        /// Its value, as text.
        value: String,
        /// Range as text.
        range: String,
    },
    /// No operation is left for the transactions.
    #[error(
        "read_bias and create_bias are both -1, so that transactions have nothing to do; set one of \
         them to 0..10, or transactions to 0 to time creation and deletion alone"
    )]
    NothingToDo,
    /// More threads than files.
    #[error("{threads} threads share {files} files; each thread needs at least one file")]
    TooManyThreads {
        /// Threads.
        threads: u64,
        /// Files at the start.
        files: u64,
    },
}

impl Parameters {
    /// Return the parameters of the `workload` table of a job; its key `kind` is skipped.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] where a key is unknown or a value out of its range.
    pub fn from_json(workload: &serde_json::Value) -> Result<Self, ParameterError> {
        let mut table = workload.clone();
        if let Some(keys) = table.as_object_mut() {
            keys.remove("kind");
        }
        let parameters: Self = serde_json::from_value(table)
            .map_err(|error| ParameterError::Unreadable(error.to_string()))?;
        parameters.checked()
    }

    /// Return the parameters if they can be carried out.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] names the first value that is out of its range.
    pub fn checked(self) -> Result<Self, ParameterError> {
        within("files", self.files, 1, FILES_MAX)?;
        within("size_high_bytes", self.size_high_bytes, 0, SIZE_MAX)?;
        within(
            "size_low_bytes",
            self.size_low_bytes,
            0,
            self.size_high_bytes,
        )?;
        within("read_block_bytes", self.read_block_bytes, 1, BLOCK_MAX)?;
        within("write_block_bytes", self.write_block_bytes, 1, BLOCK_MAX)?;
        bias_within("read_bias", self.read_bias)?;
        bias_within("create_bias", self.create_bias)?;
        let is_idle = self.read_share().is_none() && self.create_share().is_none();
        if is_idle && self.transactions > 0 {
            return Err(ParameterError::NothingToDo);
        }
        Ok(self)
    }

    /// Share of reads among reads and appends, None if there is neither.
    pub fn read_share(&self) -> Option<f64> {
        (self.read_bias >= 0.0).then(|| self.read_bias / BIAS_MAX)
    }

    /// Share of creates among creates and deletes, None if there is neither.
    pub fn create_share(&self) -> Option<f64> {
        (self.create_bias >= 0.0).then(|| self.create_bias / BIAS_MAX)
    }

    /// Most files that exist at once.
    pub fn files_limit(&self) -> u64 {
        2 * self.files
    }

    /// Return the part of `thread` among `threads`: files and transactions are dealt out evenly.
    ///
    /// # Errors
    ///
    /// [`ParameterError::TooManyThreads`] where a thread would have no file.
    pub fn part(&self, thread: u64, threads: u64) -> Result<Self, ParameterError> {
        if threads > self.files {
            let files = self.files;
            return Err(ParameterError::TooManyThreads { threads, files });
        }
        Ok(Self {
            files: dealt(self.files, thread, threads),
            transactions: dealt(self.transactions, thread, threads),
            ..self.clone()
        })
    }
}

/// Return how many of `count` fall to `thread` among `threads`; the first ones take the remainder.
fn dealt(count: u64, thread: u64, threads: u64) -> u64 {
    count / threads + u64::from(thread < count % threads)
}

/// Check that a value is within `low` to `high`, both included.
///
/// # Errors
///
/// [`ParameterError::OutOfRange`] where it does not.
pub fn within<T: PartialOrd + Display + Copy>(
    name: &'static str,
    value: T,
    low: T,
    high: T,
) -> Result<(), ParameterError> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(ParameterError::OutOfRange {
        name,
        value: value.to_string(),
        range: format!("{low}..{high}"),
    })
}

#[allow(
    clippy::float_cmp,
    reason = "the bias that switches off is this very number"
)]
fn bias_within(name: &'static str, bias: f64) -> Result<(), ParameterError> {
    if (0.0..=BIAS_MAX).contains(&bias) || bias == BIAS_OFF {
        return Ok(());
    }
    Err(ParameterError::OutOfRange {
        name,
        value: bias.to_string(),
        range: "0..10, or be -1 for off".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        /// Conservation: what the threads get is what was there, and no two differ by more than one.
        #[test]
        fn threads_share_all_files_and_transactions(
            files in 1_u64..10_000, transactions in 0_u64..10_000, threads in 1_u64..64
        ) {
            prop_assume!(threads <= files);
            let whole = Parameters { files, transactions, ..Parameters::default() };
            let parts: Vec<Parameters> = (0..threads)
                .map(|thread| whole.part(thread, threads).expect("there are enough files"))
                .collect();
            prop_assert_eq!(parts.iter().map(|part| part.files).sum::<u64>(), files);
            prop_assert_eq!(parts.iter().map(|part| part.transactions).sum::<u64>(), transactions);
            let most = parts.iter().map(|part| part.files).max();
            let least = parts.iter().map(|part| part.files).min();
            prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1));
        }
    }

    #[test]
    fn what_is_not_said_is_as_the_original_has_it() {
        let parameters = Parameters::from_json(&json!({"kind": "postmark"}));
        assert_eq!(parameters, Ok(Parameters::default()));
    }

    #[test]
    fn a_bias_is_a_real_number_or_off() {
        let asked = |bias: f64| Parameters::from_json(&json!({"read_bias": bias}));
        assert_eq!(asked(3.5).map(|one| one.read_share()), Ok(Some(0.35)));
        assert_eq!(asked(-1.0).map(|one| one.read_share()), Ok(None));
        for wrong in [-0.5, 10.5, -2.0] {
            let error = asked(wrong).expect_err("out of range").to_string();
            assert!(error.starts_with("read_bias is"), "{error}");
        }
    }

    #[test]
    fn wrong_parameters_are_named() {
        let cases = [
            (json!({"files": 0}), "files is 0"),
            (json!({"size_low_bytes": 20_000}), "size_low_bytes is 20000"),
            (json!({"read_block_bytes": 0}), "read_block_bytes is 0"),
            (json!({"bias": 3}), "unknown field `bias`"),
            (json!({"read_bias": -1, "create_bias": -1}), "nothing to do"),
        ];
        for (workload, words) in cases {
            let error = Parameters::from_json(&workload)
                .expect_err("wrong")
                .to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(Parameters::default().part(0, 501).is_err());
    }
}
