//! The limit of open files, which each connection needs one of.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::error::LoadError;

/// Allow this process `count` open files.
///
/// # Errors
///
/// If the system's limit is lower, and the process may not raise it.
pub fn allow_files(count: u64) -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= count) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(count),
        // Only a privileged process may raise it.
        maximum: limit.maximum.map(|maximum| maximum.max(count)),
    };
    setrlimit(Resource::Nofile, raised).map_err(|error| {
        LoadError::job(format!(
            "{count} open files are needed, but the limit is {}: {error}; raise it with `ulimit -n`",
            limit.maximum.unwrap_or(count)
        ))
    })
}
