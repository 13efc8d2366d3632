//! The soft device as a file system, run in its own process.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::systems::storage::soft::device::SoftDevice;
use crate::systems::storage::soft::fuse;
use pyo3::prelude::*;

use super::engine::StorageError;

/// Serve a soft device in a folder; see `headroom.systems.storage.soft.soft_mount`.
///
/// Returns when a signal comes, whose handler's exception is raised, or when it was unmounted.
#[allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is not general enough over the lifetime of the token"
)]
#[pyfunction]
#[pyo3(signature = (*, at, script, size_bytes, is_ready))]
pub fn soft_mount(
    py: Python<'_>,
    at: &str,
    script: &[u8],
    size_bytes: u64,
    is_ready: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let wrong =
        |what: String| StorageError::new_err((what, "correct the script of the soft device"));
    let script = serde_json::from_slice(script).map_err(|error| wrong(error.to_string()))?;
    let device = SoftDevice::new(script, size_bytes).map_err(wrong)?;
    let mut signal: Option<PyErr> = None;
    let mut told: PyResult<()> = Ok(());
    // A signal during the call into Python raises there, and would otherwise be lost.
    let was_stopped = AtomicBool::new(false);
    let is_ready = is_ready.clone().unbind();
    let served = py.detach(|| {
        let mut tell = || {
            told = Python::attach(|py| is_ready.call0(py).map(|_| ()));
            was_stopped.store(told.is_err(), Ordering::Relaxed);
        };
        let mut is_wanted = || {
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none() && !was_stopped.load(Ordering::Relaxed)
        };
        fuse::serve(device, Path::new(at), &mut tell, &mut is_wanted)
    });
    let served = served.map_err(|error| {
        let cure = "run as root if /dev/fuse exists, or install fuse3 for fusermount3";
        let what = format!("the soft device cannot be mounted at {at}: {error}");
        StorageError::new_err((what, cure))
    });
    served.and(told).and(signal.map_or(Ok(()), Err))
}
