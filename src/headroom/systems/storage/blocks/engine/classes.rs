//! Classes of requests, by which all results are broken down.

use super::job::ClassesBy;
use crate::systems::storage::workloads::request::{Kind, Stream};

/// Kinds, as an index.
const KIND_COUNT: usize = 5;

/// Which class each request is of.
#[derive(Clone, Debug)]
pub struct Classes {
    names: Vec<String>,
    /// Class by stream and kind.
    table: Vec<u32>,
}

impl Classes {
    /// Return the classes of `streams`.
    pub fn new(by: ClassesBy, streams: &[Stream]) -> Self {
        match by {
            ClassesBy::Kind => Self {
                names: ["read", "write", "sync", "trim"].map(String::from).to_vec(),
                table: [0, 1, 2, 2, 3].repeat(streams.len()),
            },
            ClassesBy::Stream => by_stream(streams),
        }
    }

    /// Return the class of a request of `kind` in `stream`.
    #[inline]
    pub fn of(&self, stream: usize, kind: Kind) -> u32 {
        self.table[stream * KIND_COUNT + kind as usize]
    }

    /// Return the names of all classes, also of those without a request.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

fn by_stream(streams: &[Stream]) -> Classes {
    let mut names: Vec<String> = streams.iter().map(|one| one.name.clone()).collect();
    names.push("sync".into());
    let sync = u32::try_from(names.len() - 1).unwrap_or(u32::MAX);
    let table = (0..sync)
        .flat_map(|own| [own, own, sync, sync, own])
        .collect();
    Classes { names, table }
}
