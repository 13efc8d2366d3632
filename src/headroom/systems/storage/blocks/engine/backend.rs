//! What a backend of the engine carries out at once.

use crate::systems::storage::workloads::request::Kind;

/// One operation on one file of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What to do.
    pub kind: Kind,
    /// Index of the file.
    pub file: u32,
    /// First byte (B) from the start of the file.
    pub offset: u64,
    /// Length (B); 0 for syncs.
    pub length: u32,
    /// Start (B) of the data in the buffer of the place.
    pub at: u32,
}
