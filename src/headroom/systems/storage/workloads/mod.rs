//! Workloads: seeded streams of requests, the same for the engine and for the kernel.

pub mod request;
pub mod requests;
