//! Any program as a black box: the launcher that starts and clocks it.

/// The launcher as an executable file; see `launch.rs`.
///
/// It is carried inside the library, so that an installation needs no second file and the
/// launcher always has the version of the package that talks to it.
pub const LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/launch"));
