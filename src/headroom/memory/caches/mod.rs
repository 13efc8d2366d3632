//! Caches and TLBs, access by access.

pub mod cache;
pub mod counts;
pub mod hierarchy;
pub mod machine;
pub mod prefetch;
mod recency;
pub mod tlb;
