//! Carries the requests of a load out piece by piece, and adds the syncs of its policy.

use super::backend::Operation;
use super::classes::classes;
use super::content::Content;
use super::job::{Job, SyncKind};
use super::target::Layout;
use crate::recording::load::carrier::{Carrier, Completion};
use crate::recording::load::operation::{self, Stream};
use crate::recording::load::{self, Limits};
use crate::systems::storage::workloads::request::{Kind, Request, Source};

/// The load of a run of requests.
pub type Load = load::Load<Requests>;

/// A workload as the source of a load.
pub struct Requests(pub Box<dyn Source>);

impl operation::Operation for Request {
    const BLANK: Self = Self {
        kind: Kind::Read,
        offset: 0,
        length: 0,
        due_ns: None,
    };

    #[inline]
    fn kind(&self) -> usize {
        self.kind as usize
    }

    #[inline]
    fn bytes(&self) -> u32 {
        self.length
    }

    #[inline]
    fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }
}

impl operation::Source for Requests {
    type Operation = Request;

    fn streams(&self) -> &[Stream] {
        self.0.streams()
    }

    fn fill(&mut self, stream: usize, count: usize, requests: &mut Vec<Request>) {
        self.0.fill(stream, count, requests);
    }

    fn allowance_ns(&self, stream: usize) -> Option<u64> {
        self.0.allowance_ns(stream)
    }
}

/// The next step of a place after a completion.
enum Next {
    /// The request has succeeded; the place is free.
    Done,
    /// The request has failed with an error number, 0 for the end of the file; the place is free.
    Failed(i32),
    /// The rest of the request is still to be done.
    Rest,
}

/// Return the load of `job` with `place_count` places, before it starts.
pub fn load(job: &Job, source: Box<dyn Source>, place_count: u32) -> Load {
    let limits = Limits {
        seconds: job.stop.seconds,
        operations: job.stop.requests,
        bytes: job.stop.bytes,
        failures_in_a_row: job.failure_limit,
    };
    let classes = classes(job.classes, source.streams());
    Load::new(Requests(source), classes, limits, place_count)
}

/// What requests are carried out on, with which content, and how far they are.
#[derive(Clone, Debug)]
pub struct Blocks<C> {
    /// Content of writes, and checks of reads.
    pub content: C,
    layout: Layout,
    sync: Option<(u64, Kind)>,
    /// Writes of each stream since its last sync.
    unsynced_counts: Vec<u64>,
    continued_count: u64,
}

impl<C: Content> Carrier for Blocks<C> {
    type Source = Requests;
    type Step = Operation;

    fn is_careful(&self) -> bool {
        self.content.is_careful()
    }

    #[inline]
    fn admits(&mut self, request: &Request) -> bool {
        self.content.admits(request)
    }

    #[inline]
    fn begin<'b>(
        &mut self,
        load: &Load,
        place: u32,
        buffer: impl FnOnce() -> &'b mut [u8],
    ) -> Operation {
        let request = load.operation(place);
        if load.is_gated() || request.kind == Kind::Write {
            self.content.begin(place, request, buffer());
        }
        self.operation(load, place)
    }

    #[inline]
    fn end<'b>(
        &mut self,
        load: &mut Load,
        completion: Completion,
        buffer: impl FnOnce() -> &'b [u8],
    ) -> Option<Operation> {
        let place = completion.place;
        let errno = match self.complete(load, completion) {
            Next::Rest => return Some(self.rest(load, place)),
            Next::Done => None,
            Next::Failed(errno) => Some(errno),
        };
        if load.is_gated() {
            let request = load.operation(place);
            self.content.end(place, request, buffer(), errno);
        }
        None
    }
}

impl<C> Blocks<C> {
    /// Return the carrier of `job` on `layout`.
    pub fn new(job: &Job, layout: Layout, content: C) -> Self {
        Self {
            content,
            layout,
            sync: job
                .sync
                .map(|policy| (policy.every, sync_kind(policy.kind))),
            unsynced_counts: Vec::new(),
            continued_count: 0,
        }
    }

    /// Return the next operation of `place`.
    #[inline]
    fn operation(&self, load: &Load, place: u32) -> Operation {
        self.layout
            .operation(load.operation(place), load.done(place))
    }

    /// Return how often an operation did only a part of its request.
    pub const fn continued_count(&self) -> u64 {
        self.continued_count
    }

    /// Note the end of an operation.
    ///
    /// Only what most reads and writes need is inlined; the rest stays out of line, because with it
    /// the compiler would inline none, and each request would cost several percent more.
    #[inline]
    fn complete(&mut self, load: &mut Load, completion: Completion) -> Next {
        let Completion {
            place,
            result,
            done_ns,
        } = completion;
        let (kind, length) = (load.operation(place).kind, load.operation(place).length);
        let moves_data = matches!(kind, Kind::Read | Kind::Write);
        if result < 0 || (result == 0 && moves_data) {
            load.fail(place, -result, done_ns);
            return Next::Failed(-result);
        }
        let (more, whole) = if moves_data {
            (result.unsigned_abs(), length)
        } else {
            self.without_data(load, place)
        };
        if load.progress(place, more) < whole {
            return Next::Rest;
        }
        let stream = load.succeed(place, done_ns);
        if kind == Kind::Write && self.sync.is_some() {
            self.sync_after_write(load, stream, done_ns);
        }
        Next::Done
    }

    /// Return how much of a request that moves no data its operation in `place` has done, and how
    /// much there is to do: bytes (B) of a trim, files of a sync.
    #[inline(never)]
    fn without_data(&self, load: &Load, place: u32) -> (u32, u32) {
        let request = load.operation(place);
        if request.kind == Kind::Trim {
            return (self.operation(load, place).length, request.length);
        }
        let file_count = u32::try_from(self.layout.file_count());
        (1, file_count.unwrap_or(u32::MAX))
    }

    /// Return the operation that continues the request in `place`.
    #[inline(never)]
    fn rest(&mut self, load: &Load, place: u32) -> Operation {
        self.continued_count += 1;
        self.operation(load, place)
    }

    #[inline(never)]
    fn sync_after_write(&mut self, load: &mut Load, stream: usize, now_ns: u64) {
        let Some((every, kind)) = self.sync else {
            return;
        };
        if self.unsynced_counts.len() <= stream {
            self.unsynced_counts.resize(stream + 1, 0);
        }
        let unsynced_count = &mut self.unsynced_counts[stream];
        *unsynced_count += 1;
        if *unsynced_count < every {
            return;
        }
        *unsynced_count = 0;
        let request = Request {
            kind,
            offset: 0,
            length: 0,
            due_ns: None,
        };
        load.insert(stream, request, now_ns);
    }
}

const fn sync_kind(kind: SyncKind) -> Kind {
    match kind {
        SyncKind::Fsync => Kind::Sync,
        SyncKind::Fdatasync => Kind::DataSync,
    }
}
