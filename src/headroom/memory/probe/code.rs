//! The sources that a result of the probe depends on; a part of the crate's build script.

const PROBE: &[&str] = &[
    "memory/probe/bandwidth.rs",
    "memory/probe/buffer.rs",
    "memory/probe/chase.rs",
    "memory/probe/counters.rs",
    "memory/probe/hand_over.rs",
    "memory/probe/mod.rs",
];

/// Variables of the compiler, and what each is a hash of.
pub const CODE: &[(&str, &[&[&str]])] = &[("HEADROOM_MEMORY_PROBE", &[PROBE])];
