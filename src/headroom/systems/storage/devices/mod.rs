//! Devices: the parts of storage whose service depends on what they did before.
//!
//! A head stands where the last request left it, a cache holds what was asked for lately, a flash
//! device moves old pages to make room for new ones. Each is a mechanism of the simulation
//! ([`Mechanism`](crate::simulation::kernel::plan::mechanism::Mechanism)): native state, and functions that a
//! model calls. What waits for what (controllers, queues, buses, the servers themselves) is the
//! model's, so that it shows in the results as any other station.
//!
//! Invariant: a device answers by its parameters, its stream of random numbers and the calls so
//! far alone; it never looks at a clock and never iterates over a hash map.

pub mod cache;
pub mod disk;
pub mod flash;
pub mod layout;

mod arguments;
mod recency;

use serde::de::DeserializeOwned;

use crate::simulation::kernel::plan::mechanism::Made;
use crate::simulation::kernel::random::stream::Stream;

/// Make the device of a kind; None where the kind is none of these.
pub fn make(kind: &str, parameters: &serde_json::Value, stream: Stream) -> Option<Made> {
    match kind {
        "storage.disks" => Some(built(parameters, |read| disk::Disks::new(&read, stream))),
        "storage.cache" => Some(built(parameters, |read| cache::Cache::new(&read, stream))),
        "storage.flash" => Some(built(parameters, |read| flash::Flash::new(&read, stream))),
        "storage.layout" => Some(built(parameters, layout::Layout::new)),
        _ => None,
    }
}

/// Read the parameters of a device and build it.
fn built<P, D>(parameters: &serde_json::Value, build: impl FnOnce(P) -> Result<D, String>) -> Made
where
    P: DeserializeOwned,
    D: crate::simulation::kernel::plan::mechanism::Mechanism + 'static,
{
    let read = P::deserialize(parameters).map_err(|error| error.to_string())?;
    Ok(Box::new(build(read)?))
}
