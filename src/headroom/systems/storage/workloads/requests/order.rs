//! The order in which an engine that is never delayed would issue the requests of a source.
//!
//! Invariant: requests with due times come in the order of those times, at equal times in that of
//! the streams; closed streams give one request each in turn, before any open one of a later round.

use crate::systems::storage::workloads::request::{Request, Source};

/// Return the first `count` requests of a source, each with its stream; fewer if it ends.
///
/// Closed streams take turns. If a source has both, a turn of the closed streams goes before each
/// request of the open ones: there is no time by which to set them against each other.
pub fn merged(source: &mut dyn Source, count: usize) -> Vec<(usize, Request)> {
    let mut heads: Vec<Option<Request>> = Vec::new();
    let mut requests = Vec::new();
    for stream in 0..source.streams().len() {
        heads.push(source.next(stream));
    }
    while requests.len() < count {
        let mut has_any = false;
        for (stream, head) in heads.iter_mut().enumerate() {
            if let Some(request) = head.filter(|request| request.due_ns.is_none()) {
                has_any = true;
                requests.push((stream, request));
                *head = source.next(stream);
            }
        }
        let due = |&(_, head): &(usize, &Option<Request>)| head.and_then(|request| request.due_ns);
        let open = heads.iter().enumerate().filter(|pair| due(pair).is_some());
        if let Some((stream, &Some(request))) = open.min_by_key(due) {
            has_any = true;
            requests.push((stream, request));
            heads[stream] = source.next(stream);
        }
        if !has_any {
            break;
        }
    }
    requests.truncate(count);
    requests
}
