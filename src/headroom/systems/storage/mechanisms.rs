//! The mechanisms available to storage models, by the name of their kind.

use serde_json::Value;

use super::devices;
use super::postmark;
use crate::simulation::kernel::plan::mechanism::{Made, Mechanism};
use crate::simulation::kernel::random::stream::Stream;
use crate::systems::storage::workloads::requests::mechanism::RequestSource;

/// Kinds that [`mechanism`] makes.
pub const KINDS: [&str; 6] = [
    "storage.postmark",
    "storage.requests",
    "storage.disks",
    "storage.cache",
    "storage.layout",
    "storage.flash",
];

/// Make the mechanism of `kind` from its parameters; None if the kind is not one of storage.
pub fn mechanism(kind: &str, parameters: &Value, stream: Stream) -> Option<Made> {
    let made = match kind {
        "storage.postmark" => postmark::mechanism::make(parameters, stream),
        "storage.requests" => RequestSource::new(parameters, stream).map(boxed),
        _ => return devices::make(kind, parameters, stream),
    };
    Some(made)
}

fn boxed<M: Mechanism + 'static>(mechanism: M) -> Box<dyn Mechanism> {
    Box::new(mechanism)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::kernel::random::stream;

    #[test]
    fn every_kind_is_made_by_its_name_and_no_other() {
        for kind in KINDS {
            assert!(mechanism(kind, &Value::Null, stream::open(1, 2)).is_some());
        }
        assert!(mechanism("storage.drum", &Value::Null, stream::open(1, 2)).is_none());
    }
}
