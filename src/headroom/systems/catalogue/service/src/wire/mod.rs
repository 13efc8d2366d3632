//! AMGA's streaming protocol: lines that come in, replies that go out.
//!
//! Nothing here knows what a command means. The invariant: a reply has exactly one end mark, and no
//! byte leaves between replies.

pub mod balancer;
pub mod lines;
pub mod opening;
pub mod reply;

/// Ends a reply.
pub const EOT: u8 = 0x04;
/// Cancels: sent by a client to abort its command, by the server if rows were sent before an error.
pub const CAN: u8 = 0x18;
