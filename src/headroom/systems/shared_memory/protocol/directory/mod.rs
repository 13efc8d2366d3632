//! Full-map directory at the home: a bit for each cache, and parallel invalidation.
//!
//! Copies are modified, exclusive, shared or invalid (MESI). Clean copies are dropped without a word,
//! so the directory may name caches that have nothing. The home serves one request for a line at a
//! time and refuses others, until the requester has confirmed: no message of a request can overtake
//! one of the request before.
//!
//! With [`super::filter`] it is the snoop filter of a device that hosts share (CXL 3): an entry for
//! each host is I, S or A, and A covers what a host holds exclusively or modified.
//!
//! Invariant: each cache with a copy is in the home's set, or is its owner.

mod cache;
mod home;

use super::{
    Agent, LocalOp, Message, Node, Op, Part, Protocol, Renaming, Step, Value, View, guards, marked,
    rules, send,
};

rules! {
    ReadHit => "a copy is read",
    WriteHit => "an exclusive copy is written",
    AskToRead => "a read of an absent line goes to the home",
    AskToOwn => "a write of an absent line goes to the home",
    AskToUpgrade => "a shared copy asks for ownership",
    Drop => "a clean copy is dropped",
    PutBack => "a dirty copy goes home",
    ReadShared => "shared data come",
    ReadExclusive => "data come, and no other cache has them",
    OwnedWithData => "ownership comes with data",
    Owned => "ownership comes without data",
    AskAgain => "a refused request is sent again",
    PutDone => "the home has the dirty data",
    PutAgain => "a refused write-back is sent again",
    PutForgotten => "the home refuses a write-back of data that it has fetched",
    InvalidatedHere => "a copy is invalidated",
    InvalidatedModified => "a modified copy is invalidated and gives its data",
    InvalidatedAbsent => "a cache without the copy confirms its invalidation",
    InvalidatedPut => "a write-back in progress is invalidated and gives its data",
    DowngradedHere => "the owner gives its data and keeps a shared copy",
    DowngradedAbsent => "a former owner without a copy has no data to give",
    DowngradedPut => "a write-back in progress gives its data to a reader",
    HomeRead => "the home's processor reads valid memory",
    HomeWrite => "the home's processor writes memory without copies",
    HomeFetch => "the home's processor reads an owned line",
    HomeInvalidate => "the home's processor writes a line with copies",
    HomeRecall => "the home takes back all copies",
    HomeRecalled => "the home has all its copies back without a message",
    HomeRefuse => "the busy home refuses",
    HomeSharedFirst => "the first reader gets an exclusive copy",
    HomeShared => "one more reader gets a copy",
    HomeDowngrade => "a reader waits for the owner's data",
    HomeOwnedFirst => "a writer gets a line without copies",
    HomeOwnedInvalidate => "a writer waits for invalidations",
    HomeUpgraded => "the only sharer becomes owner",
    HomePut => "dirty data come back",
    HomeForgetPut => "data come back that were fetched before",
    HomeOneLess => "one of several invalidations is confirmed",
    HomeInvalidated => "the last invalidation is confirmed",
    HomeDowngraded => "the owner's data come",
    HomeConfirmed => "the requester has its copy",
}

guards! {
    HomeIsFree => "the home refuses requests while it serves one",
    Confirmed => "the home waits until the requester has its copy",
    AllConfirm => "a writer waits for all invalidations",
    InvalidateOwner => "a writer has the owner invalidated",
    InvalidateSharers => "a writer has the sharers invalidated",
    DataToLostCopy => "a writer whose copy was invalidated gets data",
    PutByOwner => "only the owner brings data back",
    ExclusiveWhenAlone => "an exclusive copy is for a line without copies",
    DirtyData => "an invalidated owner gives its data",
    FetchOwner => "a reader gets the owner's data",
    KeepShared => "a downgraded owner may no longer write",
    RememberReader => "a reader is entered in the set",
    DropWhenInvalidated => "an invalidated copy is dropped",
}

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Directory {
    /// A condition that is left out, to see that the checker finds it.
    pub without: Option<Guard>,
}

impl Directory {
    /// Return whether a condition is met, or left out.
    fn met(self, guard: Guard, is_so: bool) -> bool {
        is_so || self.without == Some(guard)
    }

    /// Return whether a condition is kept.
    fn keeps(self, guard: Guard) -> bool {
        self.without != Some(guard)
    }
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Body {
    /// To the home: a copy to read.
    Read,
    /// To the home: a copy to write.
    Own {
        /// Whether the cache has a shared copy.
        has_copy: bool,
    },
    /// To the home: dirty data of a copy that is given up.
    Put(Value),
    /// To the home: the copy is here.
    Confirm,
    /// From the home: a copy to read.
    Data {
        /// Content.
        value: Value,
        /// Whether no other cache has it.
        is_exclusive: bool,
    },
    /// From the home: the copy may be written.
    Grant(Option<Value>),
    /// From the home: give up the copy.
    Invalidate,
    /// From the home: give the data and keep a shared copy.
    Downgrade,
    /// Answer to `Invalidate`, with data that memory does not have.
    Invalidated(Option<Value>),
    /// Answer to `Downgrade`.
    Downgraded {
        /// Data, if memory does not have them.
        data: Option<Value>,
        /// Whether a shared copy is left.
        keeps_copy: bool,
    },
    /// The home has the data.
    PutDone,
    /// Not now: ask again.
    Busy,
}

/// Content of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Copy {
    /// None.
    Invalid,
    /// Clean, and others may have it.
    Shared,
    /// Clean, and no other cache has it.
    Exclusive,
    /// Changed.
    Modified,
}

/// The request of a cache that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Waits {
    /// None.
    Nothing,
    /// `Read`.
    Read,
    /// `Own`.
    Own,
    /// `Put`; the copy is modified until the home has fetched the data itself.
    Put,
}

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    /// Its state.
    pub copy: Copy,
    /// Content.
    pub value: Value,
    /// Request in progress.
    pub waits: Waits,
}

/// Whom the home serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// A cache that reads.
    Reader(Node),
    /// A cache that writes, and whether it may still have its copy.
    Writer(Node, bool),
    /// The home's processor, which reads.
    LocalRead,
    /// The home's processor, which writes, or wants all copies back.
    Local {
        /// Whether it writes.
        writes: bool,
    },
}

/// The request that the home serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Serves {
    /// None.
    Nothing,
    /// Waits for the owner's data.
    Fetch(Client),
    /// Waits for these caches to confirm that they have no copy.
    Invalidate(Client, Set),
    /// Waits for this cache to confirm that it has its copy.
    Confirm(Node),
}

/// A set of caches, a bit for each.
pub type Set = u64;

/// The home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Home {
    /// Caches that may have shared copies.
    pub sharers: Set,
    /// Cache that may have changed the line.
    pub owner: Option<Node>,
    /// Content of memory.
    pub value: Value,
    /// Request in progress.
    pub serves: Serves,
}

impl Line {
    const ABSENT: Self = Self {
        copy: Copy::Invalid,
        value: Value::Old,
        waits: Waits::Nothing,
    };
}

impl Home {
    /// Return whether the home has to remember anything of this line.
    pub fn is_tracked(&self) -> bool {
        self.sharers != 0 || self.owner.is_some() || self.serves != Serves::Nothing
    }
}

type Out = Vec<Message<Body>>;

impl Protocol for Directory {
    type Line = Line;
    type Home = Home;
    type Body = Body;

    const RULES: &'static [&'static str] = Rule::SENTENCES;
    const LOCAL: &'static [LocalOp] = &[LocalOp::Read, LocalOp::Write, LocalOp::Recall];

    fn absent(&self) -> Line {
        Line::ABSENT
    }

    fn uncached(&self) -> Home {
        Home {
            sharers: 0,
            owner: None,
            value: Value::Newest,
            serves: Serves::Nothing,
        }
    }

    fn start(&self, me: Node, line: Line, op: Op, out: &mut Out) -> Step<Line> {
        cache::start(me, line, op, out)
    }

    fn receive(&self, me: Node, line: Line, _: Agent, body: Body, out: &mut Out) -> Step<Line> {
        self.take(me, line, body, out)
    }

    fn start_local(&self, home: Home, op: LocalOp, out: &mut Out) -> Step<Home> {
        self.start_at_home(home, op, out)
    }

    fn receive_home(&self, home: Home, from: Node, body: Body, out: &mut Out) -> Step<Home> {
        self.take_at_home(home, from, body, out)
    }

    fn view(&self, line: &Line) -> View {
        let is_idle = line.waits == Waits::Nothing;
        let is_here = is_idle && line.copy != Copy::Invalid;
        View {
            is_idle,
            readable: is_here.then_some(line.value),
            is_writable: is_idle && matches!(line.copy, Copy::Exclusive | Copy::Modified),
            is_held: line.copy != Copy::Invalid,
        }
    }

    fn home_view(&self, home: &Home) -> View {
        let is_idle = home.serves == Serves::Nothing;
        View {
            is_idle,
            readable: (is_idle && home.owner.is_none()).then_some(home.value),
            is_writable: is_idle && home.owner.is_none() && home.sharers == 0,
            is_held: home.is_tracked(),
        }
    }

    fn check_quiet(&self, home: &Home, lines: &[Line]) -> Result<(), String> {
        for (node, line) in (0_u8..).zip(lines) {
            let is_known = match line.copy {
                Copy::Invalid => true,
                Copy::Shared => home.owner.is_none() && home.sharers >> node & 1 == 1,
                Copy::Exclusive | Copy::Modified => home.owner == Some(node),
            };
            if !is_known {
                return Err(format!("the home does not know the copy of cache {node}"));
            }
        }
        Ok(())
    }

    fn has_data(&self, body: &Body) -> bool {
        match body {
            Body::Grant(data) | Body::Invalidated(data) | Body::Downgraded { data, .. } => {
                data.is_some()
            }
            Body::Put(_) | Body::Data { .. } => true,
            _ => false,
        }
    }

    fn wants_entry(&self, body: &Body) -> bool {
        matches!(body, Body::Read | Body::Own { .. })
    }

    fn refusal(&self) -> Option<Body> {
        Some(Body::Busy)
    }

    fn name(&self, line: &Line) -> String {
        let state = match line.copy {
            Copy::Invalid => "I",
            Copy::Shared => "S",
            Copy::Exclusive => "E",
            Copy::Modified => "M",
        };
        marked(state, line.waits == Waits::Nothing, "pending")
    }

    fn home_name(&self, home: &Home) -> String {
        let state = match home.owner {
            Some(owner) => format!("A {owner}"),
            None if home.sharers == 0 => "I".to_owned(),
            None => {
                let nodes: Vec<String> = (0..64)
                    .filter(|node| home.sharers >> node & 1 == 1)
                    .map(|node: u32| node.to_string())
                    .collect();
                format!("S {}", nodes.join(" "))
            }
        };
        marked(&state, home.serves == Serves::Nothing, "busy")
    }
}

impl Part for Line {
    fn renamed(&self, to: &Renaming) -> Self {
        Self {
            value: to.value(self.value),
            ..*self
        }
    }
}

impl Part for Home {
    fn renamed(&self, to: &Renaming) -> Self {
        let set = |set: Set| -> Set {
            (0..to.nodes.len())
                .filter(|node| set >> node & 1 == 1)
                .map(|node| 1 << to.nodes[node])
                .sum()
        };
        let client = |client| match client {
            Client::Reader(node) => Client::Reader(to.node(node)),
            Client::Writer(node, has_copy) => Client::Writer(to.node(node), has_copy),
            local => local,
        };
        let serves = match self.serves {
            Serves::Nothing => Serves::Nothing,
            Serves::Fetch(one) => Serves::Fetch(client(one)),
            Serves::Invalidate(one, left) => Serves::Invalidate(client(one), set(left)),
            Serves::Confirm(node) => Serves::Confirm(to.node(node)),
        };
        Self {
            sharers: set(self.sharers),
            owner: self.owner.map(|node| to.node(node)),
            value: to.value(self.value),
            serves,
        }
    }
}

impl Part for Body {
    fn renamed(&self, to: &Renaming) -> Self {
        let value = |value: Option<Value>| value.map(|value| to.value(value));
        match *self {
            Self::Put(data) => Self::Put(to.value(data)),
            Self::Data {
                value,
                is_exclusive,
            } => Self::Data {
                value: to.value(value),
                is_exclusive,
            },
            Self::Grant(data) => Self::Grant(value(data)),
            Self::Invalidated(data) => Self::Invalidated(value(data)),
            Self::Downgraded { data, keeps_copy } => Self::Downgraded {
                data: value(data),
                keeps_copy,
            },
            other => other,
        }
    }
}
