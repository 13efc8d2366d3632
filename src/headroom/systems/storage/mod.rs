//! Storage: load on real devices and file systems, and models of devices.
//!
//! One seeded stream of requests ([`workloads::request`]) drives both columns: the engine that measures a
//! target, and the kernel that simulates a device.

#[cfg(feature = "python")]
mod bindings;
pub mod blocks;
pub mod devices;
pub mod mechanisms;
pub mod postmark;
pub mod soft;
pub mod verify;
pub mod workloads;

use crate::simulation::kernel::plan::mechanism::{Made, Parameters};
use crate::simulation::kernel::random::stream::Stream;

/// The layer.
pub const LAYER: Storage = Storage;

/// See [`LAYER`].
#[derive(Debug)]
pub struct Storage;

impl crate::simulation::layer::Layer for Storage {
    fn mechanism_kinds(&self) -> &'static [&'static str] {
        &mechanisms::KINDS
    }

    fn mechanism(&self, kind: &str, parameters: &Parameters, stream: Stream) -> Option<Made> {
        mechanisms::mechanism(kind, parameters, stream)
    }

    #[cfg(feature = "python")]
    fn register(&self, module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        bindings::register(module)
    }
}
