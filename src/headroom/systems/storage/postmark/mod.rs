//! `PostMark`: the life of many small files, after a benchmark of mail and news servers.
//!
//! [`operations`] generates the operations, seeded and without a file system ([`parameters`],
//! [`pool`]); [`mechanism`] makes them available to models. [`run`](mod@run) carries them out:
//! threads ([`worker`], [`part`]) on a folder ([`folder`], [`name`], [`data`]) with their
//! observations ([`recorder`], [`facts`]). [`job`] is the input from Python.

pub mod data;
pub mod facts;
pub mod folder;
pub mod job;
pub mod mechanism;
pub mod name;
pub mod operations;
pub mod parameters;
pub mod part;
pub mod pool;
pub mod recorder;
pub mod run;
pub mod worker;
