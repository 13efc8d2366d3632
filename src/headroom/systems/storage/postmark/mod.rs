//! `PostMark`: the life of many small files, after a benchmark of mail and news servers.
//!
//! [`operations`] says what is done, seeded and without a file system ([`parameters`], [`pool`]);
//! [`mechanism`] lets models walk it. [`run`](mod@run) carries it out: threads ([`worker`],
//! [`shared`]) on a folder ([`folder`], [`name`], [`data`]) with a clock ([`clock`]) and what they
//! saw ([`recorder`], [`slices`], [`facts`]). It ends also where a call never returns
//! ([`patience`]). [`job`] is what Python hands over.

pub mod clock;
pub mod data;
pub mod facts;
pub mod folder;
pub mod job;
pub mod mechanism;
pub mod name;
pub mod operations;
pub mod parameters;
pub mod patience;
pub mod pool;
pub mod recorder;
pub mod run;
pub mod shared;
pub mod slices;
pub mod worker;
