//! Contents of the buffers: the data to write, and the handling of data that were read.

use crate::systems::storage::workloads::request::Request;

/// The content of requests.
///
/// A content that is *careful* learns of the begin and end of every request, and may hold one
/// back until another has ended; the others learn only of the begin of writes.
pub trait Content: Send {
    /// Return whether it must learn of every request.
    fn is_careful(&self) -> bool {
        false
    }

    /// Return whether `request` may begin now; if not, the call is repeated when another has ended,
    /// and the later requests of its stream wait behind it.
    fn admits(&mut self, _request: &Request) -> bool {
        true
    }

    /// The `request` begins in `place`: make the data of a write in `buffer`.
    fn begin(&mut self, place: u32, request: &Request, buffer: &mut [u8]);

    /// The `request` in `place` ended, with an error number if it failed; `buffer` holds the data
    /// read, or still the data written.
    fn end(&mut self, _place: u32, _request: &Request, _buffer: &[u8], _errno: Option<i32>) {}
}
