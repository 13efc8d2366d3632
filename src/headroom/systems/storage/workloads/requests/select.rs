//! Other views of a source, for models: only reads and writes, and the two separately.
//!
//! A model identifies a request by its class. If the classes are streams, it asks the streams. If
//! they are reads and writes, [`ByKind`] gives the open streams of a source as two: all reads, and
//! all writes, each in the order of their due times.
//!
//! Invariant: the requests are those of the source, each once, except for those that move no data
//! if [`Moving`] leaves them out; the requests of a view do not depend on when they are read.

use std::collections::VecDeque;

use super::error::WorkloadError;
use crate::systems::storage::workloads::request::{Kind, Request, Source, Stream};

/// A source without what moves no data: syncs and trims.
pub struct Moving(pub Box<dyn Source>);

impl Source for Moving {
    fn streams(&self) -> &[Stream] {
        self.0.streams()
    }

    fn next(&mut self, stream: usize) -> Option<Request> {
        loop {
            let request = self.0.next(stream)?;
            if matches!(request.kind, Kind::Read | Kind::Write) {
                return Some(request);
            }
        }
    }

    fn allowance_ns(&self, stream: usize) -> Option<u64> {
        self.0.allowance_ns(stream)
    }

    fn fault(&self) -> Option<&WorkloadError> {
        self.0.fault()
    }
}

/// The reads and the writes of all streams of a source.
pub struct ByKind {
    source: Box<dyn Source>,
    streams: [Stream; 2],
    /// The next request of each stream of the source, once read.
    heads: Vec<Option<Request>>,
    is_begun: bool,
    /// Reads and writes that were met while looking for the other.
    waiting: [VecDeque<Request>; 2],
}

impl ByKind {
    /// Sort the requests of `source`, which moves data alone.
    pub fn new(source: Box<dyn Source>) -> Self {
        let heads = vec![None; source.streams().len()];
        let stream = |name: &str| Stream {
            name: name.to_owned(),
            depth: u32::MAX,
        };
        Self {
            source,
            streams: [stream("read"), stream("write")],
            heads,
            is_begun: false,
            waiting: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// Return the request that is due first of all, the stream of the lowest number among equals.
    fn earliest(&mut self) -> Option<Request> {
        if !self.is_begun {
            self.is_begun = true;
            for stream in 0..self.heads.len() {
                self.heads[stream] = self.source.next(stream);
            }
        }
        let due = |head: &Option<Request>| head.map(|request| request.due_ns);
        let known = self.heads.iter().enumerate();
        let known = known.filter_map(|(stream, head)| Some((due(head)?, stream)));
        let (_, first) = known.min()?;
        let next = self.source.next(first);
        std::mem::replace(&mut self.heads[first], next)
    }
}

impl Source for ByKind {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn next(&mut self, stream: usize) -> Option<Request> {
        if let Some(request) = self.waiting[stream].pop_front() {
            return Some(request);
        }
        loop {
            let request = self.earliest()?;
            let own = usize::from(request.kind != Kind::Read);
            if own == stream {
                return Some(request);
            }
            self.waiting[own].push_back(request);
        }
    }

    fn fault(&self) -> Option<&WorkloadError> {
        self.source.fault()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn micro(read_share: f64, streams: u32) -> Box<dyn Source> {
        let workload = json!({"kind": "micro", "streams": streams, "rate_per_s": 100.0,
                              "read_share": read_share, "pattern": "random"});
        super::super::source(&workload, 5, 1 << 30).expect("right")
    }

    /// All requests of a source before `until_ns`, in the order of their due times.
    fn merged(source: &mut dyn Source, until_ns: u64) -> Vec<Request> {
        let mut found = Vec::new();
        for stream in 0..source.streams().len() {
            while let Some(request) = source.next(stream) {
                if request.due_ns >= Some(until_ns) {
                    break;
                }
                found.push(request);
            }
        }
        found.sort_by_key(|request| (request.due_ns, request.offset));
        found
    }

    proptest! {
        /// Oracle: the same source, asked stream by stream.
        #[test]
        fn reads_and_writes_together_are_the_requests_of_all_streams(
            share in 0.1_f64..0.9, streams in 1_u32..5, until_ns in 1_u64..2_000_000_000
        ) {
            let mut apart = ByKind::new(micro(share, streams));
            let found = merged(&mut apart, until_ns);
            prop_assert_eq!(found, merged(micro(share, streams).as_mut(), until_ns));
        }

        /// Whoever is asked first gets the same.
        #[test]
        fn a_kind_gives_the_same_whenever_it_is_asked(turns in prop::collection::vec(0_usize..2, 1..200)) {
            let mut mixed = ByKind::new(micro(0.5, 3));
            let mut found = [Vec::new(), Vec::new()];
            for &turn in &turns {
                found[turn].extend(mixed.next(turn));
            }
            for (kind, given) in found.iter().enumerate() {
                let mut alone = ByKind::new(micro(0.5, 3));
                let expected = given.iter().map(|_| alone.next(kind).expect("more"));
                prop_assert!(expected.eq(given.iter().copied()));
                prop_assert!(given.is_sorted_by_key(|one| one.due_ns));
                prop_assert!(given.iter().all(|one| usize::from(one.kind != Kind::Read) == kind));
            }
        }
    }

    #[test]
    fn what_moves_no_data_is_left_out() {
        let text = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a read 0 4096\n\
                    /dev/a sync 0 0\n/dev/a write 4096 4096\n/dev/a trim 0 4096\n/dev/a read 8192 4096\n";
        let workload =
            json!({"kind": "trace", "format": "fio_iolog", "text": text, "timing": "as_fast"});
        let mut source = Moving(super::super::source(&workload, 1, 1 << 20).expect("right"));
        let kinds: Vec<Kind> = std::iter::from_fn(|| source.next(0))
            .map(|one| one.kind)
            .collect();
        assert_eq!(kinds, [Kind::Read, Kind::Write, Kind::Read]);
        assert!(source.fault().is_none());
    }
}
