//! The sources that a result of records depends on: the build script of this crate.

#[path = "../../sources.rs"]
mod sources;

/// Sources of both columns: the store and its operations.
const STORE: &[&str] = &[
    "systems/records/store",
    "systems/records/cells.rs",
    "memory/probe/buffer.rs",
];
const MEASURED: &[&str] = &[
    "systems/records/measured.rs",
    "systems/records/upkeep.rs",
    "memory/probe/counters.rs",
];
const MODELLED: &[&str] = &["systems/records/modelled.rs", "memory/caches"];

/// Variables of the compiler, and what each is a hash of.
const CODE: &[(&str, &[&[&str]])] = &[
    ("HEADROOM_RECORDS_MEASURED", &[STORE, MEASURED]),
    ("HEADROOM_RECORDS_MODELLED", &[STORE, MODELLED]),
];

fn main() {
    sources::note(CODE);
}
