//! Devices: storage components whose service time depends on their history.
//!
//! A head stays where the last request left it, a cache holds recently requested data, a flash
//! device moves old pages to make room for new ones. Each is a mechanism of the simulation
//! ([`Mechanism`](crate::simulation::kernel::plan::mechanism::Mechanism)): native state, and
//! functions that a model calls. Waiting (at controllers, queues, buses and the servers themselves)
//! is part of the model, so it appears in the results like at any other station.
//!
//! Invariant: the answers of a device depend only on its parameters, its stream of random numbers
//! and the previous calls; it never looks at a clock and never iterates over a hash map.

pub mod cache;
pub mod disk;
pub mod flash;
pub mod layout;

mod arguments;
mod recency;

use serde::de::DeserializeOwned;

use crate::simulation::kernel::plan::mechanism::Made;
use crate::simulation::kernel::random::stream::Stream;

/// Make the device of a kind; None if the kind is none of these.
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
