//! Directories, entries, permissions.
