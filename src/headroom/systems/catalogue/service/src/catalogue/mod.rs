//! Directories, entries and permissions.

pub mod path;
pub mod rights;
