//! What is in the buffers: what is written, and what becomes of what is read.

use crate::systems::storage::workloads::request::Request;

/// The content of requests.
///
/// A content that is *careful* is told of every request, its begin and its end, and may hold one
/// back until another has ended; the others are told of the begin of writes only.
pub trait Content: Send {
    /// Return whether it has to be told of every request.
    fn is_careful(&self) -> bool {
        false
    }

    /// Return whether `request` may begin now; if not, it is asked again when another has ended,
    /// and the later requests of its stream wait behind it.
    fn admits(&mut self, _request: &Request) -> bool {
        true
    }

    /// The `request` begins in `place`: make the data of a write in `buffer`.
    fn begin(&mut self, place: u32, request: &Request, buffer: &mut [u8]);

    /// The `request` in `place` ended, with an error number where it failed; `buffer` is what was
    /// read, or still what was written.
    fn end(&mut self, _place: u32, _request: &Request, _buffer: &[u8], _errno: Option<i32>) {}
}
