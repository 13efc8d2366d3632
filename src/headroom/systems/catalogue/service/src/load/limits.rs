//! The limit of open files, which each connection needs one of.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::error::LoadError;

/// Allow this process `count` open files.
///
/// # Errors
///
/// If the system's limit is lower.
pub fn allow_files(count: u64) -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= count) {
        return Ok(());
    }
    if let Some(maximum) = limit.maximum.filter(|maximum| *maximum < count) {
        return Err(LoadError::job(format!(
            "{count} open files are needed, but the limit is {maximum}; raise it with `ulimit -n`"
        )));
    }
    let raised = Rlimit {
        current: Some(count),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised)
        .map_err(io::Error::from)
        .map_err(LoadError::system("raising the limit of open files"))
}
