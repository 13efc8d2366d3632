//! A journal of what clients were told: a checker compares it with the database afterwards.
//!
//! Each operation has a line `SIGN TIME NAME`: `+` if it succeeded, `-` if it was refused, `?` if its outcome is
//! unknown; the time of its end (ns since 1970, so that processes share it); and the entry.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::failure::Failure;

/// A journal; without a file it notes nothing.
#[derive(Default)]
pub struct Journal(Option<BufWriter<File>>);

impl Journal {
    /// Begin the file `path`.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn begin(path: Option<&Path>) -> io::Result<Self> {
        Ok(Self(
            path.map(File::create).transpose()?.map(BufWriter::new),
        ))
    }

    /// Note the end of an operation.
    pub fn note(&mut self, result: &Result<(), Failure>, name: &str) {
        let Some(file) = &mut self.0 else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ns = now.unwrap_or_default().as_nanos();
        let sign = match result {
            Ok(()) => '+',
            Err(failure) if failure.is_certain() => '-',
            Err(_) => '?',
        };
        // A disk that is full shows at the end.
        let _ = writeln!(file, "{sign} {now_ns} {name}");
    }

    /// Write what is left.
    ///
    /// # Errors
    ///
    /// If the file is not complete.
    pub fn end(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}
