//! `PostMark`: the life of many small files, after a benchmark of mail and news servers.
//!
//! [`operations`] says what is done, seeded and without a file system; [`mechanism`] lets models
//! walk it.

pub mod mechanism;
pub mod operations;
pub mod parameters;
pub mod pool;
