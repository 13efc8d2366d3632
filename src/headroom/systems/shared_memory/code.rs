//! The sources that a result of shared memory depends on; a part of the crate's build script.

const CHECKER: &[&str] = &[
    "systems/shared_memory/protocol",
    "systems/shared_memory/checker/chart.rs",
    "systems/shared_memory/checker/invariants.rs",
    "systems/shared_memory/checker/mod.rs",
    "systems/shared_memory/checker/progress.rs",
    "systems/shared_memory/checker/search.rs",
    "systems/shared_memory/checker/world.rs",
];

/// Variables of the compiler, and what each is a hash of.
pub const CODE: &[(&str, &[&[&str]])] = &[("HEADROOM_CHECKER", &[CHECKER])];
