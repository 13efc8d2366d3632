//! The load generator: one process of a load on a catalogue, or on its database directly.
//!
//! It runs on the shared load driver of Headroom (`recording/load` of the core): open and closed loads,
//! response times from the due time on, histograms that several processes add up. Here are the
//! clients: AMGA's protocol with and without TLS, and PostgreSQL's.
//!
//! The four cases of Ahn, Lee, Kim and Hwang (about 2008) are: 1 a connection per operation with TLS,
//! 2 a connection per operation, 3 a connection per client, 4 a connection per client to the
//! database.
//!
//! Invariant: nothing is assumed about an operation: message pairs, connections and handshakes are
//! counted where they happen, and a query counts as good only if its answer is right.

mod amga;
mod carrier;
mod client;
pub mod command;
pub mod delay;
pub mod error;
pub mod failure;
pub mod job;
mod journal;
mod limits;
mod meter;
mod postgres;
mod problem;
mod reactor;
mod reply;
pub mod report;
pub mod run;
mod script;
mod socket;
mod source;
pub mod target;
mod tls;
mod transport;
