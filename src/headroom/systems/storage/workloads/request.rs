//! Requests, and their sources.
//!
//! A workload consists of streams, each of which gives its requests in order. The engine or the
//! kernel asks a stream for its next request when the stream has fewer outstanding than its depth;
//! a request with a due time is not begun before it.
//!
//! Invariant: the requests of a stream depend on the workload, the seed and the number of the
//! stream alone, never on when they are requested; due times of a stream never fall.

use super::requests::error::WorkloadError;
pub use crate::recording::load::operation::Stream;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Make all that was written durable, with the metadata (`fsync`).
    Sync,
    /// Make all data that was written durable (`fdatasync`).
    DataSync,
    /// Inform the target that the data are no longer needed (`discard`).
    Trim,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its kind.
    pub kind: Kind,
    /// First byte (B) from the start of the target; 0 for syncs.
    pub offset: u64,
    /// Length (B); 0 for [`Kind::Sync`] and [`Kind::DataSync`].
    pub length: u32,
    /// When it is due (ns) since the start of the run; None: as soon as a place is free.
    pub due_ns: Option<u64>,
}

/// Streams of requests.
pub trait Source: Send {
    /// The streams; a stream is known by its index here.
    fn streams(&self) -> &[Stream];

    /// Return the greatest length (B) of a request, None if it is not known beforehand.
    fn length_max(&self) -> Option<u32> {
        None
    }

    /// Return the next request of `stream`, None if it has ended.
    fn next(&mut self, stream: usize) -> Option<Request>;

    /// Append the next `count` >= 1 requests of `stream` to `requests`: fewer if the stream has
    /// ended, or after one with a due time, whose successors are not read before it is due.
    fn fill(&mut self, stream: usize, count: usize, requests: &mut Vec<Request>) {
        for _ in 0..count {
            let Some(request) = self.next(stream) else {
                return;
            };
            requests.push(request);
            if request.due_ns.is_some() {
                return;
            }
        }
    }

    /// Return how long after its due time (ns) a request of `stream` must be complete; otherwise it
    /// is a defect. None: there is no such limit.
    fn allowance_ns(&self, _stream: usize) -> Option<u64> {
        None
    }

    /// Return counters for the report on the requests given so far: names and counts, such as how
    /// many addresses of a trace were folded.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Return why the streams ended too early, None if they did not: their source cannot be read
    /// further.
    fn fault(&self) -> Option<&WorkloadError> {
        None
    }
}
