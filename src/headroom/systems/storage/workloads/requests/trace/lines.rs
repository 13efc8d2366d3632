//! Lines of a trace, one by one, in constant memory.

use std::io::{BufRead, Read};
use std::ops::Range;

use super::super::error::WorkloadError;
use super::formats::{Device, Entry, Format, Parser};

/// Longest line (B); a file with longer ones is not text.
const LINE_MAX: usize = 1 << 16;

/// Reads the requests of a trace.
pub struct TraceReader<Input> {
    input: Input,
    parser: Parser,
    line: Vec<u8>,
    number: u64,
    skipped: u64,
}

impl<Input: BufRead> TraceReader<Input> {
    /// Begin to read.
    pub fn new(input: Input, format: Format) -> Self {
        Self {
            input,
            parser: Parser::new(format),
            line: Vec::new(),
            number: 0,
            skipped: 0,
        }
    }

    /// Return how many lines so far were not requests.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Return the next request, None at the end.
    ///
    /// # Errors
    ///
    /// Fails with the number of the line where one is malformed, and where the input fails.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>, WorkloadError> {
        while self.advance()? {
            let said = match std::str::from_utf8(&self.line) {
                Ok(line) if line.trim().is_empty() => Ok(None),
                Ok(line) => self.parser.read(line.trim_end()),
                Err(_) => Err("it is not valid UTF-8 text"),
            };
            match said {
                Ok(None) => self.skipped += 1,
                Ok(Some(entry)) => {
                    let places = Places::of(&entry, &self.line);
                    return Ok(Some(places.entry(&self.line)));
                }
                Err(problem) => return Err(self.malformed(problem)),
            }
        }
        Ok(None)
    }

    /// Read the next line; false at the end.
    fn advance(&mut self) -> Result<bool, WorkloadError> {
        self.line.clear();
        self.number += 1;
        let mut limited = Read::take(&mut self.input, LINE_MAX as u64);
        match limited.read_until(b'\n', &mut self.line) {
            Ok(0) => Ok(false),
            Ok(length) if length == LINE_MAX => Err(self.malformed("it is longer than 64 KiB")),
            Ok(_) => Ok(true),
            Err(error) => Err(WorkloadError::new(
                self.place(),
                format!("cannot be read: {error}"),
                "check the disk that holds the trace",
            )),
        }
    }

    fn malformed(&self, problem: &str) -> WorkloadError {
        let text = String::from_utf8_lossy(&self.line[..self.line.len().min(80)]);
        WorkloadError::new(
            self.place(),
            format!("{problem}: {:?}", text.trim_end()),
            "correct the line, or choose the format that the file has",
        )
    }

    fn place(&self) -> String {
        format!("workload: line {} of the trace", self.number)
    }
}

/// An entry whose texts are places in its line, so it can leave the loop that read it.
struct Places {
    entry: Entry<'static>,
    device: [Range<usize>; 2],
}

impl Places {
    fn of(entry: &Entry<'_>, line: &[u8]) -> Self {
        let place = |text: &str| match text {
            "" => 0..0,
            text => {
                let start = text.as_ptr().addr() - line.as_ptr().addr();
                start..start + text.len()
            }
        };
        let Device(first, second) = entry.device;
        Self {
            device: [place(first), place(second)],
            entry: Entry {
                device: Device("", ""),
                ..*entry
            },
        }
    }

    fn entry(self, line: &[u8]) -> Entry<'_> {
        let text = |place: Range<usize>| std::str::from_utf8(&line[place]).unwrap_or_default();
        let [first, second] = self.device;
        Entry {
            device: Device(text(first), text(second)),
            ..self.entry
        }
    }
}
