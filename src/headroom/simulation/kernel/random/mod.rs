//! Random variates: streams of random numbers, and distributions compiled to samplers.

pub mod alias;
pub mod distribution;
pub mod mmpp;
pub mod quantile;
pub mod rate_curve;
pub mod sampler;
pub mod special;
pub mod stream;
pub mod zipf;
