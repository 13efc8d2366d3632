//! The sources that a result of shared memory depends on: the build script of this crate.

#[path = "../../sources.rs"]
mod sources;

const CHECKER: &[&str] = &[
    "systems/shared_memory/protocol",
    "systems/shared_memory/checker/chart.rs",
    "systems/shared_memory/checker/invariants.rs",
    "systems/shared_memory/checker/mod.rs",
    "systems/shared_memory/checker/progress.rs",
    "systems/shared_memory/checker/search.rs",
    "systems/shared_memory/checker/world.rs",
];

const MACHINE: &[&str] = &[
    "systems/shared_memory/protocol",
    "systems/shared_memory/machine/account.rs",
    "systems/shared_memory/machine/engine",
    "systems/shared_memory/machine/frames.rs",
    "systems/shared_memory/machine/network.rs",
    "systems/shared_memory/machine/pages.rs",
    "systems/shared_memory/machine/placement.rs",
    "systems/shared_memory/machine/processor.rs",
    "systems/shared_memory/machine/server.rs",
    "systems/shared_memory/machine/simulation.rs",
    "systems/shared_memory/machine/spec.rs",
    "systems/shared_memory/machine/word.rs",
    "systems/shared_memory/programs/barnes",
    "systems/shared_memory/programs/fft",
    "systems/shared_memory/programs/layout.rs",
    "systems/shared_memory/programs/lu",
    "systems/shared_memory/programs/mod.rs",
    "systems/shared_memory/programs/ocean",
    "systems/shared_memory/programs/processors.rs",
    "systems/shared_memory/programs/reads.rs",
    "systems/shared_memory/programs/run.rs",
    "systems/shared_memory/programs/shared.rs",
];

const PROGRAMS: &[&str] = &[
    "systems/shared_memory/programs",
    "simulation/kernel/random/stream.rs",
];

const TRACED: &[&str] = &[
    "memory/stack_distance.rs",
    "systems/shared_memory/hook/chunks.rs",
    "systems/shared_memory/hook/decode.rs",
    "systems/shared_memory/hook/events.rs",
    "systems/shared_memory/hook/format.rs",
    "systems/shared_memory/hook/merge.rs",
    "systems/shared_memory/hook/reader.rs",
    "systems/shared_memory/hook/runtime",
    "systems/shared_memory/traced/memory.rs",
    "systems/shared_memory/traced/mod.rs",
    "systems/shared_memory/traced/player.rs",
    "systems/shared_memory/traced/survey.rs",
    "systems/shared_memory/traced/threads.rs",
];

/// Variables of the compiler, and what each is a hash of.
const CODE: &[(&str, &[&[&str]])] = &[
    ("HEADROOM_CHECKER", &[CHECKER]),
    ("HEADROOM_MACHINE", &[MACHINE]),
    ("HEADROOM_PROGRAMS", &[PROGRAMS]),
    ("HEADROOM_TRACED", &[MACHINE, TRACED]),
];

fn main() {
    sources::note(CODE);
}
