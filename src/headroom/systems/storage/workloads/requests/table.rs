//! Strict parsing of workload tables.
//!
//! Invariant: every key is known and every value has its type; anything else is an error that names
//! the key by its path.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::WorkloadError;

/// A table of a workload, and the path of its key.
#[derive(Clone, Debug)]
pub struct Table {
    /// Path of the key, for example `workload.streams[1]`.
    pub key: String,
    /// Its keys and values.
    pub entries: Map<String, Value>,
}

impl Table {
    /// Take `value`, found under `key`, as a table.
    ///
    /// # Errors
    ///
    /// Fails if it is none.
    pub fn new(key: &str, value: &Value) -> Result<Self, WorkloadError> {
        let entries = value.as_object().ok_or_else(|| {
            let problem = format!("is {value}, but must be a table");
            WorkloadError::new(key, problem, "give a table of keys and values")
        })?;
        Ok(Self {
            key: key.to_owned(),
            entries: entries.clone(),
        })
    }

    /// Return the path of the entry `name`.
    pub fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.key)
    }

    /// Say that the entry `name` has a `problem`, and the `cure`.
    pub fn wrong(
        &self,
        name: &str,
        problem: impl Into<String>,
        cure: impl Into<String>,
    ) -> WorkloadError {
        WorkloadError::new(self.path(name), problem, cure)
    }

    /// Read the whole table as a `T`.
    ///
    /// # Errors
    ///
    /// Fails if a key is unknown or missing, or if a value has another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, WorkloadError> {
        let value = Value::Object(self.entries.clone());
        serde_path_to_error::deserialize(value).map_err(|error| self.unread(&error))
    }

    fn unread(&self, error: &serde_path_to_error::Error<serde_json::Error>) -> WorkloadError {
        let path = error.path().to_string();
        let key = match path.as_str() {
            "." | "?" => self.key.clone(),
            path => self.path(path),
        };
        let text = error.inner().to_string();
        let (problem, expected) = match text.split_once(", expected ") {
            Some((problem, expected)) => (problem, Some(expected)),
            None => (text.as_str(), None),
        };
        let cure = match expected {
            Some(expected) if problem.starts_with("unknown") => {
                format!("write {expected}, or leave it out")
            }
            Some(expected) => format!("give {}", in_words(expected)),
            None if problem.starts_with("missing field") => "give it".to_owned(),
            None => "correct the value".to_owned(),
        };
        WorkloadError::new(key, problem, cure)
    }
}

/// Return serde's name of a type in plain English.
fn in_words(expected: &str) -> &str {
    match expected {
        "u64" | "u32" | "usize" => "a whole number that is not negative",
        "f64" => "a number",
        other => other,
    }
}

/// Check that a share lies in 0 to 1.
///
/// # Errors
///
/// Fails if it does not.
pub fn check_share(table: &Table, name: &str, share: f64) -> Result<f64, WorkloadError> {
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(table.wrong(
        name,
        format!("is {share}, but a share is from 0 to 1"),
        "give a number from 0 to 1",
    ))
}

/// Check that a quantity is finite and above 0.
///
/// # Errors
///
/// Fails if it is not.
pub fn check_positive(table: &Table, name: &str, value: f64) -> Result<f64, WorkloadError> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(table.wrong(name, format!("is {value}"), "give a finite number above 0"))
}

/// Check that a whole number lies in `low` to `high`.
///
/// # Errors
///
/// Fails if it does not.
pub fn check_whole(
    table: &Table,
    name: &str,
    value: u64,
    (low, high): (u64, u64),
) -> Result<u64, WorkloadError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(table.wrong(
        name,
        format!("is {value}"),
        format!("give a whole number from {low} to {high}"),
    ))
}
