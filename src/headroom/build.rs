//! The build script: the launcher of measured programs, and the code that fingerprints name.

#[path = "recording/launching/build.rs"]
mod launching;
#[path = "systems/records/code.rs"]
mod records;

fn main() {
    launching::build();
    records::note();
}
