//! The sources that a result of the probe depends on: the build script of this crate.

#[path = "../../sources.rs"]
mod sources;

const PROBE: &[&str] = &[
    "memory/probe/bandwidth.rs",
    "memory/probe/buffer.rs",
    "memory/probe/chase.rs",
    "memory/probe/counters.rs",
    "memory/probe/hand_over.rs",
    "memory/probe/mod.rs",
];

/// Variables of the compiler, and what each is a hash of.
const CODE: &[(&str, &[&[&str]])] = &[("HEADROOM_MEMORY_PROBE", &[PROBE])];

fn main() {
    sources::note(CODE);
}
