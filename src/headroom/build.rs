//! The build script: the launcher of measured programs, and the code that fingerprints name.

#[path = "recording/launching/build.rs"]
mod launching;
#[path = "memory/probe/code.rs"]
mod probe;
#[path = "systems/records/code.rs"]
mod records;
#[path = "systems/shared_memory/code.rs"]
mod shared_memory;
mod sources;

fn main() {
    launching::build();
    for (variable, parts) in [probe::CODE, records::CODE, shared_memory::CODE].concat() {
        sources::note(variable, parts);
    }
}
