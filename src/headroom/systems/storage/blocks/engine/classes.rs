//! Classes of requests, by which all results are broken down.

use super::job::ClassesBy;
use crate::recording::load::operation::{Classes, Stream};

/// Kinds, as an index.
const KIND_COUNT: usize = 5;

/// Return the classes of `streams`.
pub fn classes(by: ClassesBy, streams: &[Stream]) -> Classes {
    match by {
        ClassesBy::Kind => Classes::new(
            ["read", "write", "sync", "trim"].map(String::from).to_vec(),
            [0, 1, 2, 2, 3].repeat(streams.len()),
            KIND_COUNT,
        ),
        ClassesBy::Stream => by_stream(streams),
    }
}

fn by_stream(streams: &[Stream]) -> Classes {
    let mut names: Vec<String> = streams.iter().map(|one| one.name.clone()).collect();
    names.push("sync".into());
    let sync = u32::try_from(names.len() - 1).unwrap_or(u32::MAX);
    let table = (0..sync)
        .flat_map(|own| [own, own, sync, sync, own])
        .collect();
    Classes::new(names, table, KIND_COUNT)
}
